// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package agentinstance_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
	"github.com/aalis-dev/aalis-operator/controllers"
	"github.com/aalis-dev/aalis-operator/controllers/render"
	"github.com/aalis-dev/aalis-operator/controllers/testenv"
)

func TestPersonaThatComesLater(t *testing.T) {
	t.Parallel()
	s := newScene(t, 0)
	bot := testenv.Instance(s.ns, "hello")
	bot.Spec.PersonaRef.Name = "late"
	env.Create(t, bot)
	testenv.WaitFor(t, &env, bot, func(in *v1alpha1.AgentInstance) error {
		if in.Status.State != v1alpha1.StatePending {
			return fmt.Errorf("state = %s", in.Status.State)
		}
		return testenv.Ready(in.Status.Conditions, metav1.ConditionFalse, v1alpha1.ReasonPersonaNotFound, false, true)
	})
	env.Create(t, testenv.Persona(s.ns, "late", "You are late."))
	active(t, bot)
	// A bot that runs goes on when its declaration no longer makes sense.
	revision := bot.Status.Revision
	testenv.Edit(t, &env, bot, func(in *v1alpha1.AgentInstance) { in.Spec.PersonaRef.Name = "nobody" })
	testenv.WaitFor(t, &env, bot, func(in *v1alpha1.AgentInstance) error {
		return testenv.Ready(in.Status.Conditions, metav1.ConditionFalse, v1alpha1.ReasonPersonaNotFound, false, true)
	})
	if bot.Status.State != v1alpha1.StateActive || bot.Status.AppliedRevision != revision || bot.Status.Revision != revision {
		t.Errorf("status = %+v, want Active with revision %s", bot.Status, revision)
	}
	if got := delivered(t, bot).Current.Revision; got != revision {
		t.Errorf("delivered %s, want %s untouched", got, revision)
	}
}

func TestMissingSecretKey(t *testing.T) {
	t.Parallel()
	s := newScene(t, 1)
	bot := s.bots[0]
	s.node.Behave(t, testenv.Behaviour{Missing: []string{"llm/api-key"}})
	testenv.WaitFor(t, &env, bot, func(in *v1alpha1.AgentInstance) error {
		if in.Status.State != v1alpha1.StatePending {
			return fmt.Errorf("state = %s", in.Status.State)
		}
		return testenv.Ready(in.Status.Conditions, metav1.ConditionFalse, v1alpha1.ReasonPluginPending, true, false)
	})
	ready := meta.FindStatusCondition(bot.Status.Conditions, v1alpha1.ConditionReady)
	if !strings.Contains(ready.Message, "secret:llm/api-key") {
		t.Errorf("message = %q, want the key that is waited for", ready.Message)
	}
	testenv.WaitFor(t, &env, s.plugin, func(p *v1alpha1.Plugin) error {
		if p.Status.State != v1alpha1.StatePending {
			return fmt.Errorf("state of the Plugin = %s", p.Status.State)
		}
		return testenv.Ready(p.Status.Conditions, metav1.ConditionFalse, v1alpha1.ReasonPluginPending, true, false)
	})
	s.node.Behave(t, testenv.Behaviour{})
	active(t, bot)
	testenv.WaitFor(t, &env, s.plugin, func(p *v1alpha1.Plugin) error {
		return testenv.Ready(p.Status.Conditions, metav1.ConditionTrue, v1alpha1.ReasonApplied, false, false)
	})
	s.forbidden(t)
}

func TestUnknownModel(t *testing.T) {
	t.Parallel()
	s := newScene(t, 1)
	s.node.Behave(t, testenv.Behaviour{ModelMessage: "plugin main has no model small"})
	testenv.WaitFor(t, &env, s.bots[0], func(in *v1alpha1.AgentInstance) error {
		if in.Status.State != v1alpha1.StateActive {
			return fmt.Errorf("state = %s", in.Status.State)
		}
		return testenv.Ready(in.Status.Conditions, metav1.ConditionFalse, v1alpha1.ReasonModelNotFound, false, true)
	})
}

func TestPluginThatIsNotThere(t *testing.T) {
	t.Parallel()
	s := newScene(t, 1)
	bot := s.bots[0]
	testenv.Edit(t, &env, bot, func(in *v1alpha1.AgentInstance) {
		in.Spec.Plugins = append(in.Spec.Plugins, v1alpha1.InstancePlugin{Name: "spare"})
	})
	testenv.WaitFor(t, &env, bot, func(in *v1alpha1.AgentInstance) error {
		return testenv.Ready(in.Status.Conditions, metav1.ConditionFalse, v1alpha1.ReasonPluginNotFound, false, true)
	})
	env.Create(t, testenv.Plugin(s.ns, "spare"))
	active(t, bot)
}

