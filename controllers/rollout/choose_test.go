// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
)

func TestChoose(t *testing.T) {
	spec := percents(10)
	status := func(phase v1alpha1.RolloutPhase, change ...func(*v1alpha1.RolloutStatus)) *v1alpha1.RolloutStatus {
		s := &v1alpha1.RolloutStatus{ObservedGeneration: ptr(int64(7)), Revision: ptr(int64(3)), Phase: phase, Cut: "m"}
		for _, f := range change {
			f(s)
		}
		return s
	}
	earlier := func(s *v1alpha1.RolloutStatus) { s.ObservedGeneration = ptr(int64(6)) }
	took := func(n int64) func(*v1alpha1.RolloutStatus) {
		return func(s *v1alpha1.RolloutStatus) { s.RolledBack = &n }
	}
	cases := map[string]struct {
		object   Object
		key      string
		inEffect int64
		want     int64
	}{
		"no roll-out":                     {Object{Live: 3, Current: 1}, "z", 1, 0},
		"before the cut":                  {Object{Spec: &spec, Status: status(v1alpha1.RolloutProgressing), Live: 3, Current: 1}, "m", 1, 0},
		"behind the cut":                  {Object{Spec: &spec, Status: status(v1alpha1.RolloutProgressing), Live: 3, Current: 1}, "n", 2, 2},
		"behind the cut, has it":          {Object{Spec: &spec, Status: status(v1alpha1.RolloutPaused), Live: 3, Current: 1}, "n", 3, 0},
		"a new bot behind the cut":        {Object{Spec: &spec, Status: status(v1alpha1.RolloutWaiting), Live: 3, Current: 1}, "n", 0, 1},
		"completed":                       {Object{Spec: &spec, Status: status(v1alpha1.RolloutCompleted), Live: 3, Current: 3}, "n", 1, 0},
		"taken back":                      {Object{Spec: &spec, Status: status(v1alpha1.RolloutRolledBack, took(3)), Live: 3, Current: 1}, "a", 3, 1},
		"status not up to date":           {Object{Spec: &spec, Status: status(v1alpha1.RolloutProgressing, earlier), Live: 3, Current: 1}, "a", 2, 2},
		"not up to date, has it":          {Object{Spec: &spec, Status: status(v1alpha1.RolloutProgressing, earlier), Live: 3, Current: 1}, "z", 3, 0},
		"not recorded":                    {Object{Spec: &spec, Status: status(v1alpha1.RolloutCompleted), Live: 0, Current: 3}, "a", 3, 3},
		"no status yet":                   {Object{Spec: &spec, Live: 3, Current: 2}, "a", 2, 2},
		"nothing older":                   {Object{Spec: &spec, Live: 1}, "a", 0, 0},
		"has what an earlier halt took":   {Object{Spec: &spec, Status: status(v1alpha1.RolloutProgressing, took(2)), Live: 3, Current: 1}, "n", 2, 1},
		"edit of a roll-out after a halt": {Object{Spec: &spec, Status: status(v1alpha1.RolloutRolledBack, took(3), earlier), Live: 3, Current: 1}, "a", 3, 1},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			c.object.Generation = 7
			if got := Choose(c.object, c.key, c.inEffect); got != c.want {
				t.Errorf("chose %d, want %d", got, c.want)
			}
		})
	}
}

// TestKeysAreAnOrder: no two bots have one key, and a key fits into the status.
func TestKeysAreAnOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spec := drawSpec(t)
		name := rapid.StringMatching(`[a-z]([-a-z0-9]{0,38}[a-z0-9])?`)
		value := rapid.StringMatching(`([a-z0-9]([-_.a-z0-9]{0,61}[a-z0-9])?)?`)
		a, b := name.Draw(t, "a"), name.Draw(t, "b")
		key := func(name string) string {
			return Key(&spec, name, map[string]string{"ring": value.Draw(t, "value")})
		}
		ka, kb := key(a), key(b)
		if a != b && ka == kb || len(ka) > 256 || !strings.HasSuffix(ka, "!"+a) {
			t.Fatalf("keys of %s and %s: %s, %s", a, b, ka, kb)
		}
	})
}

func TestObserve(t *testing.T) {
	start := metav1.NewTime(noon)
	status := &v1alpha1.RolloutStatus{Revision: ptr(int64(2)), StartTime: start}
	bot := func(name string, ready, stalled metav1.ConditionStatus, reason string, at time.Time) v1alpha1.AgentInstance {
		return v1alpha1.AgentInstance{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Status: v1alpha1.AgentInstanceStatus{
				Revision: "r", AppliedRevision: "r",
				Inputs: []v1alpha1.InputStatus{{Kind: "Persona", Name: "owl", Revision: ptr(int64(2))}, {Kind: "Plugin", Name: "owl", Revision: ptr(int64(9))}},
				Conditions: []metav1.Condition{
					{Type: v1alpha1.ConditionReady, Status: ready, Reason: reason, LastTransitionTime: metav1.NewTime(at)},
					{Type: v1alpha1.ConditionStalled, Status: stalled, Reason: reason, Message: "why", LastTransitionTime: metav1.NewTime(at)},
				},
			},
		}
	}
	before, after := noon.Add(-time.Minute), noon.Add(time.Minute)
	deleting := bot("deleting", "True", "False", "Active", before)
	deleting.DeletionTimestamp = &start
	pinned := bot("pinned", "True", "False", "Active", before)
	pinned.Spec.Pin = []v1alpha1.PinnedRevision{{Kind: "Persona", Name: "owl", Revision: 1, OverRevision: ptr(int64(2))}}
	lapsed := *pinned.DeepCopy()
	lapsed.Name, lapsed.Spec.Pin[0].OverRevision = "lapsed", ptr(int64(1))
	rejected := bot("rejected", "False", "True", v1alpha1.ReasonRevisionRejected, after)
	rejected.Status.AppliedRevision = "old"
	asleep := bot("asleep", "True", "False", v1alpha1.ReasonSuspended, before)
	asleep.Status.AppliedRevision = ""
	users := []v1alpha1.AgentInstance{
		deleting, pinned, lapsed, rejected, asleep,
		bot("fine", "True", "False", "Active", before),
		bot("broken-before", "False", "True", v1alpha1.ReasonPluginError, before),
		bot("broken", "False", "True", v1alpha1.ReasonPluginError, after),
		bot("quota", "False", "True", v1alpha1.ReasonApplyFailed, after),
		bot("pending", "False", "False", v1alpha1.ReasonPluginPending, after),
	}
	want := []Bot{
		{Name: "lapsed", Revision: 2, Acknowledged: true},
		{Name: "rejected", Revision: 2, Failure: "RevisionRejected: why"},
		{Name: "asleep", Revision: 2, Acknowledged: true},
		{Name: "fine", Revision: 2, Acknowledged: true},
		{Name: "broken-before", Revision: 2, Acknowledged: true, Excused: true},
		{Name: "broken", Revision: 2, Failure: "PluginError: why"},
		{Name: "quota", Revision: 2},
		{Name: "pending", Revision: 2},
	}
	if d := cmp.Diff(want, Observe(users, "Persona", "owl", 2, status)); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	for _, b := range Observe(users, "Persona", "owl", 3, status) {
		if b.Failure != "" {
			t.Errorf("%s failed with a revision whose roll-out has not begun: %s", b.Name, b.Failure)
		}
	}
}
