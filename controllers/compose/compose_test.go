// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package compose

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
	"github.com/aalis-dev/aalis-operator/runtime/catalog"
	"github.com/aalis-dev/aalis-operator/runtime/kernelconfig"
)

// texts lists the problems as "Severity Reason: text".
func texts(r Result) []string {
	var out []string
	for _, p := range r.Problems {
		out = append(out, fmt.Sprintf("%s %s: %s", p.Severity, p.Reason, p))
	}
	return out
}

func TestProblems(t *testing.T) {
	llm := doc("Plugin", "main", "{module: llm-openai}")
	tests := map[string]struct {
		input string
		want  []string
	}{
		"name too long": {
			"kind: AgentInstance\nmetadata: {name: " + strings.Repeat("a", 41) + "}",
			[]string{"Error NameTooLong: AgentInstance " + strings.Repeat("a", 41) + ": metadata.name: may not be longer than 40 characters, got 41"},
		},
		"odd name": {
			"kind: AgentInstance\nmetadata: {name: My_Bot}",
			[]string{`Error InvalidSpec: AgentInstance My_Bot: metadata.name: must be a DNS label: lower case letters, digits and '-', got "My_Bot"`},
		},
		"drain timeout": {
			bot("{drainTimeoutSeconds: 601}"),
			[]string{"Error InvalidSpec: AgentInstance b: spec.drainTimeoutSeconds: must be between 0 and 600, got 601"},
		},
		"enumerations": {
			bot("{language: de, state: Halted, storage: {type: SQL}, plugins: [{name: agent, module: agent, state: Halted}]}"),
			[]string{
				`Error InvalidSpec: AgentInstance b: spec.language: must be one of "en", "zh-CN", got "de"`,
				`Error InvalidSpec: AgentInstance b: spec.plugins[agent].state: must be one of "Enabled", "Disabled", got "Halted"`,
				`Error InvalidSpec: AgentInstance b: spec.state: must be one of "Running", "Suspended", got "Halted"`,
				`Error InvalidSpec: AgentInstance b: spec.storage.type: must be one of "Memory", "Redis", "SQLite", got "SQL"`,
			},
		},
		"entry names": {
			bot("{plugins: [{name: A b, module: agent}, {name: x, module: agent}, {name: x, module: webui}]}"),
			[]string{
				`Error InvalidSpec: AgentInstance b: spec.plugins[A b].name: must be a DNS label: lower case letters, digits and '-', at most 63 characters, got "A b"`,
				"Error InvalidSpec: AgentInstance b: spec.plugins[x]: may not be listed twice",
			},
		},
		"config without module": {
			docs(llm, bot("{plugins: [{name: main, config: {}}]}")),
			[]string{"Error InvalidSpec: AgentInstance b: spec.plugins[main].config: needs module; to change the config of a Plugin object, edit that object"},
		},
		"plugin that is not there": {
			bot("{plugins: [{name: main}, {name: agent}], model: {plugin: main, id: x}}"),
			[]string{
				`Warning PluginNotFound: AgentInstance b: spec.plugins[agent]: there is no Plugin "agent" in namespace default; to configure the shipped module, add module: agent`,
				`Warning PluginNotFound: AgentInstance b: spec.plugins[main]: there is no Plugin "main" in namespace default`,
			},
		},
		"plugin of another namespace": {
			docs("kind: Plugin\nmetadata: {name: main, namespace: other}\nspec: {module: llm-openai}", bot("{plugins: [{name: main}]}")),
			[]string{`Warning PluginNotFound: AgentInstance b: spec.plugins[main]: there is no Plugin "main" in namespace default`},
		},
		"plugin declared twice": {
			docs(llm, llm, bot("{plugins: [{name: main}]}")),
			[]string{"Error InvalidSpec: Plugin main: metadata.name: may not be declared twice in namespace default"},
		},
		"plugin with no module and an odd state": {
			docs(doc("Plugin", "main", "{state: Halted}"), bot("{plugins: [{name: main}]}")),
			[]string{
				"Error InvalidSpec: Plugin main: spec.module: must be given",
				`Error InvalidSpec: Plugin main: spec.state: must be one of "Enabled", "Disabled", got "Halted"`,
			},
		},
		"unknown module": {
			bot("{plugins: [{name: x, module: agnet}]}"),
			[]string{`Error UnknownModule: AgentInstance b: spec.plugins[x].module: unknown module "agnet", the runtime image does not ship it; did you mean "agent"?`},
		},
		"unknown module turned off": {
			bot("{plugins: [{name: x, module: tool-serch, state: Disabled}]}"),
			[]string{`Warning UnknownModule: AgentInstance b: spec.plugins[x].module: unknown module "tool-serch", the runtime image does not ship it; did you mean "tool-search"?`},
		},
		"two plugins of a module that runs once": {
			docs(doc("Plugin", "one", "{module: webui, config: {title: x}}"), bot("{plugins: [{name: one}, {name: two, module: webui}]}")),
			[]string{"Error InvalidSpec: AgentInstance b: spec.plugins[two]: module @aalis/plugin-webui can run only once in a bot, and spec.plugins[one] already is it"},
		},
		"config is a list": {
			bot("{plugins: [{name: agent, module: agent, config: [1]}]}"),
			[]string{"Error InvalidConfig: AgentInstance b: spec.plugins[agent].config: must be an object, got array"},
		},
		"disabled plugins may be broken": {
			docs(doc("Plugin", "main", "{module: llm-openai, state: Disabled, config: {apiKey: x, temperature: 9}}"), bot("{plugins: [{name: main}]}")),
			[]string{
				"Info InvalidConfig: Plugin main: spec.config.apiKey: is a secret and may not be written here: put it into a Secret and name that in spec.secrets of a Plugin, with path: apiKey",
				"Info InvalidConfig: Plugin main: spec.config.temperature: must be at most 2, got 9",
			},
		},
		"secrets deep in lists": {
			bot("{plugins: [{name: agent, module: agent, config: {profiles: [{}, {token: x}]}}]}"),
			[]string{"Error InvalidConfig: AgentInstance b: spec.plugins[agent].config.profiles[1].token: is a secret and may not be written here: put it into a Secret and name that in spec.secrets of a Plugin, with path: profiles[1].token"},
		},
		"empty inline secret": {
			docs(doc("Plugin", "main", `{module: llm-openai, config: {apiKey: "", proxy: {password: p}}}`), bot("{plugins: [{name: main}]}")),
			[]string{
				"Error InvalidConfig: Plugin main: spec.config.apiKey: is a secret and may not be written here: put it into a Secret and name that in spec.secrets of a Plugin, with path: apiKey",
				"Error InvalidConfig: Plugin main: spec.config.proxy.password: is a secret and may not be written here: put it into a Secret and name that in spec.secrets of a Plugin, with path: proxy.password",
			},
		},
		"required secret of an inline plugin": {
			bot("{plugins: [{name: door, module: platform-openai}]}"),
			[]string{"Error InvalidConfig: AgentInstance b: spec.plugins[door].config.tokens: must come from a Secret: declare a Plugin of module @aalis/plugin-platform-openai with an entry in spec.secrets with path: tokens, and list that"},
		},
		"required secret that is given": {
			docs(doc("Plugin", "door", "{module: platform-openai, secrets: [{path: tokens, secretKeyRef: {name: n, key: k}}]}"), bot("{plugins: [{name: door}]}")), nil,
		},
		"secret paths": {
			docs(doc("Plugin", "main", "{module: llm-openai, secrets: [{path: apiKey, secretKeyRef: {name: n, key: ..}}, {path: apiKey, secretKeyRef: {name: n, key: k}}, {path: apikey, secretKeyRef: {name: n, key: k}}]}"), bot("{plugins: [{name: main}]}")),
			[]string{
				"Error InvalidConfig: Plugin main: spec.secrets[apiKey]: may not be listed twice",
				`Error InvalidConfig: Plugin main: spec.secrets[apiKey].secretKeyRef.key: must be a Secret key: letters, digits, '-', '_' and '.' only, got ".."`,
				`Error InvalidConfig: Plugin main: spec.secrets[apikey].path: module @aalis/plugin-llm-openai has no such config field, did you mean "apiKey"?`,
			},
		},
		"persona that is not there": {
			bot("{personaRef: {name: nobody}}"),
			[]string{`Error PersonaNotFound: AgentInstance b: spec.personaRef.name: namespace default has no Persona "nobody", it has none`},
		},
		"persona of another name": {
			docs(doc("Persona", "other", "{prompt: x}"), bot("{personaRef: {name: nobody}}")),
			[]string{`Error PersonaNotFound: AgentInstance b: spec.personaRef.name: namespace default has no Persona "nobody", it has "other"`},
		},
		"persona declared twice": {
			docs(doc("Persona", "p", "{prompt: x}"), doc("Persona", "p", "{prompt: y}"), bot("{personaRef: {name: p}}")),
			[]string{"Error InvalidSpec: Persona p: metadata.name: may not be declared twice in namespace default"},
		},
		"blank persona": {
			docs(doc("Persona", "p", `{prompt: " \n\t"}`), bot("{personaRef: {name: p}}")),
			[]string{"Error InvalidSpec: Persona p: spec.prompt: must not be blank: write who the bot is"},
		},
		"long persona": {
			docs(doc("Persona", "p", "{prompt: "+strings.Repeat("夜", 65537)+"}"), bot("{personaRef: {name: p}}")),
			[]string{"Error InvalidSpec: Persona p: spec.prompt: may not be longer than 65536 characters, got 65537"},
		},
		"longest persona": {
			docs(doc("Persona", "p", "{prompt: "+strings.Repeat("夜", 65536)+"}"), bot("{personaRef: {name: p}}")), nil,
		},
		"model with no id": {
			docs(llm, bot("{plugins: [{name: main}], model: {plugin: main}}")),
			[]string{"Error InvalidSpec: AgentInstance b: spec.model.id: must be given, for example gpt-4o-mini"},
		},
		"model of a plugin that is no provider": {
			bot("{model: {plugin: gateway, id: x}}"),
			[]string{`Error ModelNotFound: AgentInstance b: spec.model.plugin: plugin "gateway" (module @aalis/plugin-gateway) does not provide the service llm`},
		},
		"model of an unknown plugin": {
			bot("{model: {plugin: zzz, id: x}}"),
			[]string{`Error ModelNotFound: AgentInstance b: spec.model.plugin: the bot has no plugin "zzz", it has "agent", "gateway", "memory-inmemory", "persona", "tool-search"`},
		},
		"model of a disabled plugin": {
			docs(llm, bot("{plugins: [{name: main, state: Disabled}], model: {plugin: main, id: x}}")),
			[]string{`Warning ModelNotFound: AgentInstance b: spec.model.plugin: plugin "main" is disabled`},
		},
		"preferences": {
			docs(llm, doc("ServicePreference", "a", "{service: llm, selector: {}, prefer: [{plugin: main}, {plugin: agent, id: x}]}"),
				doc("ServicePreference", "m", "{service: memory, selector: {}, prefer: [{plugin: memory-inmemory}]}"),
				doc("ServicePreference", "s", "{service: llm, selector: {matchExpressions: [{key: a, operator: is}]}, prefer: [{plugin: main}]}"),
				doc("ServicePreference", "none", "{service: llm, prefer: [{plugin: main}]}"), bot("{plugins: [{name: main}]}")),
			[]string{
				`Warning InvalidSpec: ServicePreference a: spec.prefer[0].id: must be given for the service llm, where one plugin provides many models`,
				`Warning InvalidSpec: ServicePreference a: spec.prefer[1].plugin: plugin "agent" (module @aalis/plugin-agent) does not provide the service llm`,
				`Warning InvalidSpec: ServicePreference m: spec.service: the service memory is decided by spec.storage of the bot, not by preference`,
				`Warning InvalidSpec: ServicePreference s: spec.selector: must be a label selector: "is" is not a valid label selector operator`,
			},
		},
		"fallback of another service": {
			docs(doc("ServicePreference", "a", "{service: persona, selector: {}, prefer: [{plugin: persona}], fallbackOn: [Unavailable]}"), bot("{}")),
			[]string{
				"Warning InvalidSpec: ServicePreference a: spec.fallbackOn: may be given for the service llm only: calls of persona are not made again elsewhere",
			},
		},
		"preference declared twice": {
			docs(doc("ServicePreference", "a", "{service: llm, selector: {}, prefer: [{plugin: x}]}"), doc("ServicePreference", "a", "{service: platform, selector: {}, prefer: [{plugin: x}]}"), bot("{}")),
			[]string{
				"Error InvalidSpec: ServicePreference a: metadata.name: may not be declared twice in namespace default",
				"Info Unused: ServicePreference a: spec.prefer: none of the preferred plugins is part of AgentInstance b",
			},
		},
		"pod template": {
			docs(bot("{podTemplate: {labels: {aalis.dev/instance: x, a.aalis.dev/b: x, app.kubernetes.io/name: x, team: a}, annotations: {aalis.dev/x: y, ok: y}, imagePullSecrets: [{}]}}")),
			[]string{
				`Error InvalidSpec: AgentInstance b: spec.podTemplate.annotations: may not have keys of aalis.dev, which are the operator's own, got "aalis.dev/x"`,
				"Error InvalidSpec: AgentInstance b: spec.podTemplate.imagePullSecrets: must have a name in each entry, entry 1 has none",
				`Error InvalidSpec: AgentInstance b: spec.podTemplate.labels: may not have keys of aalis.dev and app.kubernetes.io, which are the operator's own, got "a.aalis.dev/b"`,
				`Error InvalidSpec: AgentInstance b: spec.podTemplate.labels: may not have keys of aalis.dev and app.kubernetes.io, which are the operator's own, got "aalis.dev/instance"`,
				`Error InvalidSpec: AgentInstance b: spec.podTemplate.labels: may not have keys of aalis.dev and app.kubernetes.io, which are the operator's own, got "app.kubernetes.io/name"`,
			},
		},
		"policy": {
			docs(doc("AuthorityPolicy", "p", `{selector: {}, owners: [{platform: x}], levels: [{platform: x, userId: y}], deniedCapabilities: [""], authorityOverrides: [{capability: c}], confirmOverrides: [{capability: c, confirm: always}]}`), bot("{}")),
			[]string{
				"Error InvalidSpec: AuthorityPolicy p: spec.authorityOverrides: must have capability and minLevel in each entry",
				`Error InvalidSpec: AuthorityPolicy p: spec.confirmOverrides: must have capability and confirm ("Session", "Always" or "Never") in each entry`,
				"Error InvalidSpec: AuthorityPolicy p: spec.deniedCapabilities: may not have empty entries",
				"Error InvalidSpec: AuthorityPolicy p: spec.levels: must have platform, userId and level in each entry",
				"Error InvalidSpec: AuthorityPolicy p: spec.owners: must have platform and userId in each entry",
			},
		},
		"policy declared twice": {
			docs(doc("AuthorityPolicy", "p", "{selector: {}}"), doc("AuthorityPolicy", "p", "{selector: {}}"), bot("{}")),
			[]string{"Error InvalidSpec: AuthorityPolicy p: metadata.name: may not be declared twice in namespace default"},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			r := Compose(load(t, tc.input))
			if d := cmp.Diff(tc.want, texts(r)); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			deployable, degraded := true, false
			for _, w := range tc.want {
				deployable = deployable && !strings.HasPrefix(w, "Error")
				degraded = degraded || strings.HasPrefix(w, "Warning")
			}
			if r.Deployable() != deployable || r.Degraded() != degraded || (r.Delivery.Revision != "") != deployable {
				t.Errorf("deployable %v, degraded %v, revision %q", r.Deployable(), r.Degraded(), r.Delivery.Revision)
			}
		})
	}
}

