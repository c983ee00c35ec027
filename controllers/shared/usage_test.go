// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package shared

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
)

// user is a bot whose status says that it composed the Persona owl at a generation.
func user(name string, composed int64, revision, applied string, summary Summary) v1alpha1.AgentInstance {
	generation := int64(1)
	in := v1alpha1.AgentInstance{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "a", Generation: 1},
		Status:     v1alpha1.AgentInstanceStatus{Revision: revision, AppliedRevision: applied, ObservedGeneration: &generation},
	}
	if composed > 0 {
		in.Status.Inputs = []v1alpha1.InputStatus{{Kind: v1alpha1.KindPersona, Name: "owl", Generation: &composed}}
	}
	SetSummary(&in.Status.Conditions, 1, summary)
	return in
}

var (
	fine    = Summary{Ready: metav1.ConditionTrue, Reason: v1alpha1.ReasonActive}
	on      = Summary{Ready: metav1.ConditionFalse, Progress: Working, Reason: v1alpha1.ReasonWaitingForKernel}
	refused = Summary{Ready: metav1.ConditionFalse, Progress: Stuck, Reason: v1alpha1.ReasonRevisionRejected}
	asleep  = Summary{Ready: metav1.ConditionTrue, Reason: v1alpha1.ReasonSuspended}
)

func TestCountUsage(t *testing.T) {
	deleting := user("d", 2, "r2", "r2", fine)
	now := metav1.Now()
	deleting.DeletionTimestamp = &now
	fresh := v1alpha1.AgentInstance{ObjectMeta: metav1.ObjectMeta{Name: "n", Generation: 1}}
	changed := user("c", 1, "r1", "r1", refused)
	changed.Generation = 2
	cases := map[string]struct {
		users []v1alpha1.AgentInstance
		want  Usage
		ready metav1.ConditionStatus
		prog  Progress
	}{
		"nobody":                   {nil, Usage{}, metav1.ConditionTrue, Settled},
		"applied":                  {[]v1alpha1.AgentInstance{user("b", 2, "r2", "r2", fine)}, Usage{Selected: 1, Applied: []string{"b"}, Holding: []string{"b"}}, metav1.ConditionTrue, Settled},
		"not composed yet":         {[]v1alpha1.AgentInstance{user("b", 1, "r1", "r1", fine)}, Usage{Selected: 1, Waiting: []string{"b"}, Holding: []string{"b"}}, metav1.ConditionFalse, Working},
		"not acknowledged":         {[]v1alpha1.AgentInstance{user("b", 2, "r2", "r1", on)}, Usage{Selected: 1, Waiting: []string{"b"}, Holding: []string{"b"}}, metav1.ConditionFalse, Working},
		"rejected":                 {[]v1alpha1.AgentInstance{user("b", 2, "r2", "r1", refused)}, Usage{Selected: 1, Rejected: []string{"b"}, Holding: []string{"b"}}, metav1.ConditionFalse, Stuck},
		"applied though stuck":     {[]v1alpha1.AgentInstance{user("b", 2, "r2", "r2", refused)}, Usage{Selected: 1, Applied: []string{"b"}, Holding: []string{"b"}}, metav1.ConditionTrue, Settled},
		"suspended":                {[]v1alpha1.AgentInstance{user("b", 2, "r2", "r1", asleep)}, Usage{Selected: 1, Applied: []string{"b"}}, metav1.ConditionTrue, Settled},
		"suspended, not composed":  {[]v1alpha1.AgentInstance{user("b", 1, "r2", "r1", asleep)}, Usage{Selected: 1, Waiting: []string{"b"}}, metav1.ConditionFalse, Working},
		"new bot":                  {[]v1alpha1.AgentInstance{fresh}, Usage{Selected: 1, Waiting: []string{"n"}}, metav1.ConditionFalse, Working},
		"being deleted":            {[]v1alpha1.AgentInstance{deleting}, Usage{}, metav1.ConditionTrue, Settled},
		"stuck over an older spec": {[]v1alpha1.AgentInstance{changed}, Usage{Selected: 1, Waiting: []string{"c"}, Holding: []string{"c"}}, metav1.ConditionFalse, Working},
		"mixed": {
			[]v1alpha1.AgentInstance{user("z", 2, "r2", "r2", fine), user("y", 2, "r2", "r1", refused), user("x", 2, "r2", "r2", fine)},
			Usage{Selected: 3, Applied: []string{"x", "z"}, Rejected: []string{"y"}, Holding: []string{"x", "y", "z"}}, metav1.ConditionFalse, Stuck,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got := CountUsage(c.users, v1alpha1.KindPersona, "owl", 2, "")
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("usage (-want +got):\n%s", diff)
			}
			if s := got.Summary(); s.Ready != c.ready || s.Progress != c.prog || s.Reason == "" || s.Message == "" {
				t.Errorf("summary %+v, want %s, %d", s, c.ready, c.prog)
			}
			status := got.Status()
			if int(*status.Applied) != len(c.want.Applied) || int(*status.Rejected) != len(c.want.Rejected) || *status.Selected != c.want.Selected {
				t.Errorf("status %+v", status)
			}
		})
	}
}

