// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/aalis-dev/aalis-operator/runtime/kernelconfig"
	"github.com/aalis-dev/aalis-operator/runtime/telemetry"
)

// peer is the other end of a flow: a pod of a namespace, or an address outside.
type peer struct {
	namespace string
	address   string
}

func matchesPeer(t *testing.T, rule networkingv1.NetworkPolicyPeer, p peer) bool {
	t.Helper()
	if rule.IPBlock != nil {
		if p.address == "" {
			return false
		}
		addr := netip.MustParseAddr(p.address)
		if !netip.MustParsePrefix(rule.IPBlock.CIDR).Contains(addr) {
			return false
		}
		for _, except := range rule.IPBlock.Except {
			if netip.MustParsePrefix(except).Contains(addr) {
				return false
			}
		}
		return true
	}
	selector, err := metav1.LabelSelectorAsSelector(rule.NamespaceSelector)
	if err != nil {
		t.Fatal(err)
	}
	return p.namespace != "" && selector.Matches(labels.Set{namespaceNameLabel: p.namespace})
}

func allows(t *testing.T, peers []networkingv1.NetworkPolicyPeer, ports []networkingv1.NetworkPolicyPort, p peer, protocol corev1.Protocol, port int32) bool {
	t.Helper()
	from := len(peers) == 0
	for _, rule := range peers {
		from = from || matchesPeer(t, rule, p)
	}
	to := len(ports) == 0
	for _, rule := range ports {
		if rule.Protocol != nil && *rule.Protocol == protocol && (rule.Port == nil || rule.Port.IntVal == port) {
			to = true
		}
	}
	return from && to
}

// TestFlows asks the rendered policy of a bot with a model server in the namespace shared and one in the internet.
func TestFlows(t *testing.T) {
	in := full(t)
	in.Instance.Spec.Network = nil
	replaced := full(t)
	tcpFlow, udpFlow := corev1.ProtocolTCP, corev1.ProtocolUDP
	cases := []struct {
		name     string
		in       Input
		egress   bool
		peer     peer
		protocol corev1.Protocol
		port     int32
		want     bool
	}{
		{"a pod asks the bot", in, false, peer{namespace: "other"}, tcpFlow, 9443, true},
		{"a pod asks the bot's second platform", in, false, peer{namespace: "other"}, tcpFlow, 8080, true},
		{"Prometheus scrapes", in, false, peer{namespace: "monitoring"}, tcpFlow, 9090, true},
		{"a disabled platform", in, false, peer{namespace: "other"}, tcpFlow, 7777, false},
		{"another port", in, false, peer{namespace: "other"}, tcpFlow, 22, false},
		{"from outside", in, false, peer{address: "203.0.113.9"}, tcpFlow, 9443, false},
		{"DNS over UDP", in, true, peer{namespace: "kube-system"}, udpFlow, 53, true},
		{"DNS over TCP", in, true, peer{namespace: "kube-system"}, tcpFlow, 53, true},
		{"node-local DNS", in, true, peer{address: "169.254.20.10"}, udpFlow, 53, true},
		{"another pod of kube-system", in, true, peer{namespace: "kube-system"}, tcpFlow, 443, false},
		{"API server", in, true, peer{address: "192.0.2.7"}, tcpFlow, 6443, true},
		{"API server over IPv6", in, true, peer{address: "2001:db8::7"}, tcpFlow, 6443, true},
		{"etcd beside the API server", in, true, peer{address: "192.0.2.7"}, tcpFlow, 2379, false},
		{"the model server in the cluster", in, true, peer{namespace: "shared"}, tcpFlow, 9000, true},
		{"its pod's other port number", in, true, peer{namespace: "shared"}, tcpFlow, 8000, true},
		{"a pod of a namespace not named", in, true, peer{namespace: "other"}, tcpFlow, 9000, false},
		{"a bot of the same namespace", in, true, peer{namespace: "team-a"}, tcpFlow, 9090, false},
		{"the public model server", in, true, peer{address: "203.0.113.9"}, tcpFlow, 443, true},
		{"a public address, another port", in, true, peer{address: "203.0.113.9"}, tcpFlow, 25, false},
		{"a private address", in, true, peer{address: "10.1.2.3"}, tcpFlow, 443, false},
		{"a LAN address", in, true, peer{address: "192.168.7.9"}, tcpFlow, 443, false},
		{"cloud metadata", in, true, peer{address: "169.254.169.254"}, tcpFlow, 443, false},
		{"carrier-grade address", in, true, peer{address: "100.64.0.1"}, tcpFlow, 443, false},
		{"unique local IPv6", in, true, peer{address: "fd00:ec2::254"}, tcpFlow, 443, false},
		{"link-local IPv6", in, true, peer{address: "fe80::1"}, tcpFlow, 443, false},
		{"public IPv6", in, true, peer{address: "2a00:1450::1"}, tcpFlow, 443, true},
		{"QUIC", in, true, peer{address: "203.0.113.9"}, udpFlow, 443, false},
		{"the public address once replaced", replaced, true, peer{address: "203.0.113.9"}, tcpFlow, 443, false},
		{"the declared LAN address", replaced, true, peer{address: "192.168.7.9"}, tcpFlow, 443, true},
		{"DNS once replaced", replaced, true, peer{namespace: "kube-system"}, udpFlow, 53, true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			objects, err := Render(c.in)
			if err != nil {
				t.Fatal(err)
			}
			got := false
			if c.egress {
				for _, rule := range objects.NetworkPolicy.Spec.Egress {
					got = got || allows(t, rule.To, rule.Ports, c.peer, c.protocol, c.port)
				}
			} else {
				for _, rule := range objects.NetworkPolicy.Spec.Ingress {
					got = got || allows(t, rule.From, rule.Ports, c.peer, c.protocol, c.port)
				}
			}
			if got != c.want {
				t.Errorf("allowed = %t, want %t", got, c.want)
			}
		})
	}
}

