// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	aalisv1alpha1 "github.com/aalis-dev/aalis-operator/api/v1alpha1"
	"github.com/aalis-dev/aalis-operator/test/harness"
)

// TestBadConfigKeepsTheOldOne: what the operator cannot compose never reaches the pod; the bot goes on and the
// condition names the field.
func TestBadConfigKeepsTheOldOne(t *testing.T) {
	ctx, ns := newNamespace(t)
	withModel(ctx, t, ns)
	b := newBot(ns, "hello")
	start(ctx, t, b)

	tests := []struct {
		name   string
		spoil  func(b *botParts)
		reason string
		want   string
	}{
		{"unknown config key", func(b *botParts) { b.agentConfig = "{historyLimt: 3}" }, aalisv1alpha1.ReasonInvalidConfig, "historyLimt"},
		{"wrong type", func(b *botParts) { b.agentConfig = `{historyLimit: many}` }, aalisv1alpha1.ReasonInvalidConfig, "historyLimit"},
		{"inline secret", func(b *botParts) { b.llmConfig = `{apiKey: sk-inline, customModels: gpt-4o-mini}` }, aalisv1alpha1.ReasonInvalidConfig, "apiKey"},
		{"persona that does not exist", func(b *botParts) { b.persona = "nobody" }, aalisv1alpha1.ReasonPersonaNotFound, "nobody"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			bad := b
			tc.spoil(&bad)
			manifests := bad.pluginsYAML() + "---\n" + bad.instanceYAML()
			must(t, cluster.Apply(ctx, ns, manifests))
			inst, err := cluster.Until(ctx, ns, b.name, harness.HasReason(tc.reason))
			must(t, err)
			ready := meta.FindStatusCondition(inst.Status.Conditions, aalisv1alpha1.ConditionReady)
			if !strings.Contains(ready.Message, tc.want) {
				t.Errorf("the message must name %q, got %q", tc.want, ready.Message)
			}
			if strings.Contains(ready.Message, "sk-inline") {
				t.Errorf("the message shows a secret: %q", ready.Message)
			}
			if !meta.IsStatusConditionTrue(inst.Status.Conditions, aalisv1alpha1.ConditionStalled) || inst.Status.State != aalisv1alpha1.StateActive {
				t.Errorf("want Stalled True and state Active, got %+v", inst.Status)
			}
			ask(ctx, t, b, "still there?", "Night Owl", "still there?")
			must(t, cluster.Apply(ctx, ns, b.pluginsYAML()+"---\n"+b.instanceYAML()))
			_, err = cluster.Until(ctx, ns, b.name, harness.IsReady)
			must(t, err)
		})
	}
	if n := restarts(ctx, t, b); n != 0 {
		t.Errorf("bad configs must not restart the pod, it restarted %d times", n)
	}
}

// TestUnknownModel: the bot stays up, says so to its user, and its condition names the model.
func TestUnknownModel(t *testing.T) {
	ctx, ns := newNamespace(t)
	withModel(ctx, t, ns)
	b := newBot(ns, "hello")
	b.model = "gpt-nine"
	must(t, cluster.Apply(ctx, ns, b.all()))
	inst, err := cluster.Until(ctx, ns, b.name, harness.HasReason(aalisv1alpha1.ReasonModelNotFound))
	must(t, err)
	if ready := meta.FindStatusCondition(inst.Status.Conditions, aalisv1alpha1.ConditionReady); !strings.Contains(ready.Message, "gpt-nine") {
		t.Errorf("the message must name the model, got %q", ready.Message)
	}
	ask(ctx, t, b, "hello?", "gpt-nine")
	b.model = "gpt-4o-mini"
	must(t, cluster.Apply(ctx, ns, b.instanceYAML()))
	_, err = cluster.Until(ctx, ns, b.name, harness.IsReady)
	must(t, err)
	ask(ctx, t, b, "and now?", "and now?")
}

