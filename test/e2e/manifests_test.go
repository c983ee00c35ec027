// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import "fmt"

// botParts are the manifests of a bot that speaks through the model server of its namespace.
type botParts struct {
	name, namespace, persona, displayName string
	// llmConfig and agentConfig are added to the configs, as YAML flow maps.
	llmConfig, agentConfig string
	model                  string
	// plugins are added to those of the bot, and more to its spec, as YAML.
	plugins, more string
}

func newBot(ns, name string) botParts {
	return botParts{name: name, namespace: ns, persona: "night-owl", displayName: "Night Owl",
		llmConfig: `{baseUrl: "http://fakellm.` + ns + `.svc:8080", customModels: gpt-4o-mini}`, agentConfig: "{historyLimit: 20}", model: "gpt-4o-mini"}
}

func (b botParts) personaYAML() string {
	return fmt.Sprintf(`apiVersion: aalis.dev/v1alpha1
kind: Persona
metadata: {name: %s}
spec: {displayName: %q, prompt: You are calm.}
`, b.persona, b.displayName)
}

func (b botParts) pluginsYAML() string {
	return fmt.Sprintf(`apiVersion: aalis.dev/v1alpha1
kind: Plugin
metadata: {name: main}
spec:
  module: llm-openai
  config: %s
  secrets: [{path: apiKey, secretKeyRef: {name: llm, key: api-key}}]
---
apiVersion: aalis.dev/v1alpha1
kind: Plugin
metadata: {name: door}
spec:
  module: platform-openai
  secrets: [{path: tokens, secretKeyRef: {name: door, key: tokens}}]
`, b.llmConfig)
}

func (b botParts) instanceYAML() string {
	return fmt.Sprintf(`apiVersion: aalis.dev/v1alpha1
kind: AgentInstance
metadata: {name: %s, labels: {tier: shared}}
spec:
  model: {plugin: main, id: %q}
  personaRef: {name: %s}
  plugins:
  - {name: main}
  - {name: door}
  - {name: agent, module: agent, config: %s}
%s%s`, b.name, b.model, b.persona, b.agentConfig, b.plugins, b.more)
}

func (b botParts) all() string {
	return b.personaYAML() + "---\n" + b.pluginsYAML() + "---\n" + b.instanceYAML()
}
