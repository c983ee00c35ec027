// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package render turns a Layout into the configuration files and manifests of
// the development cluster. It is pure: text in, text out; hack/cluster writes
// and applies the result.
package render

import (
	"bytes"
	"embed"
	"encoding/base64"
	"fmt"
	"io/fs"
	"net/netip"
	"path"
	"path/filepath"
	"strings"
	"text/template"

	"github.com/aalis-dev/aalis-operator/hack/cluster/internal/layout"
)

//go:embed files manifests
var templates embed.FS

// Images names the images that the cluster itself runs.
type Images struct {
	Pause, CoreDNS, LocalPath, Busybox string
}

// values is what the templates may use.
type values struct {
	Node        layout.Node
	PKI, Config string
	Volumes     string
	CNIPlugins  string
	CgroupRoot  string
	ClusterCIDR string
	DNSIP       string
	Domain      string
	Ports       ports
	Nameservers []string

	PauseImage, CoreDNSImage, LocalPathImage, BusyboxImage string
}

type ports struct {
	Kubelet, KubeletHealth, ProxyHealth, ProxyMetrics int
}

// Input is what configuration depends on besides the Layout.
type Input struct {
	Layout layout.Layout
	Node   layout.Node
	Images Images
	// Nameservers are the machine's own, which the cluster's DNS forwards to.
	Nameservers []string
}

func (in Input) values() values {
	return values{
		Node:        in.Node,
		PKI:         in.Layout.PKI(),
		Config:      in.Layout.Config(),
		Volumes:     in.Layout.Volumes(),
		CNIPlugins:  layout.CNIPlugins,
		CgroupRoot:  in.Node.CgroupRoot,
		ClusterCIDR: layout.ClusterCIDR,
		DNSIP:       layout.DNSIP,
		Domain:      layout.Domain,
		Ports: ports{
			Kubelet: layout.PortKubelet, KubeletHealth: layout.PortKubeletHealth,
			ProxyHealth: layout.PortProxyHealth, ProxyMetrics: layout.PortProxyMetrics,
		},
		Nameservers:    in.Nameservers,
		PauseImage:     in.Images.Pause,
		CoreDNSImage:   in.Images.CoreDNS,
		LocalPathImage: in.Images.LocalPath,
		BusyboxImage:   in.Images.Busybox,
	}
}

// Files returns the configuration files of the control plane and of one node,
// keyed by the path where each belongs.
func Files(in Input) (map[string][]byte, error) {
	node := in.Node.Config()
	names := map[string]string{
		"audit-policy.yaml": filepath.Join(in.Layout.Config(), "audit-policy.yaml"),
		"containerd.toml":   filepath.Join(node, "containerd.toml"),
		"10-aalis.conflist": filepath.Join(node, "cni", "10-aalis.conflist"),
		"kubelet.yaml":      filepath.Join(node, "kubelet.yaml"),
		"kube-proxy.yaml":   filepath.Join(node, "kube-proxy.yaml"),
	}
	out := map[string][]byte{filepath.Join(node, "resolv.conf"): resolvConf(in.Nameservers)}
	for source, target := range names {
		text, err := execute(path.Join("files", source), in.values())
		if err != nil {
			return nil, err
		}
		out[target] = text
	}
	return out, nil
}

// Manifests returns the objects that the cluster itself needs, as one stream of
// YAML documents in the order in which they are to be applied.
func Manifests(in Input) ([]byte, error) {
	names, err := fs.Glob(templates, "manifests/*.yaml") // sorted by name
	if err != nil {
		return nil, fmt.Errorf("listing the manifests: %w", err)
	}
	var parts [][]byte
	for _, name := range names {
		text, err := execute(name, in.values())
		if err != nil {
			return nil, err
		}
		parts = append(parts, text)
	}
	return bytes.Join(parts, []byte("---\n")), nil
}

// Credentials are the PEM texts of a kubeconfig.
type Credentials struct {
	// User is the name of the entry; it means nothing to the API server.
	User          string
	CA, Cert, Key []byte
}

// Kubeconfig returns a kubeconfig that holds its credentials itself, so that it
// can be copied.
func Kubeconfig(server string, c Credentials) ([]byte, error) {
	return execute("files/kubeconfig", map[string]string{
		"ClusterName": layout.Name,
		"Server":      server,
		"User":        c.User,
		"CA":          base64.StdEncoding.EncodeToString(c.CA),
		"Cert":        base64.StdEncoding.EncodeToString(c.Cert),
		"Key":         base64.StdEncoding.EncodeToString(c.Key),
	})
}

// Nameservers reads the name servers of a resolv.conf that a pod can reach:
// those on loopback are the machine's alone.
func Nameservers(resolvConf string) []string {
	var out []string
	for line := range strings.Lines(resolvConf) {
		fields := strings.Fields(line)
		if len(fields) < 2 || fields[0] != "nameserver" {
			continue
		}
		addr, err := netip.ParseAddr(fields[1])
		if err == nil && !addr.IsLoopback() && addr.Is4() {
			out = append(out, addr.String())
		}
	}
	return out
}

func resolvConf(nameservers []string) []byte {
	var b bytes.Buffer
	for _, n := range nameservers {
		b.WriteString("nameserver " + n + "\n")
	}
	return b.Bytes()
}

func execute(name string, data any) ([]byte, error) {
	t, err := template.New(path.Base(name)).Option("missingkey=error").ParseFS(templates, name)
	if err != nil {
		return nil, fmt.Errorf("reading the template %s: %w", name, err)
	}
	var b bytes.Buffer
	if err := t.Execute(&b, data); err != nil {
		return nil, fmt.Errorf("filling in the template %s: %w", name, err)
	}
	return b.Bytes(), nil
}