func TestSuspend(t *testing.T) {
	t.Parallel()
	s := newScene(t, 1)
	bot := s.bots[0]
	testenv.Edit(t, &env, bot, func(in *v1alpha1.AgentInstance) { in.Spec.State = v1alpha1.DesiredStateSuspended })
	testenv.WaitFor(t, &env, bot, func(in *v1alpha1.AgentInstance) error {
		if in.Status.State != v1alpha1.StateDisabled {
			return fmt.Errorf("state = %s", in.Status.State)
		}
		return testenv.Ready(in.Status.Conditions, metav1.ConditionTrue, v1alpha1.ReasonSuspended, false, false)
	})
	// A persona edit counts as applied in a bot that has no pod: it will start with it.
	testenv.Edit(t, &env, s.persona, func(p *v1alpha1.Persona) { p.Spec.Prompt = "You are a sleeping owl." })
	testenv.WaitFor(t, &env, s.persona, func(p *v1alpha1.Persona) error {
		if *p.Status.ObservedGeneration != p.Generation || *p.Status.Usage.Applied != 1 {
			return fmt.Errorf("status = %+v", p.Status)
		}
		return nil
	})
	testenv.Edit(t, &env, bot, func(in *v1alpha1.AgentInstance) { in.Spec.State = v1alpha1.DesiredStateRunning })
	active(t, bot)
	s.forbidden(t)
}

func TestDelete(t *testing.T) {
	t.Parallel()
	s := newScene(t, 1)
	bot := s.bots[0]
	s.node.Behave(t, testenv.Behaviour{KeepPods: true})
	if err := env.Client().Delete(t.Context(), bot); err != nil {
		t.Fatal(err)
	}
	testenv.WaitFor(t, &env, bot, func(in *v1alpha1.AgentInstance) error {
		return testenv.Ready(in.Status.Conditions, metav1.ConditionFalse, v1alpha1.ReasonDeleting, true, false)
	})
	var role rbacv1.Role
	if err := env.Client().Get(t.Context(), testenv.Key(s.ns, "aalis-bot-0"), &role); err != nil {
		t.Errorf("the Role must outlive the pod: %v", err)
	}
	s.node.Behave(t, testenv.Behaviour{})
	testenv.Eventually(t, func() error {
		err := env.Client().Get(t.Context(), client.ObjectKeyFromObject(bot), bot)
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("the bot is still there: %w, finalizers %v", err, bot.Finalizers)
	})
	// Here is no garbage collector: what remains must be its to collect.
	for _, child := range []client.Object{
		&corev1.ServiceAccount{}, &rbacv1.Role{}, &rbacv1.RoleBinding{}, &corev1.ConfigMap{}, &corev1.Service{},
		&appsv1.StatefulSet{}, &networkingv1.NetworkPolicy{},
	} {
		if err := env.Client().Get(t.Context(), testenv.Key(s.ns, "aalis-bot-0"), child); err != nil {
			t.Errorf("reading %T: %v", child, err)
		} else if owner := metav1.GetControllerOf(child); owner == nil || owner.UID != bot.UID {
			t.Errorf("%T has the owner %+v", child, owner)
		}
	}
	var pod corev1.Pod
	if err := env.Client().Get(t.Context(), testenv.Key(s.ns, render.PodName(bot.Name)), &pod); !apierrors.IsNotFound(err) {
		t.Errorf("the pod is still there: %v", err)
	}
	s.forbidden(t)
}

func TestDeleteWithSkippedWait(t *testing.T) {
	t.Parallel()
	s := newScene(t, 1)
	s.node.Behave(t, testenv.Behaviour{KeepPods: true})
	if err := env.Client().Delete(t.Context(), s.bots[0]); err != nil {
		t.Fatal(err)
	}
	testenv.Edit(t, &env, s.bots[0], func(in *v1alpha1.AgentInstance) {
		in.Annotations = map[string]string{v1alpha1.AnnotationSkipWait: "the node is lost"}
	})
	testenv.Eventually(t, func() error {
		err := env.Client().Get(t.Context(), client.ObjectKeyFromObject(s.bots[0]), s.bots[0])
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("the bot is still there: %w", err)
	})
}

