// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package convert_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"

	"github.com/aalis-dev/aalis-operator/cmd/kubectl-aalis/convert"
	"github.com/aalis-dev/aalis-operator/controllers/compose"
	"github.com/aalis-dev/aalis-operator/runtime/catalog"
)

const whole = `name: 小助手
logLevel: debug
plugins:
  "@aalis/plugin-llm-openai:Main_1":
    apiKey: sk-secret-value
    baseUrl: https://llm.example
    customModels: "gpt-4o-mini"
    colour: red
    temperature: hot
  "@aalis/plugin-llm-deepseek:main-1": {apiKey: ds-secret-value}
  "@aalis/plugin-agent": {historyLimit: 80, defaultLLM: {provider: "@aalis/plugin-llm-openai:Main_1", model: gpt-4o-mini}}
  "@aalis/plugin-persona": {persona: 夜猫, timeZone: Asia/Shanghai, personasDir: data/personas}
  "@aalis/plugin-memory-sqlite": {path: data/aalis.db}
  "@aalis/plugin-adapter-onebot:qq": {token: never-shown}
  "@aalis/plugin-tools": {}
  "@aalis/plugin-gateway:two": {}
disabledPlugins: ["@aalis/plugin-tool-search", "@aalis/plugin-shell", "@aalis/plugin-llm-deepseek:main-1"]
servicePreferences:
  llm: "@aalis/plugin-llm-openai:Main_1/gpt-4o-mini"
  memory: "@aalis/plugin-memory-sqlite"
  embedding: "@aalis/plugin-embedding-openai:e"
owners: [{platform: onebot, userId: 12345678901}, {platform: webui}]
deniedCapabilities: ["tool:exec*"]
authorityOverrides: {"command:clear": 2, "tool:x": many}
confirmOverrides: {"tool:file_delete": always, "tool:y": off}
autoConfirmUntil: -1
restrictedPolicy: {allow: ["tool:*", 7], duration: 60, deny: x}
network: {blockPrivate: false, denyCidrs: [10.0.0.0/8, ten], allowedPorts: [443, 0]}
commandPrefix: "!"
`

func cards() []convert.Card {
	return []convert.Card{
		{Name: "夜猫", Data: []byte("name: 夜猫\nprompt: 你是夜猫。\nnick_name: [猫, 猫]\nvoice: deep\nskills: []\noutputFormat:\n  say: {reply: true, colour: red}\n  mood: {type: number}\n")},
		{Name: "dog", Data: []byte(`{"name": "Dog", "prompt": "Woof."}`)},
		{Name: "bad", Data: []byte("name: x")},
	}
}

