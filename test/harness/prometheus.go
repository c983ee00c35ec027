// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"sigs.k8s.io/yaml"
)

// Prometheus is a Prometheus with an Alertmanager, on loopback, that scrapes pods and Services through the API server.
type Prometheus struct {
	// URL and AlertmanagerURL of the two.
	URL, AlertmanagerURL string
}

// Scrape is one target of a Prometheus: a path below the API server's address, and labels that it gets.
type Scrape struct {
	Job    string
	Path   string
	Labels map[string]string
}

// ErrNoPrometheus says that the programs are not installed.
var ErrNoPrometheus = errors.New("prometheus and prometheus-alertmanager are not installed")

// stopTimeout is how long the programs have to end by themselves.
const stopTimeout = 20 * time.Second

// StartPrometheus starts both for a test, with a file of rules, and waits until they answer.
func (c *Cluster) StartPrometheus(t *testing.T, rules string, scrapes []Scrape) (*Prometheus, error) {
	t.Helper()
	prometheus, err1 := exec.LookPath("prometheus")
	alertmanager, err2 := exec.LookPath("prometheus-alertmanager")
	if err1 != nil || err2 != nil {
		return nil, ErrNoPrometheus
	}
	dir := t.TempDir()
	config, err := c.prometheusConfig(dir, rules, scrapes)
	if err != nil {
		return nil, err
	}
	listen := freeAddress(t)
	notify := freeAddress(t)
	config["alerting"] = map[string]any{"alertmanagers": []any{map[string]any{"static_configs": []any{map[string]any{"targets": []string{notify}}}}}}
	text, err := yaml.Marshal(config)
	if err != nil {
		return nil, err
	}
	const routes = "route: {receiver: nobody, group_wait: 1s, group_interval: 1s}\nreceivers: [{name: nobody}]\n"
	for name, content := range map[string]string{"prometheus.yml": string(text), "alertmanager.yml": routes} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			return nil, err
		}
	}
	start(t, dir, alertmanager, "--config.file="+filepath.Join(dir, "alertmanager.yml"), "--storage.path="+filepath.Join(dir, "am"),
		"--web.listen-address="+notify, "--cluster.listen-address=")
	start(t, dir, prometheus, "--config.file="+filepath.Join(dir, "prometheus.yml"), "--storage.tsdb.path="+filepath.Join(dir, "tsdb"),
		"--web.listen-address="+listen)
	p := &Prometheus{URL: "http://" + listen, AlertmanagerURL: "http://" + notify}
	for _, ready := range []string{p.URL + "/-/ready", p.AlertmanagerURL + "/-/ready"} {
		if err := answers(t.Context(), ready); err != nil {
			return nil, err
		}
	}
	return p, nil
}

func (c *Cluster) prometheusConfig(dir, rules string, scrapes []Scrape) (map[string]any, error) {
	rules, err := filepath.Abs(rules)
	if err != nil {
		return nil, err
	}
	address, err := url.Parse(c.Config.Host)
	if err != nil {
		return nil, err
	}
	tls := map[string]any{}
	for name, data := range map[string][]byte{"ca_file": c.Config.CAData, "cert_file": c.Config.CertData, "key_file": c.Config.KeyData} {
		if len(data) == 0 {
			return nil, fmt.Errorf("the kubeconfig has no %s inline", name)
		}
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, data, 0o600); err != nil {
			return nil, err
		}
		tls[name] = file
	}
	var jobs []any
	for i, s := range scrapes {
		labels := map[string]string{"job": s.Job}
		for k, v := range s.Labels {
			labels[k] = v
		}
		jobs = append(jobs, map[string]any{
			"job_name": fmt.Sprint("target-", i), "scheme": "https", "tls_config": tls, "metrics_path": s.Path, "honor_labels": true,
			"static_configs": []any{map[string]any{"targets": []string{address.Host}, "labels": labels}},
		})
	}
	return map[string]any{
		"global":     map[string]any{"scrape_interval": "2s", "evaluation_interval": "2s"},
		"rule_files": []string{rules}, "scrape_configs": jobs,
	}, nil
}

// start runs a program until the test ends. What it says is shown if the test fails.
func start(t *testing.T, dir, program string, args ...string) {
	t.Helper()
	var said bytes.Buffer
	cmd := exec.Command(program, args...) //nolint:noctx // it is stopped gently below
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &said, &said
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		late := time.AfterFunc(stopTimeout, func() { _ = cmd.Process.Kill() })
		_ = cmd.Wait()
		late.Stop()
		if t.Failed() {
			t.Logf("%s said\n%s", filepath.Base(program), said.String())
		}
	})
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // closed at once
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

func answers(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		_, err := get(ctx, address)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s does not answer: %w", address, err)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func get(ctx context.Context, address string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 16<<20))
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s: %s", address, resp.Status, strings.TrimSpace(string(body)))
	}
	return body, err
}

// Query gives how many series a query has, or its error.
func (p *Prometheus) Query(ctx context.Context, query string) (int, error) {
	body, err := get(ctx, p.URL+"/api/v1/query?query="+url.QueryEscape(query))
	if err != nil {
		return 0, err
	}
	var answer struct {
		Data struct {
			Result []json.RawMessage `json:"result"`
		} `json:"data"`
	}
	err = json.Unmarshal(body, &answer)
	return len(answer.Data.Result), err
}

// Alerts are the names of the alerts that have reached the Alertmanager with some labels.
func (p *Prometheus) Alerts(ctx context.Context, labels map[string]string) ([]string, error) {
	body, err := get(ctx, p.AlertmanagerURL+"/api/v2/alerts")
	if err != nil {
		return nil, err
	}
	var list []struct {
		Labels map[string]string `json:"labels"`
	}
	if err := json.Unmarshal(body, &list); err != nil {
		return nil, err
	}
	var out []string
	for _, a := range list {
		fits := true
		for k, v := range labels {
			fits = fits && a.Labels[k] == v
		}
		if fits {
			out = append(out, a.Labels["alertname"])
		}
	}
	return out, nil
}
