// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package compose

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestPersonaProblems(t *testing.T) {
	persona := func(spec string) string {
		return docs(doc("Persona", "p", "{prompt: x, "+spec+"}"), bot("{personaRef: {name: p}}"))
	}
	many := make([]string, 33)
	for i := range many {
		many[i] = fmt.Sprintf("{name: f%d, role: Reply}", i)
	}
	refs := make([]string, 17)
	for i := range refs {
		refs[i] = "{name: p}"
	}
	const object = "Error InvalidSpec: Persona p: spec."
	for name, tc := range map[string]struct {
		input string
		want  []string
	}{
		"no reply field": {
			persona("outputFormat: {fields: [{name: a}]}"),
			[]string{object + "outputFormat.fields: must have a field with role: Reply, which is the text that is sent"},
		},
		"enumerations": {
			persona("rendering: Server, skills: {policy: Some}, outputFormat: {retries: 11, fields: [{name: a, role: Reply}, {name: b, type: Int, role: Odd}]}"),
			[]string{
				object + `outputFormat.fields[b].role: must be one of "Reply", "State", got "Odd"`,
				object + `outputFormat.fields[b].type: must be one of "String", "Number", "Boolean", got "Int"`,
				object + "outputFormat.retries: must be between 0 and 10, got 11",
				object + `rendering: must be one of "Bot", "Client", got "Server"`,
				object + `skills.policy: must be one of "All", "Only", got "Some"`,
			},
		},
		"names": {
			persona(`skills: {policy: All, names: [x]}, outputFormat: {fields: [{name: a, role: Reply}, {name: a}, {name: " "}]}`),
			[]string{
				object + "outputFormat.fields[2].name: must not be blank",
				object + "outputFormat.fields[a]: may not be listed twice",
				object + "skills.names: may only be given with policy: Only",
			},
		},
		"too many fields": {
			persona("outputFormat: {fields: [" + strings.Join(many, ", ") + "]}"),
			[]string{object + "outputFormat.fields: may not have more than 32 entries, got 33"},
		},
		"several reply fields": {persona("outputFormat: {fields: [{name: a, role: Reply}, {name: b, role: Reply}]}"), nil},
		"a further persona that is not there": {
			docs(doc("Persona", "p", "{prompt: x}"), bot("{personas: [{name: p}, {name: q}]}")),
			[]string{`Error PersonaNotFound: AgentInstance b: spec.personas[q].name: namespace default has no Persona "q", did you mean "p"?`},
		},
		"listed twice": {
			docs(doc("Persona", "p", "{prompt: x}"), bot("{personas: [{name: p}, {name: p}]}")),
			[]string{"Error InvalidSpec: AgentInstance b: spec.personas[p]: may not be listed twice"},
		},
		"a further persona that is unfit": {
			docs(doc("Persona", "p", `{prompt: " "}`), bot("{personas: [{name: p}]}")),
			[]string{object + "prompt: must not be blank: write who the bot is"},
		},
	} {
		if d := cmp.Diff(tc.want, texts(Compose(load(t, tc.input)))); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
	r := Compose(load(t, docs(doc("Persona", "p", "{prompt: x}"), bot("{personas: ["+strings.Join(refs, ", ")+"]}"))))
	if got := texts(r)[0]; got != "Error InvalidSpec: AgentInstance b: spec.personas: may not have more than 16 entries, got 17" {
		t.Errorf("got %s", got)
	}
}

// TestAFurtherPersonaThatIsBeingDeletedStays, as the bot's own one does.
func TestAFurtherPersonaThatIsBeingDeletedStays(t *testing.T) {
	in := load(t, docs(doc("Persona", "p", "{prompt: x}"), bot("{personas: [{name: p}]}")))
	now := metav1.NewTime(time.Unix(1, 0))
	in.Personas[0].DeletionTimestamp = &now
	r := Compose(in)
	want := []string{"Info Deleting: Persona p: is being deleted and stays in effect for this bot until personas name another"}
	if d := cmp.Diff(want, texts(r)); d != "" || len(r.Config.Personas) != 1 || r.Config.Persona != nil {
		t.Errorf("got %+v\n%s", r.Config.Personas, d)
	}
}
