// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
	"github.com/aalis-dev/aalis-operator/runtime/catalog"
	"github.com/aalis-dev/aalis-operator/runtime/schema"
)

func testCatalog(t *testing.T) catalog.Catalog {
	t.Helper()
	cat, err := catalog.New([]catalog.Module{
		{Name: "@aalis/plugin-memory-inmemory", OnByDefault: true},
		{Name: "@aalis/plugin-agent", OnByDefault: true},
		{Name: "@aalis/plugin-llm-openai", Reusable: true, Config: schema.Object{Fields: []schema.Field{
			{Name: "apiKey", Type: schema.String, Secret: true}, {Name: "timeout", Type: schema.Integer},
		}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return cat
}

func TestCheck(t *testing.T) {
	now := metav1.Now()
	cases := map[string]struct {
		change func(*v1alpha1.Plugin)
		reason string
		text   string
	}{
		"fine":           {func(*v1alpha1.Plugin) {}, "", ""},
		"unknown module": {func(p *v1alpha1.Plugin) { p.Spec.Module = "llm-opnai" }, v1alpha1.ReasonUnknownModule, `"llm-openai"`},
		"unknown key": {func(p *v1alpha1.Plugin) {
			p.Spec.Config = &runtime.RawExtension{Raw: []byte(`{"timout":3}`)}
		}, v1alpha1.ReasonInvalidConfig, "timout"},
		"wrong type": {func(p *v1alpha1.Plugin) {
			p.Spec.Config = &runtime.RawExtension{Raw: []byte(`{"timeout":"soon"}`)}
		}, v1alpha1.ReasonInvalidConfig, "timeout"},
		"inline secret": {func(p *v1alpha1.Plugin) {
			p.Spec.Config = &runtime.RawExtension{Raw: []byte(`{"apiKey":"sk-canary"}`)}
		}, v1alpha1.ReasonInvalidConfig, "apiKey"},
		"being deleted": {func(p *v1alpha1.Plugin) { p.Spec.Module, p.DeletionTimestamp = "nonsense", &now }, "", ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			p := &v1alpha1.Plugin{
				ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "main"},
				Spec:       v1alpha1.PluginSpec{Module: "llm-openai"},
			}
			c.change(p)
			got := check(testCatalog(t), p)
			switch {
			case c.reason == "" && got != nil:
				t.Errorf("found wrong what is right: %+v", got)
			case c.reason != "" && (got == nil || got.Reason != c.reason || !strings.Contains(got.Message, c.text)):
				t.Errorf("got %+v, want %s with %q", got, c.reason, c.text)
			case got != nil && strings.Contains(got.Message, "sk-canary"):
				t.Error("the message shows the secret")
			}
		})
	}
}

func TestInstanceID(t *testing.T) {
	cat := testCatalog(t)
	for module, want := range map[string]string{
		"llm-openai": "@aalis/plugin-llm-openai:main", "@aalis/plugin-agent": "@aalis/plugin-agent", "nonsense": "",
	} {
		p := &v1alpha1.Plugin{ObjectMeta: metav1.ObjectMeta{Name: "main"}, Spec: v1alpha1.PluginSpec{Module: module}}
		if got := instanceID(cat, p); got != want {
			t.Errorf("%s: id %q, want %q", module, got, want)
		}
	}
}
