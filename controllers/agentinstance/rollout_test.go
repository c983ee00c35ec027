// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package agentinstance_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
	"github.com/aalis-dev/aalis-operator/controllers/testenv"
	"github.com/aalis-dev/aalis-operator/runtime/kernelconfig"
)

func ptr[T any](v T) *T { return &v }

// hour watches each step for so long that a test sees it stand still.
const hour = 3600

func steps(pause int32, percents ...int32) *v1alpha1.RolloutSpec {
	spec := &v1alpha1.RolloutSpec{PauseSeconds: &pause}
	for _, p := range percents {
		spec.Steps = append(spec.Steps, v1alpha1.RolloutStep{Percent: &p})
	}
	return spec
}

// revisionsOf lists the recorded revisions of an object, by number.
func revisionsOf(t *testing.T, ns, kind, name string) []appsv1.ControllerRevision {
	t.Helper()
	var list appsv1.ControllerRevisionList
	err := env.Client().List(t.Context(), &list, client.InNamespace(ns), client.MatchingLabels{
		v1alpha1.LabelRevisionKind: kind, v1alpha1.LabelRevisionName: name,
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(list.Items, func(a, b appsv1.ControllerRevision) int { return int(a.Revision - b.Revision) })
	return list.Items
}

func numbersOf(list []appsv1.ControllerRevision) []int64 {
	var out []int64
	for _, r := range list {
		out = append(out, r.Revision)
	}
	return out
}

// at waits until a Persona's status names the revisions.
func at(t *testing.T, p *v1alpha1.Persona, current, updated int64) {
	t.Helper()
	testenv.WaitFor(t, &env, p, func(p *v1alpha1.Persona) error {
		s := p.Status
		if s.CurrentRevision == nil || *s.CurrentRevision != current || s.UpdatedRevision == nil || *s.UpdatedRevision != updated {
			return fmt.Errorf("current %v, updated %v of %+v; want %d, %d", s.CurrentRevision, s.UpdatedRevision, s.Rollout, current, updated)
		}
		return nil
	})
}

// rolled waits for a phase of a roll-out and a number of updated bots.
func rolled(s v1alpha1.RolloutPhase, updated int32) func(*v1alpha1.RolloutStatus) error {
	return func(got *v1alpha1.RolloutStatus) error {
		if got == nil || got.Phase != s || got.Updated == nil || *got.Updated != updated {
			return fmt.Errorf("roll-out %+v, want %s with %d", got, s, updated)
		}
		return nil
	}
}

func (s *scene) personaIs(t *testing.T, check func(*v1alpha1.RolloutStatus) error) {
	t.Helper()
	testenv.WaitFor(t, &env, s.persona, func(p *v1alpha1.Persona) error { return check(p.Status.Rollout) })
}

// prompts counts the bots by the prompt that is delivered to them.
func (s *scene) prompts(t *testing.T) map[string]int {
	t.Helper()
	out := map[string]int{}
	for _, bot := range s.bots {
		config, err := delivered(t, bot).Current.Unpack()
		if err != nil {
			t.Fatal(err)
		}
		out[config.Persona.Prompt]++
	}
	return out
}

func (s *scene) promptsAre(t *testing.T, want map[string]int) {
	t.Helper()
	testenv.Eventually(t, func() error {
		if got := s.prompts(t); fmt.Sprint(got) != fmt.Sprint(want) {
			return fmt.Errorf("prompts %v, want %v", got, want)
		}
		return nil
	})
}

// told waits for an event of an object of the kind whose note holds the text.
func (s *scene) told(t *testing.T, kind, text string) {
	t.Helper()
	testenv.Eventually(t, func() error {
		var list eventsv1.EventList
		if err := env.Client().List(t.Context(), &list, client.InNamespace(s.ns)); err != nil {
			return err
		}
		for _, e := range list.Items {
			if e.Regarding.Kind == kind && strings.Contains(e.Note, text) {
				return nil
			}
		}
		return fmt.Errorf("no event of a %s with %q among %d", kind, text, len(list.Items))
	})
}

// TestRevisionsAreKept: each change is one revision with the whole spec, ten are kept and those in use beyond; what goes back
// to an earlier text is that revision moved to the front; an edit of the roll-out alone is none.
func TestRevisionsAreKept(t *testing.T) {
	t.Parallel()
	s := newScene(t, 1)
	edit := func(text string) {
		testenv.Edit(t, &env, s.persona, func(p *v1alpha1.Persona) { p.Spec.Prompt = text })
	}
	testenv.Edit(t, &env, s.bots[0], func(in *v1alpha1.AgentInstance) {
		in.Spec.Pin = []v1alpha1.PinnedRevision{{Kind: v1alpha1.KindPersona, Name: "owl", Revision: 1}}
	})
	for n := int64(2); n <= 13; n++ {
		edit(fmt.Sprintf("You are owl %d.", n))
		at(t, s.persona, n, n)
	}
	s.operator.Quiet(t)
	list := revisionsOf(t, s.ns, v1alpha1.KindPersona, "owl")
	if want := []int64{1, 5, 6, 7, 8, 9, 10, 11, 12, 13}; !slices.Equal(numbersOf(list), want) {
		t.Errorf("kept %v, want %v: the pinned one and the newest", numbersOf(list), want)
	}
	last := list[len(list)-1]
	var spec v1alpha1.PersonaSpec
	if err := json.Unmarshal(last.Data.Raw, &spec); err != nil || spec.Prompt != "You are owl 13." {
		t.Errorf("revision 13 holds %s (%v)", last.Data.Raw, err)
	}
	if last.Name != "aalis-persona-owl-13" || !metav1.IsControlledBy(&last, s.persona) {
		t.Errorf("revision %s of %v", last.Name, last.OwnerReferences)
	}
	edit("You are owl 9.")
	at(t, s.persona, 14, 14)
	s.settle(t)
	if got, want := numbersOf(revisionsOf(t, s.ns, v1alpha1.KindPersona, "owl")), []int64{1, 5, 6, 7, 8, 10, 11, 12, 13, 14}; !slices.Equal(got, want) {
		t.Errorf("kept %v, want %v: 9 is now 14", got, want)
	}
	testenv.Edit(t, &env, s.persona, func(p *v1alpha1.Persona) { p.Spec.Rollout = steps(hour, 50) })
	s.personaIs(t, rolled(v1alpha1.RolloutCompleted, 0))
	s.operator.Quiet(t)
	if n := s.operator.Writes.Counts()["create controllerrevisions"]; n != 0 {
		t.Errorf("an edit of the roll-out made %d revisions", n)
	}
	s.forbidden(t)
}

// TestPin: a pinned bot composes the earlier revision and is Ready; nobody waits for it; when the object changes, the pin
// lapses and says so; a revision that is not there is an error that names those that are, and the bot goes on.
func TestPin(t *testing.T) {
	t.Parallel()
	s := newScene(t, 2)
	first := delivered(t, s.bots[0]).Current.Revision
	testenv.Edit(t, &env, s.persona, func(p *v1alpha1.Persona) { p.Spec.Prompt = "You are a bad owl." })
	at(t, s.persona, 2, 2)
	s.promptsAre(t, map[string]int{"You are a bad owl.": 2})
	pin := func(revision, over int64) {
		testenv.Edit(t, &env, s.bots[0], func(in *v1alpha1.AgentInstance) {
			in.Spec.Pin = []v1alpha1.PinnedRevision{{Kind: v1alpha1.KindPersona, Name: "owl", Revision: revision, OverRevision: &over}}
		})
	}
	pin(1, 2)
	testenv.WaitFor(t, &env, s.bots[0], func(in *v1alpha1.AgentInstance) error {
		if in.Status.AppliedRevision != first {
			return fmt.Errorf("applied %s, want %s again", in.Status.AppliedRevision, first)
		}
		if err := testenv.Condition(in.Status.Conditions, v1alpha1.ConditionPinned, metav1.ConditionTrue, v1alpha1.ReasonPinned); err != nil {
			return err
		}
		return testenv.Ready(in.Status.Conditions, metav1.ConditionTrue, v1alpha1.ReasonActive, false, false)
	})
	if i := slices.IndexFunc(s.bots[0].Status.Inputs, func(i v1alpha1.InputStatus) bool { return i.Kind == v1alpha1.KindPersona }); *s.bots[0].Status.Inputs[i].Revision != 1 {
		t.Errorf("inputs = %+v, want revision 1 in effect", s.bots[0].Status.Inputs)
	}
	testenv.WaitFor(t, &env, s.persona, func(p *v1alpha1.Persona) error {
		if u := p.Status.Usage; u.Pinned == nil || *u.Pinned != 1 || *u.Selected != 2 || *u.Applied != 1 {
			return fmt.Errorf("usage %+v", u)
		}
		return testenv.Ready(p.Status.Conditions, metav1.ConditionTrue, v1alpha1.ReasonApplied, false, false)
	})
	s.settle(t)
	pin(7, 2)
	testenv.WaitFor(t, &env, s.bots[0], func(in *v1alpha1.AgentInstance) error {
		if c := meta.FindStatusCondition(in.Status.Conditions, v1alpha1.ConditionReady); c == nil || !strings.Contains(c.Message, "it has 1, 2") {
			return fmt.Errorf("condition %+v", c)
		}
		return testenv.Ready(in.Status.Conditions, metav1.ConditionFalse, v1alpha1.ReasonRevisionNotFound, false, true)
	})
	if got := s.bots[0].Status.AppliedRevision; got != first {
		t.Errorf("applied %s, want the last good %s", got, first)
	}
	pin(1, 2)
	active(t, s.bots[0])
	testenv.Edit(t, &env, s.persona, func(p *v1alpha1.Persona) { p.Spec.Prompt = "You are a mended owl." })
	s.promptsAre(t, map[string]int{"You are a mended owl.": 2})
	testenv.WaitFor(t, &env, s.bots[0], func(in *v1alpha1.AgentInstance) error {
		if meta.FindStatusCondition(in.Status.Conditions, v1alpha1.ConditionPinned) != nil {
			return fmt.Errorf("still Pinned: %+v", in.Status.Conditions)
		}
		return testenv.Condition(in.Status.Conditions, v1alpha1.ConditionPinLapsed, metav1.ConditionTrue, v1alpha1.ReasonSourceChanged)
	})
	s.forbidden(t)
}

// TestRollout: a step stands still with the others on the old text, survives a restart of the operator with no write, and
// goes on when the pause is over; a new bot starts with the old text.
func TestRollout(t *testing.T) {
	t.Parallel()
	s := newScene(t, 5)
	const was, is = "You are an owl.", "You are a new owl."
	testenv.Edit(t, &env, s.persona, func(p *v1alpha1.Persona) {
		p.Spec.Prompt, p.Spec.Rollout = is, steps(hour, 20, 60)
	})
	s.personaIs(t, rolled(v1alpha1.RolloutWaiting, 1))
	s.promptsAre(t, map[string]int{was: 4, is: 1})
	testenv.WaitFor(t, &env, s.persona, func(p *v1alpha1.Persona) error {
		return testenv.Ready(p.Status.Conditions, metav1.ConditionFalse, v1alpha1.ReasonRollingOut, true, false)
	})
	at(t, s.persona, 1, 2)
	s.operator.Quiet(t)
	s.operator.Stop(t)
	s.operator = env.StartOperator(t, []string{s.ns}, nil)
	s.operator.Quiet(t)
	if n := s.operator.Writes.Total(); n != 0 {
		t.Errorf("a restart in the middle of a roll-out wrote %d times: %s", n, s.operator.Writes)
	}
	s.promptsAre(t, map[string]int{was: 4, is: 1})
	// Paused it goes nowhere even when the watch is over; then on to the end.
	testenv.Edit(t, &env, s.persona, func(p *v1alpha1.Persona) {
		p.Spec.Rollout.State, p.Spec.Rollout.PauseSeconds = v1alpha1.RolloutStatePaused, ptr(int32(0))
	})
	s.personaIs(t, rolled(v1alpha1.RolloutPaused, 1))
	late := testenv.Instance(s.ns, "late")
	env.Create(t, late)
	active(t, late)
	if config, err := delivered(t, late).Current.Unpack(); err != nil || config.Persona.Prompt != was {
		t.Errorf("a new bot got %+v, %v; want the old text", config.Persona, err)
	}
	s.bots = append(s.bots, late)
	s.promptsAre(t, map[string]int{was: 5, is: 1})
	testenv.Edit(t, &env, s.persona, func(p *v1alpha1.Persona) { p.Spec.Rollout.State = v1alpha1.RolloutRunning })
	s.personaIs(t, rolled(v1alpha1.RolloutCompleted, 6))
	s.promptsAre(t, map[string]int{is: 6})
	at(t, s.persona, 2, 2)
	testenv.WaitFor(t, &env, s.persona, func(p *v1alpha1.Persona) error {
		return testenv.Ready(p.Status.Conditions, metav1.ConditionTrue, v1alpha1.ReasonApplied, false, false)
	})
	for _, text := range []string{"revision 2: step 1 of 3", "spec.rollout.state is Paused", "every bot gets revision 2"} {
		s.told(t, v1alpha1.KindPersona, text)
	}
	s.settle(t)
	s.operator.Quiet(t)
	if n := s.operator.Writes.Total(); n != 0 {
		t.Errorf("wrote %d times at rest: %s", n, s.operator.Writes)
	}
	s.forbidden(t)
}

// TestRolloutHalts: a revision that the first bot refuses is taken back from it, never reaches the others, and a new edit
// starts anew.
func TestRolloutHalts(t *testing.T) {
	t.Parallel()
	s := newScene(t, 4)
	good := map[string]string{}
	for _, bot := range s.bots {
		good[bot.Name] = delivered(t, bot).Current.Revision
	}
	s.node.Behave(t, testenv.Behaviour{Reject: func(bot, revision string) string {
		if revision != good[bot] {
			return "persona: is not to my taste"
		}
		return ""
	}})
	testenv.Edit(t, &env, s.persona, func(p *v1alpha1.Persona) {
		p.Spec.Prompt, p.Spec.Rollout = "You are a bad owl.", steps(0, 25)
	})
	testenv.WaitFor(t, &env, s.persona, func(p *v1alpha1.Persona) error {
		c := meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionRolledBack)
		if c == nil || !strings.Contains(c.Message, "not to my taste") {
			return fmt.Errorf("condition %+v", c)
		}
		return testenv.Ready(p.Status.Conditions, metav1.ConditionFalse, v1alpha1.ReasonRolledBack, false, true)
	})
	at(t, s.persona, 1, 2)
	s.told(t, v1alpha1.KindPersona, "revision 2 was taken back, revision 1 is in effect: bot ")
	s.promptsAre(t, map[string]int{"You are an owl.": 4})
	touched := 0
	for _, bot := range s.bots {
		active(t, bot)
		switch n := delivered(t, bot).Current.Sequence; n {
		case 1:
		case 3:
			touched++
		default:
			t.Errorf("%s is at sequence %d", bot.Name, n)
		}
	}
	if touched != 1 {
		t.Errorf("%d bots got the bad revision, want the one of the first step", touched)
	}
	s.settle(t)
	s.operator.Quiet(t)
	if n := s.operator.Writes.Total(); n != 0 {
		t.Errorf("wrote %d times after a halt: %s", n, s.operator.Writes)
	}
	s.node.Behave(t, testenv.Behaviour{})
	testenv.Edit(t, &env, s.persona, func(p *v1alpha1.Persona) { p.Spec.Prompt = "You are a good owl." })
	s.personaIs(t, rolled(v1alpha1.RolloutCompleted, 4))
	s.promptsAre(t, map[string]int{"You are a good owl.": 4})
	at(t, s.persona, 3, 3)
	if c := meta.FindStatusCondition(s.persona.Status.Conditions, v1alpha1.ConditionRolledBack); c != nil {
		t.Errorf("still %+v", c)
	}
	s.forbidden(t)
}

// TestPluginRollout: a Plugin goes in the order of a label; when it fails to start in a bot of the second step, those of the
// first give it back too. One that is invalid by itself reaches nobody.
func TestPluginRollout(t *testing.T) {
	t.Parallel()
	s := newScene(t, 3)
	for i, ring := range []string{"canary", "early", "late"} {
		testenv.Edit(t, &env, s.bots[i], func(in *v1alpha1.AgentInstance) { in.Labels["ring"] = ring })
	}
	s.node.Behave(t, testenv.Behaviour{Failing: func(bot string, p kernelconfig.Plugin) string {
		if bot == "bot-1" && strings.Contains(fmt.Sprint(p.Config), "new.models") {
			return "cannot reach new.models.svc"
		}
		return ""
	}})
	config := func(text string) *runtime.RawExtension { return &runtime.RawExtension{Raw: []byte(text)} }
	testenv.Edit(t, &env, s.plugin, func(p *v1alpha1.Plugin) {
		p.Spec.Config = config(`{"baseUrl":"http://new.models.svc"}`)
		p.Spec.Rollout = steps(0)
		p.Spec.Rollout.Order = &v1alpha1.RolloutOrder{By: v1alpha1.RolloutByLabel, Label: "ring"}
		p.Spec.Rollout.Steps = []v1alpha1.RolloutStep{{LabelValue: "canary"}, {LabelValue: "early"}}
	})
	testenv.WaitFor(t, &env, s.plugin, func(p *v1alpha1.Plugin) error {
		if err := rolled(v1alpha1.RolloutRolledBack, 0)(p.Status.Rollout); err != nil {
			return err
		}
		if *p.Status.Rollout.Step != 2 || *p.Status.CurrentRevision != 1 {
			return fmt.Errorf("status %+v", p.Status.Rollout)
		}
		return testenv.Ready(p.Status.Conditions, metav1.ConditionFalse, v1alpha1.ReasonRolledBack, false, true)
	})
	for i, want := range []int64{3, 3, 1} {
		active(t, s.bots[i])
		if n := delivered(t, s.bots[i]).Current.Sequence; n != want {
			t.Errorf("bot-%d is at sequence %d, want %d", i, n, want)
		}
	}
	testenv.Edit(t, &env, s.plugin, func(p *v1alpha1.Plugin) { p.Spec.Config = config(`{"timout":3}`) })
	testenv.WaitFor(t, &env, s.plugin, func(p *v1alpha1.Plugin) error {
		if *p.Status.UpdatedRevision != 3 {
			return fmt.Errorf("updated %d", *p.Status.UpdatedRevision)
		}
		return testenv.Ready(p.Status.Conditions, metav1.ConditionFalse, v1alpha1.ReasonInvalidConfig, false, true)
	})
	s.operator.Quiet(t)
	for i, bot := range s.bots {
		active(t, bot)
		if n := delivered(t, bot).Current.Sequence; n > 3 {
			t.Errorf("bot-%d was given an invalid revision", i)
		}
	}
	s.forbidden(t)
}

// TestRejectionStopsNobodyElse, of design section 3: a bot that refuses what the others take keeps them from nothing, says why and what it waits
// for, and its last good revision stays what it was. The Plugin that broke in one bot says so in an event.
func TestRejectionStopsNobodyElse(t *testing.T) {
	t.Parallel()
	s := newScene(t, 3)
	good := delivered(t, s.bots[0]).Current.Revision
	s.node.Behave(t, testenv.Behaviour{
		Reject: func(bot, revision string) string {
			if bot == "bot-0" && revision != good {
				return "persona: is not to my taste"
			}
			return ""
		},
		Failing: func(bot string, p kernelconfig.Plugin) string {
			if bot == "bot-1" && strings.Contains(p.ID, "llm-openai") {
				return "no route"
			}
			return ""
		},
	})
	testenv.Edit(t, &env, s.persona, func(p *v1alpha1.Persona) { p.Spec.Prompt = "You are another owl." })
	testenv.WaitFor(t, &env, s.bots[0], func(in *v1alpha1.AgentInstance) error {
		if in.Status.AppliedRevision != good || in.Status.PendingChange == nil || in.Status.PendingChange.Revision == good {
			return fmt.Errorf("status %+v", in.Status)
		}
		return testenv.Ready(in.Status.Conditions, metav1.ConditionFalse, v1alpha1.ReasonRevisionRejected, false, true)
	})
	testenv.WaitFor(t, &env, s.bots[1], func(in *v1alpha1.AgentInstance) error {
		return testenv.Ready(in.Status.Conditions, metav1.ConditionFalse, v1alpha1.ReasonPluginError, false, true)
	})
	s.promptsAre(t, map[string]int{"You are another owl.": 3})
	for _, bot := range s.bots[1:] {
		runs(t, bot, delivered(t, bot).Current.Revision)
	}
	active(t, s.bots[2])
	if last := delivered(t, s.bots[0]).LastGood.Revision; last != good {
		t.Errorf("last good is %s, want %s", last, good)
	}
	s.told(t, v1alpha1.KindPlugin, "Active to Error in bot bot-1: no route")
	s.forbidden(t)
}

// TestRolloutSurvivesKills: the operator is stopped after each few writes of a roll-out and starts anew; every bot is given
// the revision once, no step has more than its share, and it ends.
func TestRolloutSurvivesKills(t *testing.T) {
	t.Parallel()
	s := newScene(t, 4)
	s.operator.Stop(t)
	testenv.Edit(t, &env, s.persona, func(p *v1alpha1.Persona) {
		p.Spec.Prompt, p.Spec.Rollout = "You are a new owl.", steps(0, 25, 50, 75)
	})
	for kill := range 6 {
		o := env.StartOperator(t, []string{s.ns}, nil)
		testenv.Eventually(t, func() error {
			env.Refresh(t, s.persona)
			if r := s.persona.Status.Rollout; o.Writes.Total() > kill || r != nil && r.Phase == v1alpha1.RolloutCompleted {
				return nil
			}
			return fmt.Errorf("%d writes", o.Writes.Total())
		})
		o.Stop(t)
		env.Refresh(t, s.persona)
		r := s.persona.Status.Rollout
		if n := s.prompts(t)["You are a new owl."]; n > 0 && (r == nil || n > int(*r.Step)) {
			t.Errorf("%d bots have the revision in %+v", n, r)
		}
	}
	s.operator = env.StartOperator(t, []string{s.ns}, nil)
	s.personaIs(t, rolled(v1alpha1.RolloutCompleted, 4))
	at(t, s.persona, 2, 2)
	for _, bot := range s.bots {
		if n := delivered(t, bot).Current.Sequence; n != 2 {
			t.Errorf("%s was delivered to %d times, want 2", bot.Name, n)
		}
	}
	if got := numbersOf(revisionsOf(t, s.ns, v1alpha1.KindPersona, "owl")); !slices.Equal(got, []int64{1, 2}) {
		t.Errorf("revisions %v, want two", got)
	}
	s.settle(t)
	s.forbidden(t)
}

// TestKilledAfterDelivery: an operator that is killed after it wrote a bot's ConfigMap and before it wrote the bot's status
// knows from the ConfigMap which revision the bot has: the next roll-out does not take it back.
func TestKilledAfterDelivery(t *testing.T) {
	t.Parallel()
	s := newScene(t, 2)
	const second = "You are a second owl."
	before := map[string]v1alpha1.AgentInstanceStatus{}
	for _, bot := range s.bots {
		env.Refresh(t, bot)
		before[bot.Name] = bot.Status
	}
	testenv.Edit(t, &env, s.persona, func(p *v1alpha1.Persona) { p.Spec.Prompt, p.Spec.Rollout = second, steps(hour, 50) })
	s.personaIs(t, rolled(v1alpha1.RolloutWaiting, 1))
	s.promptsAre(t, map[string]int{"You are an owl.": 1, second: 1})
	s.operator.Quiet(t)
	s.operator.Stop(t)
	for _, bot := range s.bots {
		env.Refresh(t, bot)
		bot.Status = before[bot.Name]
		if err := env.Client().Status().Update(t.Context(), bot); err != nil {
			t.Fatal(err)
		}
	}
	testenv.Edit(t, &env, s.persona, func(p *v1alpha1.Persona) {
		p.Spec.Prompt, p.Spec.Rollout.State = "You are a third owl.", v1alpha1.RolloutStatePaused
	})
	s.operator = env.StartOperator(t, []string{s.ns}, nil)
	at(t, s.persona, 1, 3)
	s.settle(t)
	s.operator.Quiet(t)
	s.promptsAre(t, map[string]int{"You are an owl.": 1, second: 1})
	for _, bot := range s.bots {
		if n := delivered(t, bot).Current.Sequence; n > 2 {
			t.Errorf("%s was delivered to %d times", bot.Name, n)
		}
	}
	s.forbidden(t)
}

// TestRevisionsForbidden: where the API server refuses another revision, the Persona says so and why; a bot takes the new text
// all the same, since nothing holds it.
func TestRevisionsForbidden(t *testing.T) {
	t.Parallel()
	s := newScene(t, 1)
	quota := &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.ns, Name: "none"},
		Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{
			"count/controllerrevisions.apps": resource.MustParse("0"),
		}},
	}
	env.Create(t, quota)
	// No controller-manager fills in the status that the quota is enforced by.
	quota.Status.Hard, quota.Status.Used = quota.Spec.Hard, quota.Spec.Hard.DeepCopy()
	if err := env.Client().Status().Update(t.Context(), quota); err != nil {
		t.Fatal(err)
	}
	testenv.Eventually(t, func() error { // the admission plugin has its own cache
		probe := &appsv1.ControllerRevision{
			ObjectMeta: metav1.ObjectMeta{Namespace: s.ns, Name: "probe"}, Revision: 1,
			Data: runtime.RawExtension{Raw: []byte("{}")},
		}
		err := env.Client().Create(t.Context(), probe, client.DryRunAll)
		if apierrors.IsForbidden(err) {
			return nil
		}
		return fmt.Errorf("not refused yet: %w", err)
	})
	testenv.Edit(t, &env, s.persona, func(p *v1alpha1.Persona) { p.Spec.Prompt = "You are one owl too many." })
	testenv.WaitFor(t, &env, s.persona, func(p *v1alpha1.Persona) error {
		if c := meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionReady); c == nil || !strings.Contains(c.Message, "exceeded quota") {
			return fmt.Errorf("condition %+v", c)
		}
		return testenv.Ready(p.Status.Conditions, metav1.ConditionFalse, v1alpha1.ReasonApplyFailed, false, true)
	})
	s.promptsAre(t, map[string]int{"You are one owl too many.": 1})
}
