// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
	"github.com/aalis-dev/aalis-operator/runtime/catalog"
	"github.com/aalis-dev/aalis-operator/runtime/kernelconfig"
	"github.com/aalis-dev/aalis-operator/runtime/schema"
)

var update = flag.Bool("update", false, "write the golden files anew")

// testCatalog has a model provider, a platform that serves a port, and a plugin with a nested URL.
func testCatalog(t testing.TB) catalog.Catalog {
	t.Helper()
	cat, err := catalog.New([]catalog.Module{
		{Name: "@aalis/plugin-agent", OnByDefault: true},
		{Name: "@aalis/plugin-llm-openai", Reusable: true, Config: schema.Object{Fields: []schema.Field{
			{Name: "baseUrl", Type: schema.String, Default: "https://api.openai.com", HasDefault: true},
		}}},
		{Name: "@aalis/plugin-memory-sqlite"},
		{Name: "@aalis/plugin-memory-redis", Config: schema.Object{Fields: []schema.Field{{Name: "address", Type: schema.String}}}},
		{Name: "@aalis/plugin-platform-openai", Reusable: true, Config: schema.Object{Fields: []schema.Field{
			{Name: "port", Type: schema.Integer, Default: float64(8080), HasDefault: true},
		}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return cat
}

func minimal(t testing.TB) Input {
	t.Helper()
	return Input{
		Instance: &v1alpha1.AgentInstance{ObjectMeta: metav1.ObjectMeta{Name: "hello", Namespace: "team-a", UID: "7d1c"}},
		Config: kernelconfig.Config{
			Format: kernelconfig.Format, Name: "hello", Namespace: "team-a",
			Plugins: []kernelconfig.Plugin{{ID: "@aalis/plugin-agent", Module: "@aalis/plugin-agent"}},
		},
		Slots: kernelconfig.Slots{
			Current: &kernelconfig.Delivery{Revision: "0123456789abcdef0123", Sequence: 1, Data: []byte("gzipped")},
		},
		Catalog: testCatalog(t),
		Options: Options{
			RuntimeImage: "ghcr.io/aalis-dev/aalis:1",
			APIServers:   []netip.AddrPort{netip.MustParseAddrPort("192.0.2.7:6443")},
		},
	}
}

func full(t testing.TB) Input {
	t.Helper()
	in := minimal(t)
	drain := int32(20)
	in.Instance.Spec = v1alpha1.AgentInstanceSpec{
		State:               v1alpha1.DesiredStateSuspended,
		DrainTimeoutSeconds: &drain,
		Image:               "registry.example/team-a/aalis:2",
		Resources: &corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("0.1")},
			Limits:   corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("512Mi")},
		},
		PodTemplate: &v1alpha1.PodSettings{
			Labels: map[string]string{"team": "a", "aalis.dev/instance": "not-ours"}, Annotations: map[string]string{"note": "x"},
			NodeSelector: map[string]string{"disk": "ssd"}, PriorityClassName: "high",
			Tolerations:      []corev1.Toleration{{Key: "bots", Operator: corev1.TolerationOpExists}},
			ImagePullSecrets: []v1alpha1.LocalReference{{Name: "pull"}},
			TopologySpreadConstraints: []corev1.TopologySpreadConstraint{{
				MaxSkew: 1, TopologyKey: "kubernetes.io/hostname", WhenUnsatisfiable: corev1.ScheduleAnyway,
			}},
		},
		Network: &v1alpha1.NetworkSpec{Egress: []networkingv1.NetworkPolicyEgressRule{{
			To: []networkingv1.NetworkPolicyPeer{{IPBlock: &networkingv1.IPBlock{CIDR: "192.168.7.0/24"}}},
		}}},
	}
	in.Config.Plugins = append(in.Config.Plugins,
		kernelconfig.Plugin{
			ID: "@aalis/plugin-llm-openai:main", Module: "@aalis/plugin-llm-openai",
			Config:  map[string]any{"baseUrl": "http://models.shared.svc.cluster.local:9000/v1"},
			Secrets: []kernelconfig.Secret{{Path: "apiKey", Name: "llm", Key: "api-key"}},
		},
		kernelconfig.Plugin{
			ID: "@aalis/plugin-llm-openai:spare", Module: "@aalis/plugin-llm-openai",
			Secrets: []kernelconfig.Secret{{Path: "apiKey", Name: "llm", Key: "spare-key"}},
		},
		kernelconfig.Plugin{
			ID: "@aalis/plugin-platform-openai:api", Module: "@aalis/plugin-platform-openai",
			Config:  map[string]any{"port": float64(9443)},
			Secrets: []kernelconfig.Secret{{Path: "tokens", Name: "tokens", Key: "users"}},
		},
		kernelconfig.Plugin{ID: "@aalis/plugin-platform-openai:second", Module: "@aalis/plugin-platform-openai"},
		kernelconfig.Plugin{
			ID: "@aalis/plugin-platform-openai:off", Module: "@aalis/plugin-platform-openai", Disabled: true,
			Config: map[string]any{"port": float64(7777)},
		},
	)
	in.Slots.LastGood = &kernelconfig.Delivery{Revision: "fedcba9876543210fedc", Sequence: 1, Data: []byte("older")}
	in.Slots.Current.Sequence = 2
	in.Options.AllowedImages = []string{"registry.example/*/aalis:*"}
	in.Options.APIServers = append(in.Options.APIServers, netip.MustParseAddrPort("[2001:db8::7]:6443"))
	in.Options.DNS = []netip.Prefix{netip.MustParsePrefix("169.254.20.10/32")}
	return in
}

// onSQLite is a bot with a volume.
func onSQLite(t testing.TB) Input {
	t.Helper()
	in, size := minimal(t), resource.MustParse("2Gi")
	in.Instance.Spec.Storage = &v1alpha1.StorageSpec{
		Type: v1alpha1.StorageSQLite, Size: &size, StorageClassName: "fast", Retention: v1alpha1.DeleteStorage,
	}
	in.Config.Plugins = append(in.Config.Plugins, kernelconfig.Plugin{ID: "@aalis/plugin-memory-sqlite", Module: "@aalis/plugin-memory-sqlite"})
	return in
}

// onRedis is a bot on a Redis server of the cluster.
func onRedis(t testing.TB) Input {
	t.Helper()
	in := minimal(t)
	in.Instance.Spec.Storage = &v1alpha1.StorageSpec{Type: v1alpha1.StorageRedis, Redis: &v1alpha1.RedisSpec{
		Address: "redis.databases.svc:6380", Transport: v1alpha1.RedisTLS,
		PasswordSecretRef: &v1alpha1.SecretKeyReference{Name: "redis", Key: "password"},
	}}
	in.Config.Plugins = append(in.Config.Plugins, kernelconfig.Plugin{
		ID: "@aalis/plugin-memory-redis", Module: "@aalis/plugin-memory-redis",
		Config:  map[string]any{"address": "rediss://redis.databases.svc:6380"},
		Secrets: []kernelconfig.Secret{{Path: "password", Name: "redis", Key: "password"}},
	})
	return in
}

func TestGolden(t *testing.T) {
	for name, input := range map[string]Input{"minimal": minimal(t), "full": full(t), "sqlite": onSQLite(t), "redis": onRedis(t)} {
		t.Run(name, func(t *testing.T) {
			objects, err := Render(input)
			if err != nil {
				t.Fatal(err)
			}
			var buf bytes.Buffer
			for _, obj := range objects.List() {
				data, err := yaml.Marshal(obj)
				if err != nil {
					t.Fatal(err)
				}
				buf.WriteString("---\n")
				buf.Write(data)
			}
			path := filepath.Join("testdata", name+".yaml")
			if *update {
				if err := os.WriteFile(path, buf.Bytes(), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), buf.String()); diff != "" {
				t.Errorf("%s differs (-want +got):\n%s", path, diff)
			}
			decodeStrictly(t, want)
		})
	}
}

// decodeStrictly reads a golden file the way the API server would with strict field validation.
func decodeStrictly(t *testing.T, data []byte) {
	t.Helper()
	kinds := map[string]runtime.Object{
		"ServiceAccount": &corev1.ServiceAccount{}, "Role": &rbacv1.Role{}, "RoleBinding": &rbacv1.RoleBinding{},
		"ConfigMap": &corev1.ConfigMap{}, "NetworkPolicy": &networkingv1.NetworkPolicy{}, "Service": &corev1.Service{},
		"AgentReplica": &v1alpha1.AgentReplica{}, "StatefulSet": &appsv1.StatefulSet{},
	}
	reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
	seen := 0
	for {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		var head metav1.TypeMeta
		if err := yaml.Unmarshal(document, &head); err != nil {
			t.Fatal(err)
		}
		target, ok := kinds[head.Kind]
		if !ok {
			t.Fatalf("unexpected kind %q", head.Kind)
		}
		if err := yaml.UnmarshalStrict(document, target); err != nil {
			t.Errorf("%s: %v", head.Kind, err)
		}
		seen++
	}
	if seen != len(kinds) {
		t.Errorf("%d objects, want %d", seen, len(kinds))
	}
}

func TestImage(t *testing.T) {
	opts := Options{RuntimeImage: "ghcr.io/aalis-dev/aalis:1", AllowedImages: []string{"registry.example/aalis:*", "other.example/*/bot@sha256:*"}}
	cases := map[string]bool{
		"": true, "ghcr.io/aalis-dev/aalis:1": true, "ghcr.io/aalis-dev/aalis:2": false,
		"registry.example/aalis:9": true, "registry.example/aalis": false, "xregistry.example/aalis:9": false,
		"registry.example/aalis-evil:9": false, "other.example/a/bot@sha256:00": true, "other.example/bot@sha256:00": false,
	}
	for image, want := range cases {
		in := &v1alpha1.AgentInstance{Spec: v1alpha1.AgentInstanceSpec{Image: image}}
		got, err := Image(in, opts)
		var refused *ImageNotAllowedError
		if (err == nil) != want || err != nil && !errors.As(err, &refused) {
			t.Errorf("image %q: %q, %v; want allowed %t", image, got, err, want)
		}
	}
	if _, err := Render(Input{}); err == nil {
		t.Error("rendering nothing must fail")
	}
}

func TestMatches(t *testing.T) {
	cases := []struct {
		pattern, text string
		want          bool
	}{
		{"a", "a", true}, {"a", "b", false}, {"*", "", true}, {"*", "anything", true}, {"a*", "abc", true}, {"*c", "abc", true},
		{"a*c", "abc", true}, {"a*c", "ab", false}, {"a*b*c", "a-b-c", true}, {"a*b*c", "a-c-b", false}, {"ab*ba", "aba", false},
		{"**", "x", true}, {"", "", true}, {"", "x", false},
	}
	for _, c := range cases {
		if got := matches(c.pattern, c.text); got != c.want {
			t.Errorf("matches(%q, %q) = %t", c.pattern, c.text, got)
		}
	}
}

// TestNothingOfTheConfigLeaks: what is configured goes into the ConfigMap, compressed, and into no other object.
func TestNothingOfTheConfigLeaks(t *testing.T) {
	in := full(t)
	const canary = "canary-4f1d"
	for i := range in.Config.Plugins {
		if in.Config.Plugins[i].Config == nil {
			in.Config.Plugins[i].Config = map[string]any{}
		}
		in.Config.Plugins[i].Config["systemPrompt"] = canary
	}
	in.Config.Persona = &kernelconfig.Persona{Source: "x", Prompt: canary}
	objects, err := Render(in)
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(objects)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(data), canary) {
		t.Error("the config's text shows in the rendered objects")
	}
}
