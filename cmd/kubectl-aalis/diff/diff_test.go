// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package diff_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
	"github.com/aalis-dev/aalis-operator/cmd/kubectl-aalis/cluster"
	"github.com/aalis-dev/aalis-operator/cmd/kubectl-aalis/diff"
	"github.com/aalis-dev/aalis-operator/cmd/kubectl-aalis/files"
	"github.com/aalis-dev/aalis-operator/controllers/compose"
	"github.com/aalis-dev/aalis-operator/runtime/catalog"
	"github.com/aalis-dev/aalis-operator/runtime/kernelconfig"
)

const base = `
apiVersion: aalis.dev/v1alpha1
kind: Plugin
metadata: {name: main}
spec:
  module: llm-openai
  config: {baseUrl: http://llm.example, customModels: small}
  secrets: [{path: apiKey, secretKeyRef: {name: llm, key: api-key}}]
---
apiVersion: aalis.dev/v1alpha1
kind: Persona
metadata: {name: owl}
spec:
  prompt: |
    You are an owl.
    You speak at night.
    You are calm.
---
apiVersion: aalis.dev/v1alpha1
kind: AgentInstance
metadata: {name: hello}
spec:
  model: {plugin: main, id: small}
  personaRef: {name: owl}
  plugins: [{name: main}]
`

func load(t testing.TB, text string) cluster.Objects {
	t.Helper()
	path := filepath.Join(t.TempDir(), "bots.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	set, err := files.Load(files.Source{Paths: []string{path}, Namespace: "team-a"})
	if err != nil {
		t.Fatal(err)
	}
	return set.Objects
}

func modules(t testing.TB) catalog.Catalog {
	t.Helper()
	c, err := catalog.Default()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestBots(t *testing.T) {
	const another = "\n---\napiVersion: aalis.dev/v1alpha1\nkind: AgentInstance\nmetadata: {name: other}\n" +
		"spec: {personaRef: {name: owl}}\n"
	tests := map[string]struct {
		before, after string
		effects       string
		// want are parts of the text, never are texts that must not be there.
		want, never []string
	}{
		"nothing": {before: base, after: base, effects: ""},
		"defaults of admission are no change": {
			before: strings.Replace(base, "spec:\n  model", "spec:\n  state: Running\n  logLevel: info\n  drainTimeoutSeconds: 60\n  model", 1),
			after:  base, effects: "",
		},
		"a line of the persona, in two bots": {
			before: base + another, after: strings.Replace(base, "at night", "by day", 1) + another,
			effects: "hello=Reload other=Reload",
			want: []string{
				"AgentInstance team-a/hello: Reload (taken over while it runs)", "  Reload   persona",
				"-  You speak at night.\n", "+  You speak by day.\n", "   You are an owl.\n", "persona owl: as for team-a/hello",
			},
			never: []string{"plugin  ", ": config ("},
		},
		"config of a plugin": {
			before: base, after: strings.Replace(base, "small}\n  secrets", "\"small,big\"}\n  secrets", 1), effects: "hello=Reload",
			want: []string{"plugin   @aalis/plugin-llm-openai:main reconfigured", "-    customModels: small\n", "+    customModels: small,big\n"},
		},
		"another Secret key": {
			before: base, after: strings.Replace(base, "key: api-key", "key: other", 1), effects: "hello=Restart",
			want: []string{"Restart  mounted Secret keys: +llm/other -llm/api-key", "plugin   @aalis/plugin-llm-openai:main reconfigured"},
		},
		"image": {
			before: base, after: strings.Replace(base, "spec:\n  model", "spec:\n  image: x/y:1\n  model", 1), effects: "hello=Restart",
			want: []string{"Restart  image"},
		},
		"a plugin is turned off": {
			before: base, after: strings.Replace(base, "[{name: main}]", "[{name: main}, {name: tool-search, module: tool-search, state: Disabled}]", 1),
			effects: "hello=Reload", want: []string{"@aalis/plugin-tool-search disabled"},
		},
		"what others need is gone": {
			before: base, after: strings.Replace(base, "[{name: main}]", "[{name: main}, {name: gateway, module: gateway, state: Disabled}]", 1),
			effects: "hello=Reload", want: []string{"@aalis/plugin-gateway disabled", "@aalis/plugin-commands waiting: waiting for"},
		},
		"new bot":  {before: base, after: base + another, effects: "other=Create", want: []string{"(a new bot)"}},
		"gone bot": {before: base + another, after: base, effects: "other=Delete", want: []string{"(is removed)"}},
		"a mistake": {
			before: base, after: strings.Replace(base, "customModels: small", "customModel: small", 1), effects: "hello=Refused",
			want:  []string{"what runs would go on", `Plugin main: spec.config.customModel: unknown key, did you mean "customModels"?`},
			never: []string{"+++"},
		},
		"the mistake stays": {
			before: strings.Replace(base, "customModels: small", "customModel: small", 1),
			after:  strings.Replace(base, "customModels: small", "customModel: small", 1), effects: "",
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			bots := diff.Bots(diff.Input{Before: load(t, tc.before), After: load(t, tc.after), Catalog: modules(t)})
			var effects []string
			for _, b := range bots {
				effects = append(effects, b.Name+"="+string(b.Effect))
			}
			if got := strings.Join(effects, " "); got != tc.effects {
				t.Errorf("effects: got %q, want %q", got, tc.effects)
			}
			var b strings.Builder
			if err := diff.Print(&b, bots, nil); err != nil {
				t.Fatal(err)
			}
			for _, want := range tc.want {
				if !strings.Contains(b.String(), want) {
					t.Errorf("no %q in\n%s", want, b.String())
				}
			}
			for _, never := range tc.never {
				if strings.Contains(b.String(), never) {
					t.Errorf("%q is in\n%s", never, b.String())
				}
			}
		})
	}
}

// TestRunningIsTheBase: what the cluster declares makes no config, so what runs is what a repair is compared with.
func TestRunningIsTheBase(t *testing.T) {
	after := load(t, base)
	broken := load(t, strings.Replace(base, "customModels: small", "customModel: small", 1))
	key := types.NamespacedName{Namespace: "team-a", Name: "hello"}
	input := after.Input(&after.Instances[0])
	input.Catalog = modules(t)
	running := compose.Compose(input).Config
	bots := diff.Bots(diff.Input{
		Before: broken, After: after, Catalog: modules(t), Running: map[types.NamespacedName]kernelconfig.Config{key: running},
	})
	if len(bots) != 1 || bots[0].Effect != diff.Reload || len(bots[0].Plugins) != 0 || len(bots[0].Diffs) != 0 {
		t.Errorf("got %+v", bots)
	}
}

func TestOverlay(t *testing.T) {
	live := load(t, base)
	note := func(in v1alpha1.AgentInstance) v1alpha1.AgentInstance {
		data, err := json.Marshal(in)
		if err != nil {
			t.Fatal(err)
		}
		in.Annotations = map[string]string{corev1.LastAppliedConfigAnnotation: string(data)}
		return in
	}
	change := func(in v1alpha1.AgentInstance, f func(*v1alpha1.AgentInstance)) v1alpha1.AgentInstance {
		out := *in.DeepCopy()
		f(&out)
		return out
	}
	bot := live.Instances[0]
	bot.Labels = map[string]string{"tier": "shared"}
	applied := note(bot)
	managed := change(bot, func(b *v1alpha1.AgentInstance) {
		b.Spec.LogLevel = "debug"
		b.Spec.Language = "zh-CN"
		b.ManagedFields = []metav1.ManagedFieldsEntry{{
			Manager: "kubectl-aalis-rollback", FieldsV1: metav1.NewFieldsV1(`{"f:spec":{".":{},"f:logLevel":{}}}`),
		}}
	})
	tests := map[string]struct {
		live, file v1alpha1.AgentInstance
		want       func(*v1alpha1.AgentInstance)
	}{
		"what the file no longer has goes": {
			live: applied, file: change(bot, func(b *v1alpha1.AgentInstance) { b.Spec.PersonaRef, b.Labels = nil, nil }),
			want: func(b *v1alpha1.AgentInstance) { b.Spec.PersonaRef, b.Labels = nil, nil },
		},
		"what others set stays": {
			live: change(applied, func(b *v1alpha1.AgentInstance) { b.Spec.LogLevel = "debug" }), file: bot,
			want: func(b *v1alpha1.AgentInstance) { b.Spec.LogLevel = "debug" },
		},
		"no note: replaced, except for what is kept": {
			live: managed, file: bot, want: func(b *v1alpha1.AgentInstance) { b.Spec.LogLevel = "debug" },
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := diff.Overlay(
				cluster.Objects{Instances: []v1alpha1.AgentInstance{tc.live}, Personas: live.Personas},
				cluster.Objects{Instances: []v1alpha1.AgentInstance{tc.file}, Plugins: live.Plugins}, "kubectl-aalis-rollback")
			if err != nil {
				t.Fatal(err)
			}
			if len(got.Instances) != 1 || len(got.Personas) != 1 || len(got.Plugins) != 1 {
				t.Fatalf("got %+v", got)
			}
			want := change(bot, tc.want)
			have, err := json.Marshal([]any{got.Instances[0].Spec, got.Instances[0].Labels})
			if err != nil {
				t.Fatal(err)
			}
			expected, err := json.Marshal([]any{want.Spec, want.Labels})
			if err != nil {
				t.Fatal(err)
			}
			if string(have) != string(expected) {
				t.Errorf("got  %s\nwant %s", have, expected)
			}
		})
	}
}

