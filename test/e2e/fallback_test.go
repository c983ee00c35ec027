// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"strings"
	"testing"

	"github.com/aalis-dev/aalis-operator/test/harness"
)

// TestNextModelWhenTheFirstIsAway: a ServicePreference says which model comes next, and a bot whose first one nobody serves
// answers by it.
func TestNextModelWhenTheFirstIsAway(t *testing.T) {
	ctx, ns := newNamespace(t)
	withModel(ctx, t, ns)
	b := newBot(ns, "hello")
	must(t, cluster.Apply(ctx, ns, strings.ReplaceAll(`apiVersion: aalis.dev/v1alpha1
kind: Plugin
metadata: {name: away}
spec:
  module: llm-openai
  config: {baseUrl: "http://fakellm.NS.svc:9", customModels: gone-1}
  secrets: [{path: apiKey, secretKeyRef: {name: llm, key: api-key}}]
---
apiVersion: aalis.dev/v1alpha1
kind: ServicePreference
metadata: {name: first-away}
spec:
  service: llm
  selector: {matchLabels: {tier: shared}}
  prefer: [{plugin: away, id: gone-1}, {plugin: main, id: gpt-4o-mini}]
  fallbackOn: [Unavailable]
`, "NS", ns)))
	instance := strings.Replace(b.instanceYAML(), "  model: {plugin: main, id: \"gpt-4o-mini\"}\n", "", 1)
	instance = strings.Replace(instance, "  - {name: main}\n", "  - {name: main}\n  - {name: away}\n", 1)
	must(t, cluster.Apply(ctx, ns, b.personaYAML()+"---\n"+b.pluginsYAML()+"---\n"+instance))
	inst, err := cluster.Until(ctx, ns, b.name, harness.IsReady)
	must(t, err)
	if want := "@aalis/plugin-llm-openai:away/gone-1"; inst.Status.Model != want {
		t.Errorf("status.model: want %q, got %q", want, inst.Status.Model)
	}
	ask(ctx, t, b, "are you there?", "Night Owl", "are you there?")
}