func TestNoInstance(t *testing.T) {
	if r := Compose(Input{}); r.Deployable() || r.Problems[0].String() != "AgentInstance: must be given" {
		t.Errorf("got %+v", r)
	}
}

func TestTooManyPlugins(t *testing.T) {
	in := load(t, bot("{}"))
	for i := range 65 {
		in.Instance.Spec.Plugins = append(in.Instance.Spec.Plugins, v1alpha1.InstancePlugin{Name: fmt.Sprint("p", i), Module: "llm-openai"})
	}
	want := []string{"Error InvalidSpec: AgentInstance b: spec.plugins: may not have more than 64 entries, got 65"}
	if d := cmp.Diff(want, texts(Compose(in))); d != "" {
		t.Error(d)
	}
}

func TestTooLarge(t *testing.T) {
	in := load(t, docs(doc("Plugin", "main", "{module: llm-openai}"), bot("{plugins: [{name: main}]}")))
	var text strings.Builder
	rng := rand.New(rand.NewPCG(1, 2))
	for text.Len() < 2*kernelconfig.MaxCompressedBytes {
		fmt.Fprintf(&text, "%x", rng.Uint64())
	}
	in.Plugins[0].Spec.Config = &runtime.RawExtension{Raw: fmt.Appendf(nil, `{"customModels":%q}`, text.String())}
	r := Compose(in)
	if len(r.Problems) != 1 || r.Problems[0].Reason != v1alpha1.ReasonConfigTooLarge || r.Deployable() || r.Delivery.Revision != "" {
		t.Fatalf("got %v", texts(r))
	}
	if got := r.Problems[0].String(); !strings.HasPrefix(got, "AgentInstance b: the composed config takes ") || !strings.HasSuffix(got, "it may take at most 409600") {
		t.Errorf("got %s", got)
	}
}