func run(t testing.TB, config string, change func(*convert.Source)) convert.Result {
	t.Helper()
	cat, err := catalog.Default()
	if err != nil {
		t.Fatal(err)
	}
	src := convert.Source{Config: []byte(config), Cards: cards(), Namespace: "team-a", Catalog: cat}
	if change != nil {
		change(&src)
	}
	result, err := convert.Convert(src)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func notes(r convert.Result) string {
	var b strings.Builder
	for _, n := range r.Notes {
		b.WriteString(n.String() + "\n")
	}
	return b.String()
}

// TestWhole: all that has a place gets it, all else has a note, and what comes out can be deployed (plugins.md 3.1, 9.1).
func TestWhole(t *testing.T) {
	r := run(t, whole, nil)
	said := notes(r)
	for _, want := range []string{
		`plugins[@aalis/plugin-llm-openai:Main_1].colour: module @aalis/plugin-llm-openai has no such field`,
		`plugins[@aalis/plugin-llm-openai:Main_1].temperature: must be a number`,
		`plugins[@aalis/plugin-llm-openai:Main_1]: is called @aalis/plugin-llm-openai:`,
		`plugins[@aalis/plugin-llm-openai:Main_1].apiKey: is a secret: it is read from the key api-key of the Secret `,
		`plugins[@aalis/plugin-adapter-onebot:qq]: `, `plugins[@aalis/plugin-gateway:two]: module @aalis/plugin-gateway runs only once`,
		`plugins[@aalis/plugin-memory-sqlite]: became spec.storage`, `plugins[@aalis/plugin-memory-sqlite].path: `,
		`plugins[@aalis/plugin-persona].personasDir: `, `disabledPlugins[1]: there is no module "@aalis/plugin-shell"`,
		`servicePreferences.memory: spec.storage decides`, `servicePreferences.embedding: there is no plugin for`,
		`owners[1]: must have platform and userId`, `authorityOverrides.tool:x: must be a whole number`,
		`autoConfirmUntil: is state`, `restrictedPolicy.deny: there is no such field`, `restrictedPolicy.allow[1]: must be a text`,
		`network.denyCidrs: must have networks`, `network.allowedPorts[1]: must be a port`, `name: "小助手" became the object name bot-`,
		`persona card 夜猫: a card has no field "voice"`, `persona card 夜猫: outputFormat.say: a card has no field "colour"`,
		`persona card 夜猫: nick_name: "猫" is empty or there twice`, `persona card 夜猫: became the Persona persona-`,
		`persona card bad: prompt must be set; left out`,
	} {
		if !strings.Contains(said, want) {
			t.Errorf("no note says %q in\n%s", want, said)
		}
	}
	bot := r.Instances[0]
	data, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{"sk-secret-value", "ds-secret-value", "never-shown"} {
		if strings.Contains(said+string(data), secret) {
			t.Errorf("the value %s is shown", secret)
		}
	}
	text := string(data)
	for _, want := range []string{
		`"logLevel":"debug"`, `"type":"SQLite"`, `"historyLimit":80`, `"timeZone":"Asia/Shanghai"`, `"commandPrefix":"!"`,
		`"name":"tool-search","module":"tool-search","state":"Disabled"`, `{"platform":"onebot","userId":"12345678901"}`,
		`"deniedCapabilities":["tool:exec*"]`, `{"capability":"command:clear","minLevel":2}`,
		`{"capability":"tool:file_delete","confirm":"Always"}`, `{"capability":"tool:y","confirm":"Never"}`,
		`"preApproved":{"allow":["tool:*"],"durationSeconds":60}`,
		`"network":{"privateAddresses":"Allow","denyCIDRs":["10.0.0.0/8"],"allowedPorts":[443]}`,
		`"policy":"Only"`, `"stringData":{"api-key":""}`, `"prefer":[{"plugin":"`, `"id":"gpt-4o-mini"}]`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in %s", want, text)
		}
	}
	input := r.Input(&bot)
	input.Catalog, err = catalog.Default()
	if err != nil {
		t.Fatal(err)
	}
	composed := compose.Compose(input)
	if !composed.Deployable() || composed.Degraded() {
		t.Fatalf("cannot be deployed: %v", composed.Problems)
	}
	if composed.Config.Persona == nil || composed.Config.Persona.Name != "夜猫" || len(composed.Config.Personas) != 1 {
		t.Errorf("personas %+v %+v", composed.Config.Persona, composed.Config.Personas)
	}
	if len(composed.Secrets) != 2 || composed.Config.Authority == nil || len(composed.Config.Preferences) != 1 {
		t.Errorf("got %+v", composed.Config)
	}
}

func TestSecretValues(t *testing.T) {
	r := run(t, whole, func(s *convert.Source) { s.SecretValues, s.Name = true, "owl" })
	if r.Instances[0].Name != "owl" || len(r.Secrets) != 2 || r.Secrets[1].StringData["api-key"] != "sk-secret-value" {
		t.Errorf("got %s %+v", r.Instances[0].Name, r.Secrets)
	}
}

