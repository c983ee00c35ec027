// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kubectl

import (
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
	"github.com/aalis-dev/aalis-operator/controllers/testenv"
)

// pinSchema is the schema of spec.pin, for a CRD that does not have it yet.
func pinSchema() map[string]any {
	text := func(kind string) map[string]any { return map[string]any{"type": kind} }
	return map[string]any{
		"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": []any{"kind", "name"},
		"items": map[string]any{"type": "object", "required": []any{"kind", "name"}, "properties": map[string]any{
			"kind": text("string"), "name": text("string"), "revision": text("integer"), "overRevision": text("integer"),
		}},
	}
}

// withPins makes sure that AgentInstances have the field spec.pin.
func withPins(t *testing.T) {
	t.Helper()
	crd := &unstructured.Unstructured{}
	crd.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"})
	crd.SetName("agentinstances.aalis.dev")
	env.Refresh(t, crd)
	versions, _, err := unstructured.NestedSlice(crd.Object, "spec", "versions")
	if err != nil {
		t.Fatal(err)
	}
	version, ok := versions[0].(map[string]any)
	if !ok {
		t.Fatalf("got %T", versions[0])
	}
	path := []string{"schema", "openAPIV3Schema", "properties", "spec", "properties", "pin"}
	if _, there, err := unstructured.NestedMap(version, path...); err != nil || there {
		return
	}
	if err := unstructured.SetNestedMap(version, pinSchema(), path...); err != nil {
		t.Fatal(err)
	}
	if err := unstructured.SetNestedSlice(crd.Object, versions, "spec", "versions"); err != nil {
		t.Fatal(err)
	}
	if err := env.Client().Update(t.Context(), crd); err != nil {
		t.Fatal(err)
	}
}

func pins(t *testing.T, bot *v1alpha1.AgentInstance) string {
	t.Helper()
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("AgentInstance"))
	if err := env.Client().Get(t.Context(), client.ObjectKeyFromObject(bot), live); err != nil {
		t.Fatal(err)
	}
	list, _, err := unstructured.NestedSlice(live.Object, "spec", "pin")
	if err != nil {
		t.Fatal(err)
	}
	var out string
	for _, item := range list {
		p, ok := item.(map[string]any)
		if !ok {
			t.Fatalf("got %T", item)
		}
		out += fmt.Sprintf("%v/%v=%v over %v;", p["kind"], p["name"], p["revision"], p["overRevision"])
	}
	return out
}

// TestRollback: pins are set and taken away next to those of somebody else, and the rest of the bot is left alone.
func TestRollback(t *testing.T) {
	ns := env.Namespace(t)
	withPins(t)
	bot, persona := testenv.Instance(ns, "hello"), testenv.Persona(ns, "owl", "three")
	env.Create(t, testenv.Plugin(ns, "main"), persona, bot)
	for i, prompt := range []string{"one", "two", "three"} {
		env.Create(t, &appsv1.ControllerRevision{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: ns, Name: fmt.Sprintf("aalis-persona-owl-%d", i+1),
				Labels:          map[string]string{"aalis.dev/revision-of-kind": "Persona", "aalis.dev/revision-of-name": "owl"},
				OwnerReferences: []metav1.OwnerReference{{APIVersion: "aalis.dev/v1alpha1", Kind: "Persona", Name: "owl", UID: persona.UID}},
			},
			Revision: int64(i + 1), Data: runtime.RawExtension{Raw: []byte(fmt.Sprintf(`{"prompt":%q}`, prompt))},
		})
	}
	viewer := person{env.Person(t, ns, "view"), ns}
	editor := person{env.Person(t, ns, "edit"), ns}
	viewer.run(t, "rollback", "hello", "--list").want(t, 0, "persona/owl   3          yes", "the oldest that is kept")
	viewer.run(t, "rollback", "hello").want(t, 1, "forbidden")

	// The API server takes a moment to know the new field.
	testenv.Eventually(t, func() error {
		if s := editor.run(t, "rollback", "hello", "--dry-run"); s.code != 0 {
			return fmt.Errorf("%s", s.err)
		}
		return nil
	})
	if got := pins(t, bot); got != "" {
		t.Errorf("a dry run pinned %s", got)
	}
	other := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"pin": []any{
		map[string]any{"kind": "Plugin", "name": "main", "revision": int64(1)},
	}}}}
	other.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("AgentInstance"))
	other.SetNamespace(ns)
	other.SetName("hello")
	if err := env.Client().Apply(t.Context(), client.ApplyConfigurationFromUnstructured(other), client.FieldOwner("git")); err != nil {
		t.Fatal(err)
	}

	steps := []struct {
		args []string
		code int
		said string
		pins string
	}{
		{[]string{"hello"}, 0, "pinned to revision 2 of persona/owl, instead of 3", "Persona/owl=2 over 3;"},
		{[]string{"hello"}, 0, "pinned to revision 1 of persona/owl", "Persona/owl=1 over 3;"},
		{[]string{"hello"}, 1, "nothing that this bot uses has an earlier revision", "Persona/owl=1 over 3;"},
		{[]string{"hello", "--list"}, 0, "pinned", "Persona/owl=1 over 3;"},
		{[]string{"hello", "--of", "persona/owl", "--to-revision", "2"}, 0, "revision 2", "Persona/owl=2 over 3;"},
		{[]string{"hello", "--of", "persona/owl", "--to-revision", "9"}, 1, "there is 3, 2, 1", "Persona/owl=2 over 3;"},
		{[]string{"hello", "--undo"}, 0, "unpinned", ""},
		{[]string{"hello", "--undo"}, 1, "has no pin to take away", ""},
	}
	for _, step := range steps {
		editor.run(t, append([]string{"rollback"}, step.args...)...).want(t, step.code, step.said)
		if got, want := pins(t, bot), "Plugin/main=1 over <nil>;"+step.pins; got != want {
			t.Errorf("%v: pins %s, want %s", step.args, got, want)
		}
	}
	env.Refresh(t, bot)
	if bot.Spec.PersonaRef == nil || len(bot.Spec.Plugins) != 1 {
		t.Errorf("the bot lost something: %+v", bot.Spec)
	}
}
