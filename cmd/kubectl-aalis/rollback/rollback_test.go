// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package rollback_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
	"github.com/aalis-dev/aalis-operator/cmd/kubectl-aalis/cluster"
	"github.com/aalis-dev/aalis-operator/cmd/kubectl-aalis/rollback"
)

var (
	owl   = rollback.Source{Kind: "Persona", Name: "owl"}
	llm   = rollback.Source{Kind: "Plugin", Name: "main"}
	start = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
)

func kept(source rollback.Source, revision int64, minutes int, spec string) *appsv1.ControllerRevision {
	return &appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "team-a", Name: fmt.Sprintf("aalis-%s-%s-%d", strings.ToLower(source.Kind), source.Name, revision),
			Labels:            map[string]string{"aalis.dev/revision-of-kind": source.Kind, "aalis.dev/revision-of-name": source.Name},
			OwnerReferences:   []metav1.OwnerReference{{APIVersion: "aalis.dev/v1alpha1", Kind: source.Kind, Name: source.Name, UID: "u"}},
			CreationTimestamp: metav1.NewTime(start.Add(time.Duration(minutes) * time.Minute)),
		},
		Revision: revision, Data: runtime.RawExtension{Raw: []byte(spec)},
	}
}

func newClient(t *testing.T, funcs interceptor.Funcs, objects ...client.Object) client.Client {
	t.Helper()
	scheme, err := cluster.NewScheme()
	if err != nil {
		t.Fatal(err)
	}
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithInterceptorFuncs(funcs).Build()
}

func TestListAndChoose(t *testing.T) {
	c := newClient(t, interceptor.Funcs{},
		kept(owl, 1, 0, `{"prompt":"a\nb\nc"}`), kept(owl, 2, 10, `{"prompt":"a\nx\nc\nd","traits":["calm"]}`), kept(owl, 12, 20, `{"prompt":"z"}`),
		kept(llm, 3, 5, `{"config":{"baseUrl":"x","temperature":1}}`), kept(llm, 4, 30, `{"config":{"baseUrl":"y"}}`),
		kept(rollback.Source{Kind: "Persona", Name: "other"}, 7, 60, `{}`))
	sources := []rollback.Source{owl, llm}
	list := func(pins ...rollback.Pin) []rollback.Revision {
		revisions, err := rollback.List(t.Context(), c, "team-a", sources, pins)
		if err != nil {
			t.Fatal(err)
		}
		return revisions
	}
	var got []string
	for _, r := range list(rollback.Pin{Source: owl, Revision: 2, OverRevision: 12}) {
		got = append(got, fmt.Sprintf("%s %d newest=%v effective=%v pinned=%v %s", r.Source, r.Revision, r.Newest, r.Effective, r.Pinned, r.Summary))
	}
	want := []string{
		"persona/owl 12 newest=true effective=false pinned=false prompt (+1 -4 lines), traits (gone)",
		"persona/owl 2 newest=false effective=true pinned=true prompt (+2 -1 lines), traits (new)",
		"persona/owl 1 newest=false effective=false pinned=false the oldest that is kept",
		"plugin/main 4 newest=true effective=true pinned=false config.baseUrl, config.temperature (gone)",
		"plugin/main 3 newest=false effective=false pinned=false the oldest that is kept",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	tests := map[string]struct {
		pins     []rollback.Pin
		source   *rollback.Source
		revision int64
		want     string
	}{
		"the latest change of all":    {want: "plugin/main 3 over 4"},
		"of one":                      {source: &owl, want: "persona/owl 2 over 12"},
		"a revision":                  {source: &owl, revision: 1, want: "persona/owl 1 over 12"},
		"one further back":            {pins: []rollback.Pin{{Source: owl, Revision: 2, OverRevision: 12}}, source: &owl, want: "persona/owl 1 over 12"},
		"the latest is at its oldest": {pins: []rollback.Pin{{Source: llm, Revision: 3, OverRevision: 4}}, want: "persona/owl 2 over 12"},
		"a lapsed pin does not count": {pins: []rollback.Pin{{Source: owl, Revision: 1, OverRevision: 2}}, source: &owl, want: "persona/owl 2 over 12"},
		"no such revision":            {source: &owl, revision: 5, want: "persona/owl has no revision 5; there is 12, 2, 1"},
		"nothing before": {pins: []rollback.Pin{{Source: llm, Revision: 3}}, source: &llm,
			want: "plugin/main has no revision before that in effect; there is 4, 3"},
		"not used": {source: &rollback.Source{Kind: "Persona", Name: "other"}, want: "no revision of persona/other is kept, or this bot does not use it"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			pin, err := rollback.Choose(list(tc.pins...), tc.source, tc.revision)
			text := fmt.Sprintf("%s %d over %d", pin.Source, pin.Revision, pin.OverRevision)
			if err != nil {
				text = err.Error()
			}
			if text != tc.want {
				t.Errorf("got %q, want %q", text, tc.want)
			}
		})
	}
	if _, err := rollback.Choose(nil, nil, 0); err == nil || !strings.Contains(err.Error(), "has an earlier revision") {
		t.Errorf("got %v", err)
	}
}