func TestStorage(t *testing.T) {
	tests := map[string]struct {
		config, want, note string
	}{
		"none":      {"plugins: {'@aalis/plugin-memory-inmemory': {maxSessions: 5}}", "null", ""},
		"redis":     {"plugins: {'@aalis/plugin-memory-redis': {address: 'redis.db.svc', db: 3}}", `{"type":"Redis","redis":{"address":"redis.db.svc:6379"}}`, "redis].db: has no place"},
		"redis url": {"plugins: {'@aalis/plugin-memory-redis': {address: 'rediss://u:pw@r:1/2'}}", `{"type":"Redis","redis":{"address":"r:1","passwordSecretRef":{"name":"aalis-redis","key":"password"},"transport":"TLS"}}`, "a user and a database number"},
		"no host":   {"plugins: {'@aalis/plugin-memory-redis': {}}", "null", "must be host:port"},
		"both":      {"plugins: {'@aalis/plugin-memory-redis': {address: r}, '@aalis/plugin-memory-sqlite': {}}", `{"type":"SQLite"}`, "a bot has one memory backend, and it is SQLite"},
		"off":       {"plugins: {'@aalis/plugin-memory-redis': {address: r}, '@aalis/plugin-memory-sqlite': {}}\ndisabledPlugins: ['@aalis/plugin-memory-sqlite']", `{"type":"Redis","redis":{"address":"r:6379"}}`, ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			r := run(t, tc.config, func(s *convert.Source) { s.Cards = nil })
			data, err := json.Marshal(r.Instances[0].Spec.Storage)
			if err != nil || string(data) != tc.want || !strings.Contains(notes(r), tc.note) || strings.Contains(notes(r), "result: ") {
				t.Errorf("got %s\n%s", data, notes(r))
			}
		})
	}
}

func TestMistakes(t *testing.T) {
	for text, want := range map[string]string{
		"- a": "must be a map at its top", "a: [": "is no YAML", "a: 1\na: 2": "already", "": "",
	} {
		_, err := convert.Convert(convert.Source{Config: []byte(text)})
		if said := fmt.Sprint(err); want == "" != (err == nil) || !strings.Contains(said, want) {
			t.Errorf("%q: got %v", text, err)
		}
	}
	said := notes(run(t, "name: 1\nlogLevel: loud\nplugins: []\ndisabledPlugins: x\nservicePreferences: x\nowners: x\nconfirmOverrides: x", nil))
	for _, key := range []string{"name: must", "logLevel: must", "plugins: must", "disabledPlugins: must", "servicePreferences: must", "owners: must", "confirmOverrides: must"} {
		if !strings.Contains(said, key) {
			t.Errorf("no note %q in\n%s", key, said)
		}
	}
}

var label = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)

// TestProperties: whatever the plugins are called, each gets a name of its own that the API takes.
func TestProperties(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		suffixes := rapid.SliceOfNDistinct(rapid.StringMatching(`[A-Za-z0-9_.猫 -]{1,80}`), 1, 6, rapid.ID).Draw(rt, "suffixes")
		plugins := map[string]any{}
		for i, s := range suffixes {
			plugins[[]string{"@aalis/plugin-llm-openai:", "@aalis/plugin-llm-ollama:"}[i%2]+s] = map[string]any{}
		}
		config, err := yaml.Marshal(map[string]any{"name": suffixes[0], "plugins": plugins})
		if err != nil {
			rt.Fatal(err)
		}
		r := run(t, string(config), nil)
		seen := map[string]bool{}
		for _, p := range r.Plugins {
			if !label.MatchString(p.Name) || seen[p.Name] {
				rt.Fatalf("name %q", p.Name)
			}
			seen[p.Name] = true
		}
		if len(seen) != len(suffixes) || len(r.Instances[0].Name) > 40 || !label.MatchString(r.Instances[0].Name) {
			rt.Fatalf("%v of %q, bot %s", seen, suffixes, r.Instances[0].Name)
		}
	})
}

// FuzzConvert: any text is converted or refused, and every object can be read again.
func FuzzConvert(f *testing.F) {
	f.Add(whole, "name: a\nprompt: b")
	f.Add("plugins: {agent: {defaultLLM: [1]}}", "outputFormat: {x: 1}")
	cat, err := catalog.Default()
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, config, card string) {
		r, err := convert.Convert(convert.Source{
			Config: []byte(config), Cards: []convert.Card{{Name: "c", Data: []byte(card)}}, Catalog: cat,
		})
		if err == nil && len(r.Instances) != 1 {
			t.Errorf("%d bots", len(r.Instances))
		}
	})
}