// TestDeletionIsBounded: a pod that never ends does not keep its bot for ever.
func TestDeletionIsBounded(t *testing.T) {
	t.Parallel()
	var later atomic.Int64
	s := newScene(t, 1, func(o *controllers.Options) {
		o.Now = func() time.Time { return time.Now().Add(time.Duration(later.Load())) }
	})
	bot := s.bots[0]
	s.node.Behave(t, testenv.Behaviour{KeepPods: true})
	if err := env.Client().Delete(t.Context(), bot); err != nil {
		t.Fatal(err)
	}
	testenv.WaitFor(t, &env, bot, func(in *v1alpha1.AgentInstance) error {
		return testenv.Condition(in.Status.Conditions, v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonDeleting)
	})
	later.Store(int64(time.Hour))
	testenv.Edit(t, &env, bot, func(in *v1alpha1.AgentInstance) { in.Labels["look"] = "again" })
	gone(t, bot)
}

func TestImageThatIsNotAllowed(t *testing.T) {
	t.Parallel()
	s := newScene(t, 1)
	bot := s.bots[0]
	testenv.Edit(t, &env, bot, func(in *v1alpha1.AgentInstance) { in.Spec.Image = "evil.example/aalis:1" })
	testenv.WaitFor(t, &env, bot, func(in *v1alpha1.AgentInstance) error {
		return testenv.Ready(in.Status.Conditions, metav1.ConditionFalse, v1alpha1.ReasonInvalidSpec, false, true)
	})
	if bot.Status.State != v1alpha1.StateActive {
		t.Errorf("state = %s, want Active: the old image runs", bot.Status.State)
	}
	uid := podUID(t, bot)
	testenv.Edit(t, &env, bot, func(in *v1alpha1.AgentInstance) { in.Spec.Image = "registry.example/aalis:2" })
	active(t, bot)
	if podUID(t, bot) == uid {
		t.Error("another image needs another pod")
	}
}

func podUID(t *testing.T, in *v1alpha1.AgentInstance) string {
	t.Helper()
	var pod corev1.Pod
	if err := env.Client().Get(t.Context(), testenv.Key(in.Namespace, render.PodName(in.Name)), &pod); err != nil {
		t.Fatal(err)
	}
	return string(pod.UID)
}

func TestTwoNamespacesAreApart(t *testing.T) {
	first, second := newScene(t, 1), newScene(t, 1)
	first.operator.Stop(t)
	second.operator.Stop(t)
	operator := env.StartOperator(t, nil, nil)
	operator.Quiet(t)
	operator.Writes.Reset()
	testenv.Edit(t, &env, first.persona, func(p *v1alpha1.Persona) { p.Spec.Prompt = "You are the owl of the first." })
	testenv.WaitFor(t, &env, first.persona, func(p *v1alpha1.Persona) error {
		if *p.Status.ObservedGeneration != p.Generation {
			return fmt.Errorf("status = %+v", p.Status)
		}
		return nil
	})
	operator.Quiet(t)
	if n := operator.Writes.Counts()["apply configmaps"]; n != 1 {
		t.Errorf("%d ConfigMaps were written, want that of the first namespace alone", n)
	}
	if got := delivered(t, second.bots[0]).Current.Sequence; got != 1 {
		t.Errorf("the second namespace got sequence %d", got)
	}
}

func TestFinalizersOfUsedObjects(t *testing.T) {
	t.Parallel()
	s := newScene(t, 1)
	bot := s.bots[0]
	if err := env.Client().Delete(t.Context(), s.persona); err != nil {
		t.Fatal(err)
	}
	testenv.WaitFor(t, &env, s.persona, func(p *v1alpha1.Persona) error {
		return testenv.Condition(p.Status.Conditions, v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonDeleting)
	})
	env.Create(t, testenv.Persona(s.ns, "successor", "You are the next."))
	testenv.Edit(t, &env, bot, func(in *v1alpha1.AgentInstance) { in.Spec.PersonaRef.Name = "successor" })
	gone(t, s.persona)
	// A deleted Plugin is absent at once; it stays until the kernel has let go of it.
	testenv.Edit(t, &env, bot, func(in *v1alpha1.AgentInstance) { in.Spec.Model = nil })
	if err := env.Client().Delete(t.Context(), s.plugin); err != nil {
		t.Fatal(err)
	}
	gone(t, s.plugin)
	testenv.WaitFor(t, &env, bot, func(in *v1alpha1.AgentInstance) error {
		return testenv.Condition(in.Status.Conditions, v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonPluginNotFound)
	})
	s.forbidden(t)
}

func gone(t *testing.T, obj client.Object) {
	t.Helper()
	testenv.Eventually(t, func() error {
		err := env.Client().Get(t.Context(), client.ObjectKeyFromObject(obj), obj)
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("%T is still there: %w", obj, err)
	})
}
