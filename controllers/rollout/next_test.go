// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// world is a set of simulated bots that do what the statuses say, as AgentInstance reconcilers and kernels would.
type world struct {
	spec    v1alpha1.RolloutSpec
	status  *v1alpha1.RolloutStatus
	current int64
	bots    []Bot
	now     time.Time
}

const target = 2

func (w *world) state() State {
	return State{Spec: &w.spec, Status: w.status, Generation: 7, Target: target, Current: w.current}
}

// next plans and stores the decision.
func (w *world) next() Decision {
	d := Next(w.state(), w.bots, w.now)
	w.status, w.current = d.Status, d.Current
	return d
}

// choose has each bot compose what it should; those that get the new revision acknowledge it if done says so.
func (w *world) choose(done func(Bot) bool) {
	o := Object{Spec: &w.spec, Status: w.status, Generation: 7, Live: target, Current: w.current}
	for i := range w.bots {
		b := &w.bots[i]
		revision := Choose(o, Key(&w.spec, b.Name, b.Labels), b.Revision)
		if revision == 0 {
			revision = target
		}
		if revision != b.Revision {
			b.Revision, b.Acknowledged, b.Failure = revision, false, ""
		}
		if done(*b) {
			b.Acknowledged = true
		}
	}
}

func (w *world) updated() int {
	n := 0
	for _, b := range w.bots {
		if b.Revision == target {
			n++
		}
	}
	return n
}

func always(Bot) bool { return true }

func bots(n int) []Bot {
	var out []Bot
	for i := range n {
		out = append(out, Bot{
			Name: fmt.Sprintf("bot-%d", i), Revision: 1, Acknowledged: true,
			Labels: map[string]string{"ring": []string{"canary", "beta", "rest", "alpha"}[i%4]},
		})
	}
	return out
}

func percents(p ...int32) v1alpha1.RolloutSpec {
	var spec v1alpha1.RolloutSpec
	for _, n := range p {
		spec.Steps = append(spec.Steps, v1alpha1.RolloutStep{Percent: &n})
	}
	return spec
}

func drawSpec(t *rapid.T) v1alpha1.RolloutSpec {
	byLabel := rapid.Bool().Draw(t, "byLabel")
	var spec v1alpha1.RolloutSpec
	for range rapid.IntRange(1, 5).Draw(t, "steps") {
		if byLabel && rapid.Bool().Draw(t, "label step") {
			spec.Steps = append(spec.Steps, v1alpha1.RolloutStep{LabelValue: rapid.SampledFrom([]string{"canary", "beta", "nobody"}).Draw(t, "value")})
			continue
		}
		p := rapid.Int32Range(1, 100).Draw(t, "percent")
		spec.Steps = append(spec.Steps, v1alpha1.RolloutStep{Percent: &p})
	}
	if byLabel {
		spec.Order = &v1alpha1.RolloutOrder{By: v1alpha1.RolloutByLabel, Label: "ring"}
	}
	pause, halt := rapid.Int32Range(0, 90).Draw(t, "pause"), rapid.Int32Range(1, 3).Draw(t, "halt")
	spec.PauseSeconds, spec.HaltOnErrors = &pause, &halt
	return spec
}

// most is the greatest number of bots that a step may have updated, counted another way than the planner does.
func most(w *world, step int) int {
	if step > len(w.spec.Steps) {
		return len(w.bots)
	}
	out, values := 0, map[string]bool{}
	for _, s := range w.spec.Steps[:step] {
		if s.Percent != nil {
			for n := 1; n <= len(w.bots); n++ {
				if (n-1)*100 < int(*s.Percent)*len(w.bots) {
					out = max(out, n)
				}
			}
			continue
		}
		values[s.LabelValue] = true
		n := 0
		for _, b := range w.bots {
			if values[b.Labels["ring"]] {
				n++
			}
		}
		out = max(out, n)
	}
	return out
}