// TestRefusedAtAdmission: what CEL can tell is refused by kubectl apply, with a message that says what is allowed.
func TestRefusedAtAdmission(t *testing.T) {
	ctx, ns := newNamespace(t)
	b := newBot(ns, "hello")
	long := newBot(ns, strings.Repeat("a", 41))
	tests := []struct{ name, manifest, want string }{
		{"name over 40 characters", long.instanceYAML(), "at most 40 characters"},
		{"empty persona", "apiVersion: aalis.dev/v1alpha1\nkind: Persona\nmetadata: {name: a}\nspec: {prompt: \"\"}\n", "spec.prompt"},
		{"blank persona", "apiVersion: aalis.dev/v1alpha1\nkind: Persona\nmetadata: {name: a}\nspec: {prompt: \"  \"}\n", "must not be blank"},
		{"line break in a Secret key", strings.Replace(b.pluginsYAML(), "key: api-key", `key: "api-key\n"`, 1), "must be a Secret key"},
		{"config without module", strings.Replace(b.instanceYAML(), "{name: door}", "{name: door, config: {port: 8080}}", 1), "config needs module"},
		{"unknown field", strings.Replace(b.instanceYAML(), "personaRef", "personRef", 1), "personRef"},
		{"tabs", "apiVersion: aalis.dev/v1alpha1\nkind: Persona\nmetadata:\n\tname: a\n", "yaml"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			_, err := cluster.Run(ctx, tc.manifest, "apply", "-n", ns, "-f", "-")
			if err == nil || !strings.Contains(strings.ToLower(err.Error()), strings.ToLower(tc.want)) {
				t.Errorf("want kubectl to refuse it with %q, got %v", tc.want, err)
			}
		})
	}
}

// TestMissingSecretThenCreated: a missing key keeps only its plugin pending, and its arrival activates that plugin in
// the running pod.
func TestMissingSecretThenCreated(t *testing.T) {
	ctx, ns := newNamespace(t)
	withModel(ctx, t, ns)
	_, err := cluster.Run(ctx, "", "delete", "secret", "-n", ns, "llm")
	must(t, err)
	b := newBot(ns, "hello")
	must(t, cluster.Apply(ctx, ns, b.all()))
	inst, err := cluster.Until(ctx, ns, b.name, func(inst *aalisv1alpha1.AgentInstance) bool {
		return pluginState(inst, "@aalis/plugin-llm-openai:main") == aalisv1alpha1.StatePending
	})
	must(t, err)
	if got := pluginMessage(inst, "@aalis/plugin-llm-openai:main"); !strings.Contains(got, "llm") || !strings.Contains(got, "api-key") {
		t.Errorf("the message must name the Secret and its key, got %q", got)
	}
	_, err = cluster.Until(ctx, ns, b.name, func(inst *aalisv1alpha1.AgentInstance) bool {
		return pluginState(inst, "@aalis/plugin-platform-openai") == aalisv1alpha1.StateActive &&
			pluginState(inst, "@aalis/plugin-agent") == aalisv1alpha1.StateActive
	})
	must(t, err)
	pod, err := cluster.Pod(ctx, ns, b.name)
	must(t, err)

	must(t, cluster.PutSecret(ctx, ns, "llm", "api-key", "sk-late"))
	refreshSecrets(ctx, t, b)
	_, err = cluster.Until(ctx, ns, b.name, harness.IsReady)
	must(t, err)
	ask(ctx, t, b, "now you can", "now you can")
	after, err := cluster.Pod(ctx, ns, b.name)
	must(t, err)
	if after.UID != pod.UID || restarts(ctx, t, b) != 0 {
		t.Error("a Secret that arrives must not restart the pod")
	}
}

// TestKeyRotated: a new value of a key is in use in the same pod, and only the plugin that uses it was bounced.
func TestKeyRotated(t *testing.T) {
	ctx, ns := newNamespace(t)
	withModel(ctx, t, ns)
	b := newBot(ns, "hello")
	start(ctx, t, b)
	ask(ctx, t, b, "with the old key", "with the old key")
	before := lastKey(ctx, t, ns)

	must(t, cluster.PutSecret(ctx, ns, "llm", "api-key", "sk-rotated"))
	refreshSecrets(ctx, t, b)
	eventually(ctx, t, "a call with the new key", 2*time.Minute, func(ctx context.Context) (bool, string) {
		ask(ctx, t, b, "which key?")
		key := lastKey(ctx, t, ns)
		return key != before, key
	})
	if n := restarts(ctx, t, b); n != 0 {
		t.Errorf("a rotated key must not restart the pod, it restarted %d times", n)
	}
}

// refreshSecrets makes the kubelet look at the mounted Secrets now; without it that takes about a minute.
func refreshSecrets(ctx context.Context, t *testing.T, b botParts) {
	t.Helper()
	_, err := cluster.Run(ctx, "", "annotate", "pod", "-n", b.namespace, harness.PodName(b.name), "--overwrite",
		aalisv1alpha1.AnnotationReload+"="+harness.ShortID())
	must(t, err)
}

func pluginState(inst *aalisv1alpha1.AgentInstance, id string) aalisv1alpha1.State {
	for _, p := range inst.Status.Plugins {
		if p.ID == id {
			return p.State
		}
	}
	return ""
}

func pluginMessage(inst *aalisv1alpha1.AgentInstance, id string) string {
	for _, p := range inst.Status.Plugins {
		if p.ID == id {
			return p.Message
		}
	}
	return ""
}
