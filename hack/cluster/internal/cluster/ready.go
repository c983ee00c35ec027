// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/aalis-dev/aalis-operator/hack/cluster/internal/layout"
)

const (
	// probeTimeout bounds one look at a component.
	probeTimeout = 3 * time.Second
	// probeEvery is the time between two looks.
	probeEvery = 100 * time.Millisecond
	// maxBody bounds what is read of an answer.
	maxBody = 32 << 20
)

// httpReady asks a health URL on loopback.
func httpReady(url string) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := get(ctx, http.DefaultTransport, url)
		return err
	}
}

// httpsReady asks the health port of a control plane component on loopback,
// which serves with a certificate that it made for itself.
func httpsReady(port int) func(context.Context) error {
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}
	return func(ctx context.Context) error {
		_, err := get(ctx, transport, fmt.Sprintf("https://127.0.0.1:%d/healthz", port))
		return err
	}
}

func (c *Cluster) apiReady(ctx context.Context) error {
	_, err := c.api(ctx, "/readyz")
	return err
}

// api gets a path from the API server as the administrator.
func (c *Cluster) api(ctx context.Context, path string) ([]byte, error) {
	s := c.store()
	pair, err := tls.LoadX509KeyPair(s.Cert("admin"), s.Key("admin"))
	if err != nil {
		return nil, fmt.Errorf("reading the administrator's certificate: %w", err)
	}
	ca, err := os.ReadFile(s.Cert("ca"))
	if err != nil {
		return nil, fmt.Errorf("reading the authority's certificate: %w", err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(ca)
	transport := &http.Transport{
		TLSClientConfig:   &tls.Config{Certificates: []tls.Certificate{pair}, RootCAs: pool},
		DisableKeepAlives: true,
	}
	return get(ctx, transport, c.APIServer()+path)
}

func get(ctx context.Context, transport http.RoundTripper, url string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	res, err := transport.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxBody))
	if err != nil {
		return nil, fmt.Errorf("reading the answer of %s: %w", url, err)
	}
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answers %s", url, res.Status)
	}
	return body, nil
}

// waitFor looks until check returns nil. It gives up when ctx ends, or ended is
// closed; the error then is what the last look said.
func waitFor(ctx context.Context, ended <-chan struct{}, check func(context.Context) error) error {
	poll := time.NewTicker(probeEvery)
	defer poll.Stop()
	for {
		err := check(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		case <-ended:
			return errors.New("the process ended")
		case <-poll.C:
		}
	}
}

// condition is the common part of the conditions of all kinds.
type condition struct {
	Type   string `json:"type"`
	Status string `json:"status"`
	Reason string `json:"reason"`
}

// nodesRegistered returns nil when the API knows all nodes.
func (c *Cluster) nodesRegistered(ctx context.Context) error {
	for _, n := range c.Nodes {
		if _, err := c.api(ctx, "/api/v1/nodes/"+n.Name); err != nil {
			return err
		}
	}
	return nil
}

// nodeReady returns a check that passes when the node is Ready and its kubelet
// has said so since it was started: what an earlier one said stays in the API for
// a while.
func (c *Cluster) nodeReady(n layout.Node) func(context.Context) error {
	return func(ctx context.Context) error {
		path := "/api/v1/nodes/" + n.Name
		body, err := c.api(ctx, path)
		if err != nil {
			return err
		}
		if err := checkCondition(body, path, "Ready"); err != nil {
			return err
		}
		started, err := c.procs.StartedAt(n.Component(compKubelet))
		if err != nil {
			return err
		}
		return checkHeartbeat(body, started)
	}
}

// checkHeartbeat reads a node and returns nil when its Ready condition is not
// older than a point in time. The API keeps whole seconds.
func checkHeartbeat(body []byte, since time.Time) error {
	var node struct {
		Status struct {
			Conditions []struct {
				Type          string    `json:"type"`
				LastHeartbeat time.Time `json:"lastHeartbeatTime"`
			} `json:"conditions"`
		} `json:"status"`
	}
	if err := json.Unmarshal(body, &node); err != nil {
		return fmt.Errorf("reading the node: %w", err)
	}
	for _, have := range node.Status.Conditions {
		if have.Type == "Ready" && !have.LastHeartbeat.Before(since.Truncate(time.Second)) {
			return nil
		}
	}
	return errors.New("the kubelet has not reported since it was started")
}

