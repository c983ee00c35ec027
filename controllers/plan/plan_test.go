// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
	"github.com/aalis-dev/aalis-operator/runtime/catalog"
	"github.com/aalis-dev/aalis-operator/runtime/kernelconfig"
	"github.com/aalis-dev/aalis-operator/runtime/recompute"
	"github.com/aalis-dev/aalis-operator/runtime/schema"
)

func testCatalog(t testing.TB) catalog.Catalog {
	t.Helper()
	port := schema.Object{Fields: []schema.Field{{Name: "port", Type: schema.Integer, Default: 8080.0, HasDefault: true}}}
	c, err := catalog.New([]catalog.Module{
		{Name: "@aalis/plugin-gateway", Provides: []string{"gateway"}, Required: []string{"app"}},
		{Name: "@aalis/plugin-agent", Provides: []string{"agent"}, Required: []string{"gateway"}, Optional: []string{"llm"}},
		{Name: "@aalis/plugin-llm-openai", Provides: []string{"llm"}, Reusable: true},
		{Name: "@aalis/plugin-archive", Provides: []string{"archive"}, Required: []string{"memory"}},
		{Name: "@aalis/plugin-platform", Required: []string{"gateway"}, Config: port},
		{Name: "@aalis/plugin-web", Config: port},
		{Name: "@aalis/plugin-x", Provides: []string{"x"}, Required: []string{"y"}},
		{Name: "@aalis/plugin-y", Provides: []string{"y"}, Required: []string{"x"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func plugin(short string, more ...func(*kernelconfig.Plugin)) kernelconfig.Plugin {
	p := kernelconfig.Plugin{ID: "@aalis/plugin-" + short, Module: "@aalis/plugin-" + short}
	for _, m := range more {
		m(&p)
	}
	return p
}

func disabled(p *kernelconfig.Plugin) { p.Disabled = true }

func secret(path, key string) func(*kernelconfig.Plugin) {
	return func(p *kernelconfig.Plugin) {
		p.Secrets = append(p.Secrets, kernelconfig.Secret{Path: path, Name: "s", Key: key})
	}
}

func with(key string, value any) func(*kernelconfig.Plugin) {
	return func(p *kernelconfig.Plugin) { p.Config = map[string]any{key: value} }
}

func TestPredict(t *testing.T) {
	config := kernelconfig.Config{Plugins: []kernelconfig.Plugin{
		plugin("agent"), plugin("archive"), plugin("gateway"), plugin("llm-openai", secret("a", "k1"), secret("b", "k2"), secret("c", "k1")),
		plugin("nowhere"), plugin("web", disabled), plugin("x"), plugin("y"),
	}}
	all := Predict(config, testCatalog(t))
	want := Prediction{
		Plugins: []Plugin{
			{ID: "@aalis/plugin-agent", State: recompute.Active},
			{ID: "@aalis/plugin-archive", State: recompute.Pending, Message: "waiting for service memory", Missing: []string{"memory"}},
			{ID: "@aalis/plugin-gateway", State: recompute.Active},
			{ID: "@aalis/plugin-llm-openai", State: recompute.Active},
			{ID: "@aalis/plugin-nowhere", State: recompute.Error, Message: "the runtime image does not ship this module"},
			{ID: "@aalis/plugin-web", State: recompute.Disabled},
			{ID: "@aalis/plugin-x", State: recompute.Pending, Message: "in a dependency cycle: @aalis/plugin-x -> @aalis/plugin-y -> @aalis/plugin-x", Missing: []string{"y"}},
			{ID: "@aalis/plugin-y", State: recompute.Pending, Message: "in a dependency cycle: @aalis/plugin-x -> @aalis/plugin-y -> @aalis/plugin-x", Missing: []string{"x"}},
		},
		Activated: []string{"@aalis/plugin-gateway", "@aalis/plugin-llm-openai", "@aalis/plugin-agent"},
		Cycles:    [][]string{{"@aalis/plugin-x", "@aalis/plugin-y"}},
	}
	if d := cmp.Diff(want, all); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	some := Predict(config, testCatalog(t), kernelconfig.SecretKey{Name: "s", Key: "k2"})
	if got := some.Plugins[3]; got.State != recompute.Pending || got.Message != "waiting for secret:s/k2" {
		t.Errorf("with a missing key: %+v", got)
	}
	if got := some.Plugins[0]; got.State != recompute.Active {
		t.Errorf("the others must not care: %+v", got)
	}
}

func redisAt(address string) *v1alpha1.StorageSpec {
	return &v1alpha1.StorageSpec{Type: v1alpha1.StorageRedis, Redis: &v1alpha1.RedisSpec{Address: address}}
}

func TestDiff(t *testing.T) {
	drain := func(seconds int32) func(*Target) {
		return func(x *Target) { x.Config.DrainTimeoutSeconds = seconds }
	}
	plugins := func(list ...kernelconfig.Plugin) func(*Target) {
		return func(x *Target) { x.Config.Plugins = list }
	}
	cpu := func(q string) func(*Target) {
		return func(x *Target) {
			x.Spec.Resources = &corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(q)}}
		}
	}
	nothing := func(*Target) {}
	tests := map[string]struct {
		before, after func(*Target)
		want          string
	}{
		"nothing":              {nothing, nothing, "None"},
		"image":                {nothing, func(x *Target) { x.Spec.Image = "i:2" }, "Restart: image"},
		"the operator's image": {func(x *Target) { x.Image = "i:1" }, func(x *Target) { x.Image = "i:2" }, "Restart: image"},
		"resources":            {cpu("20m"), cpu("30m"), "Restart: resources"},
		"the same resources":   {cpu("20m"), cpu("0.02"), "None"},
		"drain timeout":        {drain(5), drain(6), "Restart: drain timeout"},
		"storage said aloud": {nothing, func(x *Target) {
			x.Spec.Storage, x.Spec.State = &v1alpha1.StorageSpec{Type: v1alpha1.StorageMemory}, v1alpha1.DesiredStateRunning
		}, "None"},
		"storage":      {nothing, func(x *Target) { x.Spec.Storage = &v1alpha1.StorageSpec{Type: "Redis"} }, "Restart: storage"},
		"pod template": {nothing, func(x *Target) { x.Spec.PodTemplate = &v1alpha1.PodSettings{PriorityClassName: "high"} }, "Restart: pod template"},
		"volume": {
			func(x *Target) { x.Spec.Storage = &v1alpha1.StorageSpec{Type: v1alpha1.StorageSQLite} },
			func(x *Target) {
				size := resource.MustParse("3Gi")
				x.Spec.Storage = &v1alpha1.StorageSpec{Type: v1alpha1.StorageSQLite, Size: &size}
			}, "Restart: storage",
		},
		"server": {
			func(x *Target) { x.Spec.Storage = redisAt("r:1") }, func(x *Target) { x.Spec.Storage = redisAt("r:2") }, "Restart: storage",
		},
		"suspended": {nothing, func(x *Target) { x.Spec.State = v1alpha1.DesiredStateSuspended }, "Restart: run state"},
		"network":   {nothing, func(x *Target) { x.Spec.Network = &v1alpha1.NetworkSpec{} }, "Reload: network rules"},
		"settings": {nothing, func(x *Target) {
			c := &x.Config
			c.LogLevel, c.Language, c.Model = "debug", "en", &kernelconfig.Model{Provider: "p", ID: "m"}
			c.Persona, c.Authority = &kernelconfig.Persona{Prompt: "x"}, &kernelconfig.Authority{}
			c.Preferences = []kernelconfig.Preference{{Service: "llm"}}
		}, "Reload: log level, language, model, persona, authority, preferences"},
		"plugins": {
			plugins(plugin("agent", with("n", 1.0)), plugin("x"), plugin("y"), plugin("archive", disabled), plugin("gateway")),
			plugins(plugin("agent", with("n", 2.0)), plugin("x", disabled), plugin("archive"), plugin("llm-openai"), plugin("gateway")),
			"Reload: plugin @aalis/plugin-agent, plugin @aalis/plugin-x disabled, plugin @aalis/plugin-archive enabled, plugin @aalis/plugin-llm-openai added, plugin @aalis/plugin-y removed",
		},
		"another key": {
			plugins(plugin("llm-openai", secret("a", "k1"), secret("b", "k2"))), plugins(plugin("llm-openai", secret("a", "k1"), secret("b", "k3"))),
			"Restart: mounted Secret keys: +s/k3 -s/k2; Reload: plugin @aalis/plugin-llm-openai",
		},
		"a key that is mounted already": {
			plugins(plugin("llm-openai", secret("a", "k1"))), plugins(plugin("llm-openai", secret("a", "k1"), secret("b", "k1"))),
			"Reload: plugin @aalis/plugin-llm-openai",
		},
		"a disabled plugin keeps its keys mounted": {
			plugins(plugin("llm-openai", secret("a", "k1"))), plugins(plugin("llm-openai", secret("a", "k1"), disabled)),
			"Reload: plugin @aalis/plugin-llm-openai disabled",
		},
		"port": {
			plugins(plugin("platform")), plugins(plugin("platform", with("port", 9000.0))),
			"Restart: ports: 8080 to 9000; Reload: plugin @aalis/plugin-platform",
		},
		"the default port said aloud": {
			plugins(plugin("platform")), plugins(plugin("platform", with("port", 8080.0))), "Reload: plugin @aalis/plugin-platform",
		},
		"the first port": {
			nothing, plugins(plugin("platform"), plugin("web")),
			"Restart: ports: none to 8080; Reload: plugin @aalis/plugin-platform added, plugin @aalis/plugin-web added",
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			before, after := Target{Catalog: testCatalog(t)}, Target{Catalog: testCatalog(t)}
			tc.before(&before)
			tc.after(&after)
			got := Diff(before, after)
			if got.String() != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
			effect := None
			for _, r := range got.Reasons {
				if r.Effect == Restart || effect == None {
					effect = r.Effect
				}
			}
			if got.Effect != effect {
				t.Errorf("effect %s with reasons %v", got.Effect, got.Reasons)
			}
			if same := Diff(after, after); same.Effect != None || len(same.Reasons) > 0 {
				t.Errorf("a target differs from itself: %s", same)
			}
		})
	}
}