// TestDeletion: a Plugin that is being deleted is gone at once, a Persona that is being deleted stays, what selects bots
// and is being deleted no longer counts.
func TestDeletion(t *testing.T) {
	in := load(t, docs(
		doc("Plugin", "main", "{module: llm-openai}"), doc("Persona", "p", "{prompt: x}"),
		doc("ServicePreference", "s", "{service: llm, selector: {}, prefer: [{plugin: main, id: x}]}"),
		doc("AuthorityPolicy", "a", "{selector: {}, deniedCapabilities: [x]}"),
		bot("{plugins: [{name: main}], personaRef: {name: p}, model: {plugin: main, id: x}}"),
	))
	before := Compose(in)
	if len(before.Problems) > 0 || before.Config.Model == nil || len(before.Config.Preferences) != 1 || before.Config.Authority == nil {
		t.Fatalf("got %+v", before)
	}
	now := metav1.NewTime(time.Unix(1, 0))
	in.Plugins[0].DeletionTimestamp, in.Personas[0].DeletionTimestamp = &now, &now
	in.ServicePreferences[0].DeletionTimestamp, in.AuthorityPolicies[0].DeletionTimestamp = &now, &now
	after := Compose(in)
	want := []string{
		`Warning PluginNotFound: AgentInstance b: spec.plugins[main]: Plugin "main" is being deleted and no longer part of this bot`,
		"Info Deleting: Persona p: is being deleted and stays in effect for this bot until personaRef names another",
	}
	if d := cmp.Diff(want, texts(after)); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]Reference{{Kind: "Persona", Name: "p"}}, after.References); d != "" {
		t.Error(d)
	}
	if after.Config.Model != nil || after.Config.Preferences != nil || after.Config.Authority != nil || after.Config.Persona == nil || len(after.Config.Plugins) != 5 {
		t.Errorf("got %+v", after.Config)
	}
}