// TestApply: what is written is the pins of this command and nothing else.
func TestApply(t *testing.T) {
	var said string
	c := newClient(t, interceptor.Funcs{Apply: func(_ context.Context, _ client.WithWatch, obj runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
		o := (&client.ApplyOptions{}).ApplyOptions(opts)
		data, err := json.Marshal(obj)
		said = fmt.Sprintf("%s force=%v dry=%v %s", o.FieldManager, *o.Force, o.DryRun, data)
		return err
	}})
	bot := &v1alpha1.AgentInstance{ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "hello", UID: "7"}}
	const head = `{"apiVersion":"aalis.dev/v1alpha1","kind":"AgentInstance","metadata":{"name":"hello","namespace":"team-a","uid":"7"}`
	git := rollback.Pin{Source: llm, Revision: 1}
	pins := rollback.With([]rollback.Pin{git}, rollback.Pin{Source: owl, Revision: 2, OverRevision: 12})
	for _, tc := range []struct {
		pins []rollback.Pin
		dry  bool
		want string
	}{
		{pins, false, "dry=[] " + head + `,"spec":{"pin":[{"kind":"Persona","name":"owl","overRevision":12,"revision":2}]}}`},
		{rollback.With(pins, rollback.Pin{Source: owl, Revision: 1}), true,
			"dry=[All] " + head + `,"spec":{"pin":[{"kind":"Persona","name":"owl","revision":1}]}}`},
		{rollback.Without(pins, nil), false, "dry=[] " + head + "}"},
	} {
		if err := rollback.Apply(t.Context(), c, bot, tc.pins, tc.dry); err != nil {
			t.Fatal(err)
		}
		if want := "kubectl-aalis-rollback force=true " + tc.want; said != want {
			t.Errorf("got  %s\nwant %s", said, want)
		}
	}
	if left := rollback.Without(pins, nil); len(left) != 1 || left[0] != git {
		t.Errorf("a pin of somebody else went: %+v", left)
	}
}

func TestSources(t *testing.T) {
	in := &v1alpha1.AgentInstance{
		Spec: v1alpha1.AgentInstanceSpec{
			PersonaRef: &v1alpha1.LocalReference{Name: "owl"}, Personas: []v1alpha1.LocalReference{{Name: "cat"}},
			Plugins: []v1alpha1.InstancePlugin{{Name: "main"}, {Name: "agent", Module: "agent"}},
		},
		Status: v1alpha1.AgentInstanceStatus{Inputs: []v1alpha1.InputStatus{{Kind: "Plugin", Name: "selected"}, {Kind: "AuthorityPolicy", Name: "x"}, {Kind: "Persona", Name: "owl"}}},
	}
	if got := fmt.Sprint(rollback.Sources(in)); got != "[persona/cat persona/owl plugin/main plugin/selected]" {
		t.Errorf("got %s", got)
	}
	for text, want := range map[string]string{"persona/owl": "persona/owl", "Plugin/main": "plugin/main", "owl": "must be", "persona/": "must be", "pod/x": "must be"} {
		got, err := rollback.ParseSource(text)
		if said := got.String() + fmt.Sprint(err); !strings.Contains(said, want) {
			t.Errorf("%s: got %s", text, said)
		}
	}
}

// TestSummaryProperties: a spec does not differ from itself, and any text is answered.
func TestSummaryProperties(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		spec := func(name string) []byte {
			data, err := json.Marshal(rapid.MapOfN(rapid.StringN(1, 5, -1), rapid.String(), 0, 8).Draw(rt, name))
			if err != nil {
				rt.Fatal(err)
			}
			return data
		}
		a, b := spec("a"), spec("b")
		if rollback.Summary(a, a) != "no change" || (rollback.Summary(a, b) == "no change") != (string(a) == string(b)) {
			rt.Fatalf("%s %s: %s", a, b, rollback.Summary(a, b))
		}
	})
	if got := rollback.Summary([]byte("{"), nil); got != "cannot be read" {
		t.Errorf("got %q", got)
	}
}