func TestFindTargets(t *testing.T) {
	cases := map[string]struct {
		url        string
		namespaces []string
		ports      []int32
	}{
		"nothing configured":      {"", nil, []int32{443}},
		"public":                  {"https://api.openai.com/v1", nil, []int32{443}},
		"public port":             {"https://models.vendor.example:8443", nil, []int32{8443}},
		"service":                 {"http://fake", []string{"team-a"}, []int32{443}},
		"service and namespace":   {"http://fake.models", []string{"models"}, []int32{80}},
		"service name":            {"http://fake.models.svc:9000", []string{"models"}, []int32{443}},
		"whole service name":      {"http://fake.models.svc.cluster.local", []string{"models"}, []int32{443}},
		"with a dot at the end":   {"http://fake.models.svc.cluster.local.", []string{"models"}, []int32{443}},
		"pod of a service":        {"http://fake-0.fake.models.svc", []string{"models"}, []int32{443}},
		"upper case":              {"HTTP://FAKE.MODELS.SVC", []string{"models"}, []int32{443}},
		"LAN address":             {"http://192.168.7.9:8000", nil, []int32{443}},
		"public address":          {"http://203.0.113.9:8000", nil, []int32{8000}},
		"IPv6 address":            {"http://[2a00:1450::1]:8000", nil, []int32{8000}},
		"loopback":                {"http://localhost:8000", nil, []int32{443}},
		"odd namespace":           {"http://a.-b.svc", nil, []int32{443}},
		"not a URL":               {"see http://fake.models.svc", nil, []int32{443}},
		"a port out of range":     {"http://fake.models.svc:99999", nil, []int32{443}},
		"another scheme":          {"ftp://fake.models.svc", nil, []int32{443}},
		"WebSocket":               {"ws://onebot.chat.svc:3001", []string{"chat"}, []int32{443}},
		"WebSocket in the public": {"wss://onebot.vendor.example", nil, []int32{443}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			config := kernelconfig.Config{Namespace: "team-a", Plugins: []kernelconfig.Plugin{
				{Module: "@aalis/plugin-agent", Config: map[string]any{"nested": map[string]any{"list": []any{c.url}}}},
				{Module: "@aalis/plugin-agent", Disabled: true, Config: map[string]any{"u": "http://no.off.svc"}},
			}}
			got := findTargets(config, testCatalog(t))
			if diff := cmp.Diff(c.namespaces, got.namespaces); diff != "" {
				t.Errorf("namespaces (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.ports, got.ports); diff != "" {
				t.Errorf("ports (-want +got):\n%s", diff)
			}
		})
	}
}

func FuzzClassify(f *testing.F) {
	for _, seed := range []string{"", "a", "a.b", "a.b.svc", "svc", "..svc", "[::1]", "10.0.0.1", "x.y.z", "夜.猫.svc"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, host string) {
		namespace, inCluster, _ := classify(host, "team-a")
		if inCluster && !isLabel(namespace) {
			t.Errorf("classify(%q) names the namespace %q", host, namespace)
		}
	})
}

// TestTracing: kernels are told where to send spans, and may reach that and nothing more.
func TestTracing(t *testing.T) {
	in := minimal(t)
	before, err := Render(in)
	if err != nil {
		t.Fatal(err)
	}
	in.Options.Tracing = telemetry.Options{Endpoint: "http://collector.monitoring.svc:4318", Ratio: 0.5}
	after, err := Render(in)
	if err != nil {
		t.Fatal(err)
	}
	args := after.StatefulSet.Spec.Template.Spec.Containers[0].Args
	if d := cmp.Diff([]string{"run", "--cluster", "--tracing-endpoint=http://collector.monitoring.svc:4318", "--tracing-ratio=0.5"}, args); d != "" {
		t.Error(d)
	}
	reaches := func(o Objects, namespace string) bool {
		for _, rule := range o.NetworkPolicy.Spec.Egress {
			if allows(t, rule.To, rule.Ports, peer{namespace: namespace}, corev1.ProtocolTCP, 4318) {
				return true
			}
		}
		return false
	}
	if reaches(before, "monitoring") || !reaches(after, "monitoring") || reaches(after, "team-b") {
		t.Errorf("reaches the collector: before %t, after %t; another namespace: %t", reaches(before, "monitoring"), reaches(after, "monitoring"), reaches(after, "team-b"))
	}
}
