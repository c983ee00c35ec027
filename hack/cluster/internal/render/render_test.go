// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"

	"github.com/aalis-dev/aalis-operator/hack/cluster/internal/layout"
)

func input(t *testing.T) Input {
	t.Helper()
	l, err := layout.New("/repo", layout.Env{Home: "/home/me"})
	if err != nil {
		t.Fatal(err)
	}
	return Input{
		Layout: l, Node: l.Main(),
		Images:      Images{Pause: "p:1", CoreDNS: "c:1", LocalPath: "l:1", Busybox: "b:1"},
		Nameservers: []string{"192.0.2.53"},
	}
}

func files(t *testing.T, in Input) map[string][]byte {
	t.Helper()
	out, err := Files(in)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestFilesAreWhereTheyBelong(t *testing.T) {
	in := input(t)
	got := map[string]bool{}
	for name, text := range files(t, in) {
		rel, err := filepath.Rel(in.Layout.State, name)
		if err != nil || strings.HasPrefix(rel, "..") {
			t.Errorf("%s is outside the cluster's folder", name)
		}
		got[rel] = true
		if strings.Contains(string(text), "<no value>") || strings.Contains(string(text), "{{") {
			t.Errorf("%s is not filled in", name)
		}
	}
	want := map[string]bool{
		"config/audit-policy.yaml": true, "aalis-1/config/containerd.toml": true,
		"aalis-1/config/cni/10-aalis.conflist": true, "aalis-1/config/kubelet.yaml": true,
		"aalis-1/config/kube-proxy.yaml": true, "aalis-1/config/resolv.conf": true,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

func TestKubeletConfiguration(t *testing.T) {
	in := input(t)
	var got map[string]any
	text := files(t, in)[filepath.Join(in.Node.Config(), "kubelet.yaml")]
	if err := yaml.UnmarshalStrict(text, &got); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]any{
		"address": "10.244.0.1", "readOnlyPort": 0.0, "healthzBindAddress": "127.0.0.1",
		"cgroupDriver": "cgroupfs", "cgroupRoot": "/aalis-cluster", "failCgroupV1": false, "failSwapOn": false,
		"oomScoreAdj": 0.0, "clusterDomain": "cluster.local",
		"containerRuntimeEndpoint": "unix:///run/aalis-cluster/1/containerd.sock",
		"tlsCertFile":              filepath.Join(in.Layout.PKI(), "kubelet-serving-aalis-1.crt"),
	} {
		if diff := cmp.Diff(want, got[key]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", key, diff)
		}
	}
}

func TestNetworkConfiguration(t *testing.T) {
	in := input(t)
	var got struct {
		Name    string
		Plugins []struct {
			Type, Bridge string
			IPAM         struct {
				Ranges [][]struct{ Subnet, Gateway string }
			}
		}
	}
	text := files(t, in)[filepath.Join(in.Node.Config(), "cni", "10-aalis.conflist")]
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	bridge := got.Plugins[0]
	if bridge.Type != "bridge" || bridge.Bridge != in.Node.Bridge {
		t.Errorf("plugin %q on bridge %q", bridge.Type, bridge.Bridge)
	}
	if r := bridge.IPAM.Ranges[0][0]; r.Subnet != in.Node.PodCIDR || r.Gateway != in.Node.Address {
		t.Errorf("range %+v", r)
	}
}

func TestManifests(t *testing.T) {
	text, err := Manifests(input(t))
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]int{}
	for _, doc := range strings.Split(string(text), "\n---\n") {
		var object struct {
			APIVersion, Kind string
			Metadata         struct{ Name string }
		}
		if err := yaml.Unmarshal([]byte(doc), &object); err != nil {
			t.Fatalf("%v\n%s", err, doc)
		}
		if object.APIVersion == "" || object.Metadata.Name == "" {
			t.Errorf("not an object:\n%s", doc)
		}
		kinds[object.Kind]++
	}
	if kinds["Deployment"] != 2 || kinds["StorageClass"] != 1 || kinds["Service"] != 1 {
		t.Errorf("kinds %v", kinds)
	}
	for _, want := range []string{
		"image: c:1", "image: l:1", "image: b:1", "clusterIP: 10.96.0.10", "forward . /etc/resolv.conf",
		`"/home/me/.local/state/aalis-operator/cluster/volumes"`, `is-default-class: "true"`,
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %q", want)
		}
	}
}

func TestDNSWithoutNameservers(t *testing.T) {
	in := input(t)
	in.Nameservers = nil
	text, err := Manifests(in)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), "forward") {
		t.Error("forwards to nobody, which CoreDNS refuses")
	}
}

func TestKubeconfig(t *testing.T) {
	text, err := Kubeconfig("https://10.0.0.1:1", Credentials{User: "admin", CA: []byte("ca"), Cert: []byte("cert"), Key: []byte("key")})
	if err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.Load(text)
	if err != nil {
		t.Fatal(err)
	}
	context := config.Contexts[config.CurrentContext]
	if context == nil {
		t.Fatalf("no current context %q", config.CurrentContext)
	}
	cluster, user := config.Clusters[context.Cluster], config.AuthInfos[context.AuthInfo]
	if cluster.Server != "https://10.0.0.1:1" || string(cluster.CertificateAuthorityData) != "ca" {
		t.Errorf("cluster %+v", cluster)
	}
	if string(user.ClientCertificateData) != "cert" || string(user.ClientKeyData) != "key" {
		t.Error("other credentials")
	}
}

func TestNameservers(t *testing.T) {
	for _, test := range []struct {
		name, text string
		want       []string
	}{
		{"empty", "", nil},
		{"usual", "search x\nnameserver 192.0.2.1\nnameserver 192.0.2.2\n", []string{"192.0.2.1", "192.0.2.2"}},
		{"loopback", "nameserver 127.0.0.53\nnameserver ::1\n", nil},
		{"mixed", "nameserver 127.0.0.1\nnameserver 192.0.2.1\n", []string{"192.0.2.1"}},
		{"pods have no IPv6", "nameserver 2001:db8::1\n", nil},
		{"comments and rubbish", "# nameserver 192.0.2.9\nnameserver\nnameserver x\n\tnameserver\t192.0.2.3", []string{"192.0.2.3"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, Nameservers(test.text)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func FuzzNameservers(f *testing.F) {
	f.Add("nameserver 192.0.2.1\noptions ndots:5\n")
	f.Add("nameserver fe80::1%eth0\n")
	f.Fuzz(func(t *testing.T, text string) {
		once := Nameservers(text)
		again := Nameservers(string(resolvConf(once)))
		if diff := cmp.Diff(once, again); diff != "" {
			t.Errorf("what is written is not what was read:\n%s", diff)
		}
	})
}