// TestProperties: a set has no difference to itself, a difference one way is one the other way, and the lines of the
// unified diff are those of the two prompts.
func TestProperties(t *testing.T) {
	cat := modules(t)
	objects := load(t, base)
	rapid.Check(t, func(rt *rapid.T) {
		prompts := rapid.SliceOfN(rapid.StringMatching(`[a-z\n 猫]{1,40}x`), 2, 2).Draw(rt, "prompts")
		var sets []cluster.Objects
		for _, p := range prompts {
			o := objects
			o.Personas = []v1alpha1.Persona{*objects.Personas[0].DeepCopy()}
			o.Personas[0].Spec.Prompt = p
			sets = append(sets, o)
		}
		forth := diff.Bots(diff.Input{Before: sets[0], After: sets[1], Catalog: cat})
		back := diff.Bots(diff.Input{Before: sets[1], After: sets[0], Catalog: cat})
		if same := prompts[0] == prompts[1]; same != (len(forth) == 0) || len(forth) != len(back) {
			rt.Fatalf("%q: %v and %v", prompts, forth, back)
		}
		for _, b := range forth {
			if b.Effect != diff.Reload || fmt.Sprint(b.Reasons) != "[{Reload persona}]" {
				rt.Fatalf("got %+v", b)
			}
		}
	})
}