// TestNextProperties: in every order of events a step updates no more bots than its share; who was let through stays so; the
// same state gives the same decision whatever the order of the bots; a decision taken again is the same; new errors
// halt; and without errors everything arrives.
func TestNextProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &world{spec: drawSpec(t), current: 1, bots: bots(rapid.IntRange(2, 30).Draw(t, "bots")), now: noon}
		limit := int(*w.spec.HaltOnErrors)
		var before []string
		for range rapid.IntRange(1, 25).Draw(t, "events") {
			fresh := *w
			d := w.next()
			checkSame(t, &fresh, d)
			failures := 0
			for _, b := range w.bots {
				if b.Failure != "" && b.Revision == target {
					failures++
				}
			}
			if d.Status.Phase == v1alpha1.RolloutRolledBack {
				if failures < limit && !slices.Contains(before, "halted") {
					t.Fatalf("halted on %d errors, the threshold is %d", failures, limit)
				}
				w.choose(always)
				if n := w.updated(); n != 0 {
					t.Fatalf("%d bots still have a revision that was taken back", n)
				}
				before = []string{"halted"}
				continue
			}
			if failures >= limit && d.Status.Phase != v1alpha1.RolloutCompleted {
				t.Fatalf("%d errors did not halt: %+v", failures, d.Status)
			}
			if n, room := len(d.Chosen), most(w, int(*d.Status.Step)); n > room {
				t.Fatalf("%d bots in step %d, which has room for %d", n, *d.Status.Step, room)
			}
			for _, name := range before {
				if !slices.Contains(d.Chosen, name) {
					t.Fatalf("%s was let through and is no longer: %v, then %v", name, before, d.Chosen)
				}
			}
			before = d.Chosen
			eager := rapid.IntRange(0, 3).Draw(t, "eager")
			w.choose(func(b Bot) bool { return b.Revision == 1 || rapid.IntRange(0, 3).Draw(t, "ack") <= eager })
			if n := w.updated(); n > most(w, int(*w.status.Step)) {
				t.Fatalf("%d bots have the revision in step %d", n, *w.status.Step)
			}
			for i := range w.bots {
				if b := &w.bots[i]; b.Revision == target && rapid.IntRange(0, 40).Draw(t, "fail") == 0 {
					b.Failure, b.Acknowledged = "PluginError: broken", false
				}
			}
			w.now = w.now.Add(time.Duration(rapid.IntRange(0, 60).Draw(t, "seconds")) * time.Second)
		}
		finish(t, w)
	})
}

// checkSame plans again from the same state with the bots in another order, and from the decision itself.
func checkSame(t *rapid.T, before *world, want Decision) {
	shuffled := rapid.Permutation(before.bots).Draw(t, "order")
	if d := cmp.Diff(want, Next(before.state(), shuffled, before.now)); d != "" {
		t.Fatalf("another order of the bots (-want +got):\n%s", d)
	}
	again := *before
	again.status, again.current = want.Status, want.Current
	got := Next(again.state(), again.bots, again.now)
	if d := cmp.Diff(want.Status, got.Status); d != "" || !slices.Equal(want.Chosen, got.Chosen) {
		t.Fatalf("the same decision taken again (-want +got):\n%s", d)
	}
}

// finish heals everything and lets the clock run: it ends, with all or nobody updated.
func finish(t *rapid.T, w *world) {
	for range 3 * (len(w.spec.Steps) + 2) {
		for i := range w.bots {
			w.bots[i].Failure = ""
		}
		d := w.next()
		w.choose(always)
		w.now = w.now.Add(max(d.RequeueAfter, time.Second))
	}
	switch {
	case w.status.Phase == v1alpha1.RolloutCompleted && w.updated() == len(w.bots) && w.current == target:
	case w.status.Phase == v1alpha1.RolloutRolledBack && w.updated() == 0 && w.current == 1:
	default:
		t.Fatalf("ended in %s with %d of %d updated, current %d", w.status.Phase, w.updated(), len(w.bots), w.current)
	}
}

func TestStepsAndPause(t *testing.T) {
	pause := int32(60)
	w := &world{spec: percents(10, 50), current: 1, bots: bots(10), now: noon}
	w.spec.PauseSeconds = &pause
	for _, want := range []int{1, 5, 10} {
		d := w.next()
		if len(d.Chosen) != want || d.Status.Phase != v1alpha1.RolloutProgressing || d.Current != 1 {
			t.Fatalf("chose %v in phase %s, want %d bots", d.Chosen, d.Status.Phase, want)
		}
		w.choose(always)
		if want == 10 {
			break
		}
		if d = w.next(); d.Status.Phase != v1alpha1.RolloutWaiting || d.RequeueAfter != time.Minute || len(d.Chosen) != want {
			t.Fatalf("after the step: %+v", d)
		}
		w.now = w.now.Add(59 * time.Second)
		if d = w.next(); d.RequeueAfter != time.Second {
			t.Fatalf("a second before the end of the pause: %+v", d)
		}
		w.now = w.now.Add(time.Second)
	}
	if d := w.next(); d.Status.Phase != v1alpha1.RolloutCompleted || d.Current != target || *d.Status.Updated != 10 {
		t.Errorf("at the end: %+v", d)
	}
}

// TestManualPause: paused nothing new begins, an edit of the state loses neither the step nor who has the revision, and
// running again goes on where it was.
func TestManualPause(t *testing.T) {
	w := &world{spec: percents(20, 60), current: 1, bots: bots(10), now: noon}
	w.next()
	w.choose(always)
	w.spec.State = v1alpha1.RolloutStatePaused
	s := w.state()
	s.Generation = 8
	d := Next(s, w.bots, noon)
	if d.Status.Phase != v1alpha1.RolloutPaused || *d.Status.Step != 1 || len(d.Chosen) != 2 || *d.Status.ObservedGeneration != 8 {
		t.Fatalf("paused: %+v of %v", d.Status, d.Chosen)
	}
	w.spec.State = v1alpha1.RolloutRunning
	s = w.state()
	s.Status, s.Generation = d.Status, 9
	if d = Next(s, w.bots, noon); len(d.Chosen) != 6 || *d.Status.Step != 2 {
		t.Errorf("running again: %+v of %v", d.Status, d.Chosen)
	}
}