func TestWorstState(t *testing.T) {
	states := []v1alpha1.State{
		v1alpha1.StateActive, v1alpha1.StateDisabled, v1alpha1.StateActivating, v1alpha1.StatePending, v1alpha1.StateError,
	}
	for i, a := range states {
		for j, b := range states {
			var users []v1alpha1.AgentInstance
			for k, s := range []v1alpha1.State{a, b} {
				in := user(fmt.Sprint("bot-", k), 2, "r", "r", fine)
				in.Status.Plugins = []v1alpha1.PluginStatus{{ID: "other", State: v1alpha1.StateError}, {ID: "p:main", State: s, Message: "why"}}
				users = append(users, in)
			}
			if got := CountUsage(users, v1alpha1.KindPersona, "owl", 2, "p:main").State; got != states[max(i, j)] {
				t.Errorf("the worst of %s and %s is %s", a, b, got)
			}
		}
	}
}

func TestProgressed(t *testing.T) {
	p := progressed()
	base := user("b", 2, "r2", "r1", on)
	change := func(f func(*v1alpha1.AgentInstance)) event.UpdateEvent {
		after := base.DeepCopy()
		f(after)
		return event.UpdateEvent{ObjectOld: &base, ObjectNew: after}
	}
	if p.Update(change(func(in *v1alpha1.AgentInstance) {
		in.ResourceVersion, in.Status.LastRecompute = "2", &v1alpha1.RecomputeStatus{Reason: "shutdown"}
	})) {
		t.Error("what does not concern the used objects passes")
	}
	for name, f := range map[string]func(*v1alpha1.AgentInstance){
		"acknowledged": func(in *v1alpha1.AgentInstance) { in.Status.AppliedRevision = "r2" },
		"delivered":    func(in *v1alpha1.AgentInstance) { in.Status.Revision = "r3" },
		"inputs":       func(in *v1alpha1.AgentInstance) { in.Status.Inputs = nil },
		"conditions":   func(in *v1alpha1.AgentInstance) { in.Status.Conditions = nil },
		"labels":       func(in *v1alpha1.AgentInstance) { in.Labels = map[string]string{"a": "b"} },
		"spec":         func(in *v1alpha1.AgentInstance) { in.Generation = 9 },
		"deleted":      func(in *v1alpha1.AgentInstance) { now := metav1.Now(); in.DeletionTimestamp = &now },
		"plugins":      func(in *v1alpha1.AgentInstance) { in.Status.Plugins = []v1alpha1.PluginStatus{{ID: "x"}} },
	} {
		if !p.Update(change(f)) {
			t.Errorf("%s: a change that concerns the used objects does not pass", name)
		}
	}
}

func TestRequestsFor(t *testing.T) {
	in := user("b", 2, "r", "r", fine)
	got := requestsFor(&in, v1alpha1.KindPersona, []string{"owl", "cat", "cat"})
	var names []string
	for _, r := range got {
		names = append(names, r.String())
	}
	if diff := cmp.Diff([]string{"a/owl", "a/cat"}, names); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

func TestDeclarationChanged(t *testing.T) {
	p := DeclarationChanged()
	before := user("b", 2, "r", "r", fine)
	pass := func(f func(*v1alpha1.AgentInstance)) bool {
		after := before.DeepCopy()
		f(after)
		var old client.Object = &before
		return p.Update(event.UpdateEvent{ObjectOld: old, ObjectNew: after})
	}
	if pass(func(in *v1alpha1.AgentInstance) { in.Status.State, in.ResourceVersion = "Error", "9" }) {
		t.Error("a status write wakes the operator")
	}
	if pass(func(in *v1alpha1.AgentInstance) { in.Finalizers = []string{"x"} }) {
		t.Error("our own finalizer wakes the operator")
	}
	for name, f := range map[string]func(*v1alpha1.AgentInstance){
		"spec":   func(in *v1alpha1.AgentInstance) { in.Generation++ },
		"labels": func(in *v1alpha1.AgentInstance) { in.Labels = map[string]string{"a": "b"} },
		"skip":   func(in *v1alpha1.AgentInstance) { in.Annotations = map[string]string{v1alpha1.AnnotationSkipWait: ""} },
		"delete": func(in *v1alpha1.AgentInstance) { now := metav1.Now(); in.DeletionTimestamp = &now },
	} {
		if !pass(f) {
			t.Errorf("%s does not wake the operator", name)
		}
	}
}

func TestIndexKeys(t *testing.T) {
	in := &v1alpha1.AgentInstance{Spec: v1alpha1.AgentInstanceSpec{Plugins: []v1alpha1.InstancePlugin{
		{Name: "main"}, {Name: "agent", Module: "agent"}, {Name: "spare"},
	}}}
	if diff := cmp.Diff([]string{"main", "spare"}, PluginNames(in)); diff != "" {
		t.Errorf("plugins (-want +got):\n%s", diff)
	}
	if PersonaNames(in) != nil {
		t.Error("a bot without personas is indexed by a Persona")
	}
	in.Spec.PersonaRef = &v1alpha1.LocalReference{Name: "owl"}
	in.Spec.Personas = []v1alpha1.LocalReference{{Name: "lark"}, {Name: "owl"}}
	if diff := cmp.Diff([]string{"owl", "lark"}, PersonaNames(in)); diff != "" {
		t.Errorf("personas (-want +got):\n%s", diff)
	}
	if !Selects(&metav1.LabelSelector{}, nil) || Selects(nil, nil) || Selects(&metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Odd"}}}, nil) {
		t.Error("an empty selector selects all, none and a broken one select nothing")
	}
}
