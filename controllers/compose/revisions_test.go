// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package compose

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"pgregory.net/rapid"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
)

// revised is an input of a bot that uses the Persona owl and the Plugin main, of which there are three revisions each.
func revised(t testing.TB, spec string) Input {
	t.Helper()
	in := load(t, docs(
		doc("Persona", "owl", "{prompt: now}"),
		doc("Plugin", "main", `{module: llm-openai, config: {baseUrl: "http://now.example"}}`),
		bot("{personaRef: {name: owl}, plugins: [{name: main}], "+spec+"}"),
	))
	for n := int64(1); n <= 3; n++ {
		text := []string{"", "first", "second", "now"}[n]
		in.Revisions = append(in.Revisions,
			Revision{Kind: "Persona", Name: "owl", Number: n, Live: n == 3, Persona: &v1alpha1.PersonaSpec{Prompt: text}},
			Revision{Kind: "Plugin", Name: "main", Number: n + 10, Live: n == 3, Plugin: &v1alpha1.PluginSpec{
				Module: "llm-openai", Config: &runtime.RawExtension{Raw: []byte(`{"baseUrl":"http://` + text + `.example"}`)},
			}},
		)
	}
	return in
}

func TestPins(t *testing.T) {
	ref := func(kind, name string, n int64) Reference { return Reference{Kind: kind, Name: name, Revision: n} }
	cases := map[string]struct {
		spec     string
		held     []Held
		prompt   string
		refs     []Reference
		pins     []PinState
		problems []string
	}{
		"no pin": {
			"pin: []", nil, "now", []Reference{ref("Persona", "owl", 3), ref("Plugin", "main", 13)}, nil, nil,
		},
		"pinned": {
			"pin: [{kind: Persona, name: owl, revision: 1, overRevision: 3}]", nil, "first",
			[]Reference{ref("Persona", "owl", 1), ref("Plugin", "main", 13)},
			[]PinState{{Kind: "Persona", Name: "owl", Revision: 1, Newest: 3}}, nil,
		},
		"pinned for good": {
			"pin: [{kind: Plugin, name: main, revision: 12}]", nil, "now",
			[]Reference{ref("Persona", "owl", 3), ref("Plugin", "main", 12)},
			[]PinState{{Kind: "Plugin", Name: "main", Revision: 12, Newest: 13}}, nil,
		},
		"lapsed": {
			"pin: [{kind: Persona, name: owl, revision: 1, overRevision: 2}]", nil, "now",
			[]Reference{ref("Persona", "owl", 3), ref("Plugin", "main", 13)},
			[]PinState{{Kind: "Persona", Name: "owl", Revision: 1, Newest: 3, Lapsed: v1alpha1.ReasonSourceChanged}}, nil,
		},
		"of what the bot does not use": {
			"pin: [{kind: Persona, name: lark, revision: 1}]", nil, "now",
			[]Reference{ref("Persona", "owl", 3), ref("Plugin", "main", 13)},
			[]PinState{{Kind: "Persona", Name: "lark", Revision: 1, Lapsed: v1alpha1.ReasonNotUsed}}, nil,
		},
		"held by a roll-out": {
			"pin: []", []Held{{"Persona", "owl", 2}}, "second", []Reference{ref("Persona", "owl", 2), ref("Plugin", "main", 13)}, nil, nil,
		},
		"a pin goes over a roll-out": {
			"pin: [{kind: Persona, name: owl, revision: 1}]", []Held{{"Persona", "owl", 2}}, "first",
			[]Reference{ref("Persona", "owl", 1), ref("Plugin", "main", 13)},
			[]PinState{{Kind: "Persona", Name: "owl", Revision: 1, Newest: 3}}, nil,
		},
		"no such revision": {
			"pin: [{kind: Plugin, name: main, revision: 1}]", nil, "now", []Reference{ref("Persona", "owl", 3)},
			[]PinState{{Kind: "Plugin", Name: "main", Revision: 1, Newest: 13}},
			[]string{`Error RevisionNotFound: AgentInstance b: spec.pin[Plugin/main].revision: Plugin "main" has no revision 1; it has 11, 12, 13`},
		},
		"nonsense": {
			"pin: [{kind: Secret, name: owl, revision: 1}, {kind: Persona, name: owl}, {kind: Plugin, name: x, revision: 1, overRevision: 0}]", nil, "now",
			[]Reference{ref("Persona", "owl", 3), ref("Plugin", "main", 13)},
			[]PinState{{Kind: "Plugin", Name: "x", Revision: 1, Lapsed: v1alpha1.ReasonNotUsed}, {Kind: "Secret", Name: "owl", Revision: 1, Lapsed: v1alpha1.ReasonNotUsed}},
			[]string{
				"Error InvalidSpec: AgentInstance b: spec.pin[Persona/owl].revision: must be given and at least 1",
				"Error InvalidSpec: AgentInstance b: spec.pin[Plugin/x].overRevision: must be at least 1, got 0",
				`Error InvalidSpec: AgentInstance b: spec.pin[Secret/owl].kind: must be one of "Persona", "Plugin", got "Secret"`,
			},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			in := revised(t, c.spec)
			in.Held = c.held
			r := Compose(in)
			if d := cmp.Diff(c.problems, texts(r)); d != "" {
				t.Errorf("problems (-want +got):\n%s", d)
			}
			if d := cmp.Diff(c.refs, r.References); d != "" {
				t.Errorf("references (-want +got):\n%s", d)
			}
			if d := cmp.Diff(c.pins, r.Pins); d != "" {
				t.Errorf("pins (-want +got):\n%s", d)
			}
			if r.Config.Persona == nil || r.Config.Persona.Prompt != c.prompt {
				t.Errorf("persona = %+v, want %q", r.Config.Persona, c.prompt)
			}
		})
	}
}

// TestRevisionsInAnyOrder: the order of revisions and pins does not matter, and a pinned revision gives the very bytes that
// the object gave when it was that.
func TestRevisionsInAnyOrder(t *testing.T) {
	base := revised(t, "pin: [{kind: Persona, name: owl, revision: 2, overRevision: 3}, {kind: Plugin, name: main, revision: 11}]")
	want := Compose(base)
	then := revised(t, "pin: []")
	then.Personas[0].Spec = *base.Revisions[2].Persona
	then.Plugins[0].Spec = *base.Revisions[1].Plugin
	if before := Compose(then); !slices.Equal(before.Delivery.Data, want.Delivery.Data) || before.Delivery.Revision != want.Delivery.Revision {
		t.Errorf("pinned gives revision %s, the objects themselves gave %s", want.Delivery.Revision, before.Delivery.Revision)
	}
	rapid.Check(t, func(t *rapid.T) {
		in := base
		in.Instance = base.Instance.DeepCopy()
		in.Revisions = shuffled(t, base.Revisions)
		in.Instance.Spec.Pin = shuffled(t, in.Instance.Spec.Pin)
		got := Compose(in)
		got.Instance = want.Instance // it is the declared one, whose list was shuffled
		if d := cmp.Diff(want, got); d != "" {
			t.Fatalf("-want +got:\n%s", d)
		}
	})
}