// podsKnown returns a check that passes when the kubelet knows every pod of the
// node, which takes a moment after it was started; before that, it refuses
// commands in pods.
func (c *Cluster) podsKnown(n layout.Node) func(context.Context) error {
	return func(ctx context.Context) error { return c.knowsPods(ctx, n.Name) }
}

func (c *Cluster) knowsPods(ctx context.Context, node string) error {
	assigned, err := c.podIDs(ctx, "/api/v1/pods?fieldSelector=spec.nodeName="+node)
	if err != nil {
		return err
	}
	known, err := c.podIDs(ctx, "/api/v1/nodes/"+node+"/proxy/pods")
	if err != nil {
		return err
	}
	missing := 0
	for id := range assigned {
		if !known[id] {
			missing++
		}
	}
	if missing > 0 {
		return fmt.Errorf("the kubelet does not know %d of %d pods yet", missing, len(assigned))
	}
	return nil
}

// podIDs returns the unique ids of a list of pods.
func (c *Cluster) podIDs(ctx context.Context, path string) (map[string]bool, error) {
	body, err := c.api(ctx, path)
	if err != nil {
		return nil, err
	}
	var list struct {
		Items []struct {
			Metadata struct {
				UID string `json:"uid"`
			} `json:"metadata"`
		} `json:"items"`
	}
	if err := json.Unmarshal(body, &list); err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	out := map[string]bool{}
	for _, item := range list.Items {
		out[item.Metadata.UID] = true
	}
	return out, nil
}

// deploymentAvailable returns a check for a Deployment, NAMESPACE/NAME, whose
// newest generation must be rolled out.
func (c *Cluster) deploymentAvailable(namespace, name string) func(context.Context) error {
	return func(ctx context.Context) error {
		return c.hasCondition(ctx, "/apis/apps/v1/namespaces/"+namespace+"/deployments/"+name, "Available")
	}
}

func (c *Cluster) hasCondition(ctx context.Context, path, kind string) error {
	body, err := c.api(ctx, path)
	if err != nil {
		return err
	}
	return checkCondition(body, path, kind)
}

// checkCondition reads an object and returns nil when the condition is True for
// its newest generation.
func checkCondition(body []byte, path, kind string) error {
	var object struct {
		Metadata struct {
			Generation int64 `json:"generation"`
		} `json:"metadata"`
		Status struct {
			ObservedGeneration int64       `json:"observedGeneration"`
			Conditions         []condition `json:"conditions"`
			Replicas           int         `json:"replicas"`
			UpdatedReplicas    int         `json:"updatedReplicas"`
		} `json:"status"`
	}
	if err := json.Unmarshal(body, &object); err != nil {
		return fmt.Errorf("reading %s: %w", path, err)
	}
	if object.Status.ObservedGeneration < object.Metadata.Generation {
		return fmt.Errorf("%s: its newest generation has not been seen yet", path)
	}
	if object.Status.UpdatedReplicas < object.Status.Replicas {
		return fmt.Errorf("%s: not rolled out yet", path)
	}
	for _, have := range object.Status.Conditions {
		if have.Type == kind && have.Status == "True" {
			return nil
		}
		if have.Type == kind {
			return fmt.Errorf("%s: %s is %s (%s)", path, kind, have.Status, have.Reason)
		}
	}
	return fmt.Errorf("%s: no condition %s yet", path, kind)
}

// storageReady returns nil when there is a default StorageClass.
func (c *Cluster) storageReady(ctx context.Context) error {
	body, err := c.api(ctx, "/apis/storage.k8s.io/v1/storageclasses")
	if err != nil {
		return err
	}
	if !strings.Contains(string(body), `"storageclass.kubernetes.io/is-default-class":"true"`) {
		return errors.New("no default StorageClass")
	}
	return nil
}

// dnsReady resolves the API's name through the cluster's DNS Service: it needs
// kube-proxy, the bridge and CoreDNS.
func (c *Cluster) dnsReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	resolver := &net.Resolver{
		PreferGo: true,
		Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, network, net.JoinHostPort(layout.DNSIP, "53"))
		},
	}
	addrs, err := resolver.LookupHost(ctx, "kubernetes.default.svc."+layout.Domain+".")
	if err != nil {
		return err
	}
	if len(addrs) != 1 || addrs[0] != layout.ServiceIP {
		return fmt.Errorf("kubernetes.default.svc resolves to %v; want %s", addrs, layout.ServiceIP)
	}
	return nil
}
