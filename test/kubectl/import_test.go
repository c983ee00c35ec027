// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kubectl

import (
	"path/filepath"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
	"github.com/aalis-dev/aalis-operator/cmd/kubectl-aalis/files"
	"github.com/aalis-dev/aalis-operator/controllers/testenv"
)

const original = `name: Owl
plugins:
  "@aalis/plugin-llm-openai:main": {apiKey: sk-value, customModels: small}
  "@aalis/plugin-agent": {historyLimit: 80, defaultLLM: {provider: "@aalis/plugin-llm-openai:main", model: small}}
  "@aalis/plugin-persona": {persona: 夜猫}
disabledPlugins: ["@aalis/plugin-tool-search"]
servicePreferences: {llm: "@aalis/plugin-llm-openai:main/small"}
owners: [{platform: onebot, userId: 12345678901}]
authorityOverrides: {"command:clear": 2}
confirmOverrides: {"tool:y": off}
`

// TestImport: the API server takes what import makes, and the operator runs it.
func TestImport(t *testing.T) {
	ns := env.Namespace(t)
	env.StartNode(t, ns)
	env.StartOperator(t, []string{ns}, nil)
	card := write(t, "夜猫.yaml", "name: 夜猫\nprompt: 你是夜猫。\ntraits: [静]\noutputFormat: {say: {reply: true}, mood: {type: number}}\n")
	viewer := person{env.Person(t, ns, "view"), ns}
	imported := viewer.run(t, "import", write(t, "aalis.config.yaml", original), "--personas", filepath.Dir(card))
	imported.want(t, 0, "kind: AgentInstance")
	set, err := files.Load(files.Source{Paths: []string{write(t, "bot.yaml", imported.out)}})
	if err != nil {
		t.Fatal(err)
	}
	for i := range set.Plugins {
		env.Create(t, &set.Plugins[i])
	}
	for i := range set.Personas {
		env.Create(t, &set.Personas[i])
	}
	for i := range set.ServicePreferences {
		env.Create(t, &set.ServicePreferences[i])
	}
	for i := range set.AuthorityPolicies {
		env.Create(t, &set.AuthorityPolicies[i])
	}
	bot := &set.Instances[0]
	env.Create(t, bot)
	testenv.WaitFor(t, &env, bot, func(b *v1alpha1.AgentInstance) error {
		return testenv.Condition(b.Status.Conditions, "Ready", metav1.ConditionTrue, v1alpha1.ReasonActive)
	})
	if len(bot.Status.Inputs) != 4 {
		t.Errorf("the bot is composed of %+v", bot.Status.Inputs)
	}
}