func TestModelReferences(t *testing.T) {
	r := Compose(load(t, docs(doc("Plugin", "main", "{module: llm-openai}"), bot(`{plugins: [{name: main}, {name: gone}, {name: agent, module: agent, config: {
		profiles: [{llm: {plugin: main, id: a}}, {llm: {id: b}}], byPlatform: {x: {plugin: "@aalis/plugin-llm-openai:main"}, w: {plugin: gone}, z: {}}}}]}`))))
	if !r.Deployable() {
		t.Fatal(texts(r))
	}
	const full = "@aalis/plugin-llm-openai:main"
	want := map[string]any{
		"profiles":   []any{map[string]any{"llm": map[string]any{"plugin": full, "id": "a"}}, map[string]any{"llm": map[string]any{"id": "b"}}},
		"byPlatform": map[string]any{"x": map[string]any{"plugin": full}, "w": map[string]any{"plugin": "gone"}, "z": map[string]any{}},
	}
	if d := cmp.Diff(want, r.Config.Plugins[0].Config); d != "" {
		t.Error(d)
	}
}

func TestStorageModuleMissing(t *testing.T) {
	in := load(t, bot("{}"))
	c, err := catalog.New([]catalog.Module{{Name: "@acme/own", OnByDefault: true}})
	if err != nil {
		t.Fatal(err)
	}
	in.Catalog = c
	want := []string{"Error UnknownModule: AgentInstance b: spec.storage.type: Memory needs the module @aalis/plugin-memory-inmemory, which the runtime image does not ship"}
	r := Compose(in)
	if d := cmp.Diff(want, texts(r)); d != "" {
		t.Error(d)
	}
	if len(r.Config.Plugins) != 1 || r.Config.Plugins[0].ID != "@acme/own" {
		t.Errorf("got %+v", r.Config.Plugins)
	}
}