func TestLabelOrder(t *testing.T) {
	w := &world{current: 1, bots: bots(8), now: noon}
	w.spec = v1alpha1.RolloutSpec{
		Order: &v1alpha1.RolloutOrder{By: v1alpha1.RolloutByLabel, Label: "ring"},
		Steps: []v1alpha1.RolloutStep{{LabelValue: "canary"}, {LabelValue: "beta"}},
	}
	w.bots[7].Labels = nil
	for _, want := range [][]string{{"bot-0", "bot-4"}, {"bot-0", "bot-1", "bot-4", "bot-5"}} {
		d := w.next()
		got := slices.Sorted(slices.Values(d.Chosen))
		if !slices.Equal(got, want) {
			t.Fatalf("step %d chose %v, want %v", *d.Status.Step, got, want)
		}
		w.choose(always)
	}
	d := w.next()
	if len(d.Chosen) != 8 || d.Chosen[4] != "bot-3" || d.Chosen[7] != "bot-7" {
		t.Errorf("the rest came in the order %v, want alpha first and no label last", d.Chosen)
	}
}

func TestSpecialCases(t *testing.T) {
	spec := percents(10)
	failing := bots(4)
	for i := range failing {
		failing[i].Failure, failing[i].Revision = "RevisionRejected: no", target
	}
	excused := bots(4)
	for i := range excused {
		excused[i].Excused, excused[i].Failure = true, "PluginError: as ever"
	}
	silent := bots(4)
	for i := range silent {
		silent[i].Excused, silent[i].Acknowledged = true, false
	}
	taken := &v1alpha1.RolloutStatus{Revision: ptr(int64(target)), Step: ptr(int32(1)), Phase: v1alpha1.RolloutRolledBack, RolledBack: ptr(int64(target)), Message: "cause"}
	cases := map[string]struct {
		state  State
		bots   []Bot
		phase  v1alpha1.RolloutPhase
		now    int64
		chosen int
	}{
		"no roll-out":                 {State{Target: 2, Current: 1}, bots(3), "", 2, 0},
		"first revision":              {State{Spec: &spec, Target: 1}, bots(3), v1alpha1.RolloutCompleted, 1, 3},
		"one bot":                     {State{Spec: &spec, Target: 2, Current: 1}, bots(1), v1alpha1.RolloutCompleted, 2, 1},
		"nobody":                      {State{Spec: &spec, Target: 2, Current: 1}, nil, v1alpha1.RolloutCompleted, 2, 0},
		"same content":                {State{Spec: &spec, Target: 2, Current: 1, Same: true}, bots(3), v1alpha1.RolloutCompleted, 2, 3},
		"invalid by itself":           {State{Spec: &spec, Target: 2, Current: 1, Invalid: "bad"}, bots(3), v1alpha1.RolloutRolledBack, 1, 0},
		"errors":                      {State{Spec: &spec, Target: 2, Current: 1}, failing, v1alpha1.RolloutRolledBack, 1, 0},
		"errors that are old":         {State{Spec: &spec, Target: 2, Current: 1}, excused, v1alpha1.RolloutCompleted, 2, 4},
		"nobody waits for the broken": {State{Spec: &spec, Target: 2, Current: 1}, silent, v1alpha1.RolloutCompleted, 2, 4},
		"taken back":                  {State{Spec: &spec, Target: 2, Current: 1, Status: taken}, bots(3), v1alpha1.RolloutRolledBack, 1, 0},
		"taken back, one left":        {State{Spec: &spec, Target: 2, Current: 1, Status: taken}, bots(1), v1alpha1.RolloutRolledBack, 1, 0},
		"a new edit after that":       {State{Spec: &spec, Target: 3, Current: 1, Status: taken}, bots(20), v1alpha1.RolloutProgressing, 1, 2},
		"more steps than before":      {State{Spec: &spec, Target: 2, Current: 1, Status: &v1alpha1.RolloutStatus{Revision: ptr(int64(2)), Step: ptr(int32(9))}}, bots(3), v1alpha1.RolloutProgressing, 1, 3},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			d := Next(c.state, c.bots, noon)
			phase := v1alpha1.RolloutPhase("")
			if d.Status != nil {
				phase = d.Status.Phase
			}
			if phase != c.phase || d.Current != c.now || len(d.Chosen) != c.chosen {
				t.Errorf("phase %q, current %d, chose %v; want %q, %d, %d bots", phase, d.Current, d.Chosen, c.phase, c.now, c.chosen)
			}
			if name == "taken back" && d.Status.Message != "cause" {
				t.Errorf("forgot the cause: %q", d.Status.Message)
			}
			if name == "a new edit after that" && *d.Status.RolledBack != target {
				t.Error("forgot which revision was taken back")
			}
		})
	}
}
