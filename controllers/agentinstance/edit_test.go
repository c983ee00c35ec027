// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package agentinstance_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
	"github.com/aalis-dev/aalis-operator/controllers"
	"github.com/aalis-dev/aalis-operator/controllers/render"
	"github.com/aalis-dev/aalis-operator/controllers/testenv"
	"github.com/aalis-dev/aalis-operator/runtime/kernelconfig"
)

// scene is a namespace with the Plugin main, the Persona owl and bots that run.
type scene struct {
	ns       string
	node     *testenv.Node
	operator *testenv.Operator
	plugin   *v1alpha1.Plugin
	persona  *v1alpha1.Persona
	bots     []*v1alpha1.AgentInstance
}

func newScene(t *testing.T, bots int, adjust ...func(*controllers.Options)) *scene {
	t.Helper()
	ns := env.Namespace(t)
	s := &scene{
		ns: ns, node: env.StartNode(t, ns),
		plugin: testenv.Plugin(ns, "main"), persona: testenv.Persona(ns, "owl", "You are an owl."),
	}
	env.Create(t, s.plugin, s.persona)
	for i := range bots {
		s.bots = append(s.bots, testenv.Instance(ns, fmt.Sprintf("bot-%d", i)))
		env.Create(t, s.bots[i])
	}
	s.operator = env.StartOperator(t, []string{ns}, func(o *controllers.Options) {
		for _, f := range adjust {
			f(o)
		}
	})
	for _, bot := range s.bots {
		active(t, bot)
	}
	s.settle(t)
	return s
}

// settle waits until nothing is written any more and starts the counts anew.
func (s *scene) settle(t *testing.T) {
	t.Helper()
	s.operator.Quiet(t)
	s.operator.Writes.Reset()
	for _, bot := range s.bots {
		env.Refresh(t, bot)
	}
}

// forbidden checks that the role allowed everything.
func (s *scene) forbidden(t *testing.T) {
	t.Helper()
	if f := s.operator.Writes.Forbidden(); len(f) > 0 {
		t.Errorf("requests that the role does not allow: %v", f)
	}
}

// delivered reads what a bot's ConfigMap holds.
func delivered(t *testing.T, in *v1alpha1.AgentInstance) kernelconfig.Slots {
	t.Helper()
	var cm corev1.ConfigMap
	if err := env.Client().Get(t.Context(), testenv.Key(in.Namespace, render.ChildName(in.Name)), &cm); err != nil {
		t.Fatalf("reading the ConfigMap: %v", err)
	}
	slots, err := kernelconfig.ReadSlots(cm.Data, cm.BinaryData)
	if err != nil {
		t.Fatalf("reading the slots: %v", err)
	}
	return slots
}

// runs waits until a bot has acknowledged a revision. What a bot was given is known before it says that it runs it, and a
// condition about its plugins may still speak of the revision before.
func runs(t *testing.T, in *v1alpha1.AgentInstance, revision string) {
	t.Helper()
	testenv.WaitFor(t, &env, in, func(in *v1alpha1.AgentInstance) error {
		if got := in.Status.AppliedRevision; got != revision {
			return fmt.Errorf("runs %s, want %s", got, revision)
		}
		return nil
	})
}

func TestPersonaEditReachesEveryBot(t *testing.T) {
	s := newScene(t, 3, patient)
	before := delivered(t, s.bots[0])
	testenv.Edit(t, &env, s.persona, func(p *v1alpha1.Persona) { p.Spec.Prompt = "You are a very calm owl." })
	testenv.WaitFor(t, &env, s.persona, func(p *v1alpha1.Persona) error {
		if p.Status.ObservedGeneration == nil || *p.Status.ObservedGeneration != p.Generation || *p.Status.Usage.Applied != 3 {
			return fmt.Errorf("status = %+v", p.Status)
		}
		return testenv.Ready(p.Status.Conditions, metav1.ConditionTrue, v1alpha1.ReasonApplied, false, false)
	})
	s.operator.Quiet(t)
	want := map[string]int{
		"apply configmaps":            3,
		"create controllerrevisions":  1,
		"patch agentinstances/status": 3,
		"patch personas/status":       1,
	}
	if diff := cmp.Diff(want, s.operator.Writes.Counts()); diff != "" {
		t.Errorf("writes of an edit (-want +got):\n%s", diff)
	}
	for _, bot := range s.bots {
		slots := delivered(t, bot)
		if slots.Current.Sequence != 2 || slots.LastGood == nil || slots.LastGood.Revision != before.Current.Revision && bot == s.bots[0] {
			t.Errorf("%s: slots = %+v, %+v", bot.Name, slots.Current, slots.LastGood)
		}
		config, err := slots.Current.Unpack()
		if err != nil || config.Persona.Prompt != "You are a very calm owl." {
			t.Errorf("%s: delivered %+v, %v", bot.Name, config.Persona, err)
		}
	}
	s.forbidden(t)
}