// TestDynamicProvider: a module whose entries of a service come and go may be preferred for it.
func TestDynamicProvider(t *testing.T) {
	in := load(t, docs(doc("Plugin", "main", "{module: llm-openai}"),
		doc("ServicePreference", "s", "{service: llm, selector: {}, prefer: [{plugin: main, id: x}]}"),
		bot("{plugins: [{name: main}], model: {plugin: main, id: x}}")))
	for i := range in.Catalog.Modules {
		if in.Catalog.Modules[i].Name == "@aalis/plugin-llm-openai" {
			in.Catalog.Modules[i].Provides, in.Catalog.Modules[i].MayProvide = nil, []string{"llm"}
		}
	}
	r := Compose(in)
	if len(r.Problems) > 0 || r.Config.Model == nil || len(r.Config.Preferences) != 1 {
		t.Errorf("got %v, %+v", texts(r), r.Config)
	}
}

func TestSummary(t *testing.T) {
	var ps []Problem
	for i := range 5 {
		ps = append(ps, Problem{Object: fmt.Sprint("Plugin p", i), Path: "spec.x", Message: strings.Repeat("夜", 20)})
	}
	if Summary(nil, 100) != "" {
		t.Error("no problems, no text")
	}
	if got := Summary(ps[:1], 256); got != ps[0].String() || ps[0].Error() != got {
		t.Errorf("got %q", got)
	}
	if got := Summary(ps, 1024); strings.Count(got, "; ") != 4 || strings.Contains(got, "more") {
		t.Errorf("got %q", got)
	}
	got := Summary(ps, 110)
	if n := len([]rune(got)); n > 110 || !strings.HasSuffix(got, "; and 3 more") {
		t.Errorf("%d characters: %q", n, got)
	}
	if got := Summary(ps[:1], 40); !strings.HasSuffix(got, "...") || len([]rune(got)) > 40 {
		t.Errorf("got %q", got)
	}
}
