// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package agentinstance_test

import (
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
	"github.com/aalis-dev/aalis-operator/controllers/testenv"
)

// written is an object as people write it, with what a typed client would leave out.
func written(namespace, kind string, spec map[string]any) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	obj.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(kind))
	obj.SetNamespace(namespace)
	obj.SetName("written")
	return obj
}

// TestRefusedAtAdmission: what the API server can tell it refuses, with a message that says what is allowed.
func TestRefusedAtAdmission(t *testing.T) {
	t.Parallel()
	ns := env.Namespace(t)
	instance := func(change func(*v1alpha1.AgentInstance)) client.Object {
		in := testenv.Instance(ns, "hello")
		change(in)
		return in
	}
	plugin := func(change func(*v1alpha1.Plugin)) client.Object {
		p := testenv.Plugin(ns, "main")
		change(p)
		return p
	}
	cases := map[string]struct {
		obj  client.Object
		want string
	}{
		"name over 40 characters": {instance(func(in *v1alpha1.AgentInstance) {
			in.Name = strings.Repeat("a", 41)
		}), "at most 40 characters"},
		"name with a dot": {instance(func(in *v1alpha1.AgentInstance) { in.Name = "a.b" }), "must be a DNS label"},
		"config without module": {instance(func(in *v1alpha1.AgentInstance) {
			in.Spec.Plugins[0].Config = &runtime.RawExtension{Raw: []byte(`{"a":1}`)}
		}), "config needs module"},
		"plugin listed twice": {instance(func(in *v1alpha1.AgentInstance) {
			in.Spec.Plugins = append(in.Spec.Plugins, in.Spec.Plugins[0])
		}), "Duplicate value"},
		"budget of tokens and money": {instance(func(in *v1alpha1.AgentInstance) {
			in.Spec.Budgets = []v1alpha1.AgentBudget{{Name: "a", BudgetWindow: v1alpha1.BudgetWindow{Per: "Day"}, BudgetAmount: v1alpha1.BudgetAmount{
				Tokens: ptr(int64(1)), Cost: &v1alpha1.BudgetCost{Amount: "1", Currency: "USD"},
			}}}
		}), "must have either tokens or cost"},
		"budget with ten decimals": {instance(func(in *v1alpha1.AgentInstance) {
			in.Spec.Budgets = []v1alpha1.AgentBudget{{Name: "a", BudgetWindow: v1alpha1.BudgetWindow{Per: "Day"}, BudgetAmount: v1alpha1.BudgetAmount{
				Cost: &v1alpha1.BudgetCost{Amount: "1.0000000001", Currency: "USD"},
			}}}
		}), "should match"},
		"budget step without a model": {instance(func(in *v1alpha1.AgentInstance) {
			in.Spec.Budgets = []v1alpha1.AgentBudget{{
				Name: "a", BudgetWindow: v1alpha1.BudgetWindow{Per: "Day"}, BudgetAmount: v1alpha1.BudgetAmount{Tokens: ptr(int64(1))},
				Steps: []v1alpha1.BudgetStep{{Action: "SwitchModel", AtPercent: 5}},
			}}
		}), "model must be given for SwitchModel"},
		"plugin name": {instance(func(in *v1alpha1.AgentInstance) { in.Spec.Plugins[0].Name = "Main" }), "must be a DNS label"},
		"too many plugins": {instance(func(in *v1alpha1.AgentInstance) {
			for i := range 65 {
				in.Spec.Plugins = append(in.Spec.Plugins, v1alpha1.InstancePlugin{Name: "p" + strings.Repeat("x", i)})
			}
		}), "must have at most 64 items"},
		"roll-out without steps": {written(ns, "Persona", map[string]any{"prompt": "x", "rollout": map[string]any{}}), "spec.rollout.steps"},
		"step with both": {written(ns, "Persona", map[string]any{"prompt": "x", "rollout": map[string]any{
			"steps": []any{map[string]any{"percent": 10, "labelValue": "a"}}, "order": map[string]any{"by": "Label", "label": "ring"},
		}}), "exactly one of the fields in [percent labelValue] must be set"},
		"label step without order": {written(ns, "Persona", map[string]any{"prompt": "x", "rollout": map[string]any{
			"steps": []any{map[string]any{"labelValue": "a"}},
		}}), "labelValue needs order.by: Label"},
		"order without a label": {written(ns, "Persona", map[string]any{"prompt": "x", "rollout": map[string]any{
			"steps": []any{map[string]any{"percent": 10}}, "order": map[string]any{"by": "Label"},
		}}), "must be given with by: Label"},
		"order by an odd label": {written(ns, "Persona", map[string]any{"prompt": "x", "rollout": map[string]any{
			"steps": []any{map[string]any{"percent": 10}}, "order": map[string]any{"by": "Label", "label": "a b"},
		}}), "must be a label key"},
		"step of an odd value": {written(ns, "Persona", map[string]any{"prompt": "x", "rollout": map[string]any{
			"steps": []any{map[string]any{"labelValue": "a b"}}, "order": map[string]any{"by": "Label", "label": "ring"},
		}}), "must be a label value"},
		"roll-out watched for over a week": {written(ns, "Persona", map[string]any{"prompt": "x", "rollout": map[string]any{
			"steps": []any{map[string]any{"percent": 10}}, "pauseSeconds": 604801,
		}}), "604800"},
		"pin of another kind": {instance(func(in *v1alpha1.AgentInstance) {
			in.Spec.Pin = []v1alpha1.PinnedRevision{{Kind: "Secret", Name: "a", Revision: 1}}
		}), "Unsupported value"},
		"pin of no revision": {instance(func(in *v1alpha1.AgentInstance) {
			in.Spec.Pin = []v1alpha1.PinnedRevision{{Kind: "Persona", Name: "a"}}
		}), "spec.pin[0].revision"},
		"state":         {instance(func(in *v1alpha1.AgentInstance) { in.Spec.State = "Sleeping" }), "Unsupported value"},
		"language":      {instance(func(in *v1alpha1.AgentInstance) { in.Spec.Language = "de" }), "Unsupported value"},
		"log level":     {instance(func(in *v1alpha1.AgentInstance) { in.Spec.LogLevel = "loud" }), "Unsupported value"},
		"model no id":   {instance(func(in *v1alpha1.AgentInstance) { in.Spec.Model.ID = "" }), "spec.model.id"},
		"empty persona": {written(ns, "Persona", map[string]any{"prompt": ""}), "spec.prompt"},
		"blank persona": {testenv.Persona(ns, "owl", " \n\t "), "must not be blank"},
		"huge persona":  {testenv.Persona(ns, "owl", strings.Repeat("x", 65537)), "65536"},
		"persona without a reply": {written(ns, "Persona", map[string]any{"prompt": "x", "outputFormat": map[string]any{
			"fields": []any{map[string]any{"name": "a"}},
		}}), "must have a field with role: Reply"},
		"persona with a field twice": {written(ns, "Persona", map[string]any{"prompt": "x", "outputFormat": map[string]any{
			"fields": []any{map[string]any{"name": "a", "role": "Reply"}, map[string]any{"name": "a"}},
		}}), "Duplicate value"},
		"persona with a blank field": {written(ns, "Persona", map[string]any{"prompt": "x", "outputFormat": map[string]any{
			"fields": []any{map[string]any{"name": " ", "role": "Reply"}},
		}}), "must not be blank"},
		"persona with an odd type": {written(ns, "Persona", map[string]any{"prompt": "x", "outputFormat": map[string]any{
			"fields": []any{map[string]any{"name": "a", "role": "Reply", "type": "Date"}},
		}}), "Unsupported value"},
		"persona with too many retries": {written(ns, "Persona", map[string]any{"prompt": "x", "outputFormat": map[string]any{
			"fields": []any{map[string]any{"name": "a", "role": "Reply"}}, "retries": int64(11),
		}}), "less than or equal to 10"},
		"persona with all skills by name": {written(ns, "Persona", map[string]any{
			"prompt": "x", "skills": map[string]any{"policy": "All", "names": []any{"a"}},
		}), "only be given with policy: Only"},
		"persona rendering": {written(ns, "Persona", map[string]any{"prompt": "x", "rendering": "Server"}), "Unsupported value"},
		"persona listed twice": {instance(func(in *v1alpha1.AgentInstance) {
			in.Spec.Personas = []v1alpha1.LocalReference{{Name: "a"}, {Name: "a"}}
		}), "Duplicate value"},
		"no module":      {plugin(func(p *v1alpha1.Plugin) { p.Spec.Module = "" }), "spec.module"},
		"bad secret key": {plugin(func(p *v1alpha1.Plugin) { p.Spec.Secrets[0].SecretKeyRef.Key = "api\nkey" }), "must be a Secret key"},
		"bad secret name": {plugin(func(p *v1alpha1.Plugin) {
			p.Spec.Secrets[0].SecretKeyRef.Name = "LLM"
		}), "must be the name of a Secret"},
		"bad secret path": {plugin(func(p *v1alpha1.Plugin) { p.Spec.Secrets[0].Path = "a..b" }), "must be a config path"},
		"config is a list": {plugin(func(p *v1alpha1.Plugin) {
			p.Spec.Config = &runtime.RawExtension{Raw: []byte(`[1]`)}
		}), "spec.config"},
		"preference without providers": {&v1alpha1.ServicePreference{
			ObjectMeta: testenv.Plugin(ns, "cheap").ObjectMeta, Spec: v1alpha1.ServicePreferenceSpec{Service: "llm"},
		}, "spec.prefer"},
		"policy without selector": {written(ns, "AuthorityPolicy", map[string]any{"deniedCapabilities": []any{"tool:exec"}}), "spec.selector"},
		"unknown field is told":   {written(ns, "Persona", map[string]any{"prompt": "x", "promt": "y"}), "unknown field"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			err := env.Client().Create(t.Context(), c.obj, client.FieldValidation("Strict"))
			if err == nil {
				t.Fatal("the API server took it")
			}
			if !apierrors.IsInvalid(err) && !apierrors.IsBadRequest(err) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("refused with %q, want it to say %q", err, c.want)
			}
		})
	}
	for _, obj := range []client.Object{
		testenv.Plugin(ns, "main"), testenv.Persona(ns, "owl", strings.Repeat("夜", 65536)),
		written(ns, "Persona", map[string]any{
			"prompt": "x", "nickNames": []any{"o"}, "greeting": "hi", "rendering": "Client", "skills": map[string]any{"policy": "Only"},
			"outputFormat": map[string]any{"prompt": "p", "retries": int64(0), "fields": []any{
				map[string]any{"name": "a", "role": "Reply", "type": "String", "description": "d"}, map[string]any{"name": "b", "role": "Reply"},
			}},
		}),
		instance(func(in *v1alpha1.AgentInstance) { in.Name = strings.Repeat("a", 40) }),
	} {
		if err := env.Client().Create(t.Context(), obj); err != nil {
			t.Errorf("the API server refused what is allowed: %v", err)
		}
	}
}