func TestNothingToDoWritesNothing(t *testing.T) {
	s := newScene(t, 2, patient)
	s.operator.Stop(t)
	again := env.StartOperator(t, []string{s.ns}, nil)
	again.Quiet(t)
	if n := again.Writes.Total(); n != 0 {
		t.Errorf("a restart of the operator wrote %d times: %s", n, again.Writes)
	}
	// A label that nothing selects by brings the bot up for a pass.
	testenv.Edit(t, &env, s.bots[0], func(in *v1alpha1.AgentInstance) { in.Labels["color"] = "blue" })
	again.Quiet(t)
	if n := again.Writes.Total(); n != 0 {
		t.Errorf("a pass with nothing to do wrote %d times: %s", n, again.Writes)
	}
}

func TestRejectedRevision(t *testing.T) {
	t.Parallel()
	s := newScene(t, 1)
	bot := s.bots[0]
	good := delivered(t, bot).Current.Revision
	s.node.Behave(t, testenv.Behaviour{Reject: func(_, revision string) string {
		if revision != good {
			return "plugins[@aalis/plugin-agent].config: is not to my taste"
		}
		return ""
	}})
	testenv.Edit(t, &env, s.persona, func(p *v1alpha1.Persona) { p.Spec.Prompt = "You are an owl that nobody likes." })
	testenv.WaitFor(t, &env, bot, func(in *v1alpha1.AgentInstance) error {
		return testenv.Ready(in.Status.Conditions, metav1.ConditionFalse, v1alpha1.ReasonRevisionRejected, false, true)
	})
	if bot.Status.State != v1alpha1.StateActive || bot.Status.AppliedRevision != good || bot.Status.Revision == good || bot.Status.PendingChange == nil {
		t.Errorf("status = %+v, want Active with the old revision in effect", bot.Status)
	}
	testenv.WaitFor(t, &env, s.persona, func(p *v1alpha1.Persona) error {
		if *p.Status.Usage.Rejected != 1 {
			return fmt.Errorf("usage = %+v", p.Status.Usage)
		}
		return testenv.Ready(p.Status.Conditions, metav1.ConditionFalse, v1alpha1.ReasonRevisionRejected, false, true)
	})
	if slots := delivered(t, bot); slots.LastGood == nil || slots.LastGood.Revision != good {
		t.Errorf("last good = %+v, want %s", slots.LastGood, good)
	}
	// The way out: a text that the kernel takes. Two refused revisions in a row do not lose the last good one.
	testenv.Edit(t, &env, s.persona, func(p *v1alpha1.Persona) { p.Spec.Prompt = "You are another owl that nobody likes." })
	testenv.WaitFor(t, &env, bot, func(in *v1alpha1.AgentInstance) error {
		if slots := delivered(t, bot); slots.Current.Sequence != 3 || slots.LastGood.Revision != good {
			return fmt.Errorf("slots = %+v, %+v", slots.Current, slots.LastGood)
		}
		return nil
	})
	testenv.Edit(t, &env, s.persona, func(p *v1alpha1.Persona) { p.Spec.Prompt = "You are an owl." })
	active(t, bot)
	if slots := delivered(t, bot); slots.Current.Revision != good || slots.Current.Sequence != 4 {
		t.Errorf("current = %+v, want %s with sequence 4", slots.Current, good)
	}
	s.forbidden(t)
}

func TestRejectedAtTheNextStart(t *testing.T) {
	t.Parallel()
	s := newScene(t, 1)
	bot := s.bots[0]
	good := delivered(t, bot).Current.Revision
	testenv.Edit(t, &env, s.persona, func(p *v1alpha1.Persona) { p.Spec.Prompt = "You are a late owl." })
	testenv.WaitFor(t, &env, bot, func(in *v1alpha1.AgentInstance) error {
		if in.Status.AppliedRevision == good {
			return fmt.Errorf("still runs %s", good)
		}
		return testenv.Condition(in.Status.Conditions, v1alpha1.ConditionReady, metav1.ConditionTrue, v1alpha1.ReasonActive)
	})
	s.node.Behave(t, testenv.Behaviour{Reject: func(_, revision string) string {
		if revision != good {
			return "cannot start with it"
		}
		return ""
	}})
	s.node.Restart(t, bot.Name)
	testenv.WaitFor(t, &env, bot, func(in *v1alpha1.AgentInstance) error {
		if in.Status.AppliedRevision != good {
			return fmt.Errorf("runs %s, want the last good %s", in.Status.AppliedRevision, good)
		}
		return testenv.Ready(in.Status.Conditions, metav1.ConditionFalse, v1alpha1.ReasonRevisionRejected, false, true)
	})
	if bot.Status.State != v1alpha1.StateActive {
		t.Errorf("state = %s, want Active: the last good config runs", bot.Status.State)
	}
}

func TestDriftIsRepaired(t *testing.T) {
	t.Parallel()
	s := newScene(t, 1)
	name := testenv.Key(s.ns, render.ChildName(s.bots[0].Name))
	var cm corev1.ConfigMap
	if err := env.Client().Get(t.Context(), name, &cm); err != nil {
		t.Fatal(err)
	}
	header := cm.Data[kernelconfig.KeyCurrent]
	testenv.Edit(t, &env, &cm, func(cm *corev1.ConfigMap) { cm.Data[kernelconfig.KeyCurrent] = "nonsense" })
	testenv.WaitFor(t, &env, &cm, func(cm *corev1.ConfigMap) error {
		slots, err := kernelconfig.ReadSlots(cm.Data, cm.BinaryData)
		if err != nil {
			return err
		}
		if _, err := slots.Current.Unpack(); err != nil || slots.Current.Sequence < 1 {
			return fmt.Errorf("current = %+v, %w; was %s", slots.Current, err, header)
		}
		return nil
	})
	var service corev1.Service
	if err := env.Client().Get(t.Context(), name, &service); err != nil {
		t.Fatal(err)
	}
	testenv.Edit(t, &env, &service, func(s *corev1.Service) {
		s.Spec.Selector = map[string]string{"app": "stolen"}
		s.Labels["team"] = "a"
	})
	testenv.WaitFor(t, &env, &service, func(s *corev1.Service) error {
		if s.Spec.Selector[v1alpha1.LabelInstance] != "bot-0" || s.Labels["team"] != "a" {
			return fmt.Errorf("selector %v, labels %v: want ours back and theirs kept", s.Spec.Selector, s.Labels)
		}
		return nil
	})
	if err := env.Client().Delete(t.Context(), &service); err != nil {
		t.Fatal(err)
	}
	testenv.WaitFor(t, &env, &service, func(*corev1.Service) error { return nil })
	s.settle(t)
	s.forbidden(t)
}

func TestForeignObjectIsNotTakenOver(t *testing.T) {
	t.Parallel()
	s := newScene(t, 0)
	foreign := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.ns, Name: "aalis-hello"},
		Data:       map[string]string{"mine": "yes"},
	}
	env.Create(t, foreign)
	bot := testenv.Instance(s.ns, "hello")
	env.Create(t, bot)
	testenv.WaitFor(t, &env, bot, func(in *v1alpha1.AgentInstance) error {
		return testenv.Ready(in.Status.Conditions, metav1.ConditionFalse, v1alpha1.ReasonApplyFailed, false, true)
	})
	s.operator.Quiet(t)
	env.Refresh(t, foreign)
	if len(foreign.OwnerReferences) != 0 || len(foreign.Labels) != 0 || !cmp.Equal(foreign.Data, map[string]string{"mine": "yes"}) {
		t.Errorf("the foreign ConfigMap was changed: %+v", foreign)
	}
	var pods corev1.PodList
	if err := env.Client().List(t.Context(), &pods, client.InNamespace(s.ns)); err != nil || len(pods.Items) != 0 {
		t.Errorf("pods = %d, %v: a bot without its ConfigMap may not start", len(pods.Items), err)
	}
}
