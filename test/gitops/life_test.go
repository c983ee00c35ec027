// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"errors"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
	"github.com/aalis-dev/aalis-operator/controllers/testenv"
)

// family is one object of each kind that people declare, all for one bot.
type family struct {
	bot     *v1alpha1.AgentInstance
	plugin  *v1alpha1.Plugin
	persona *v1alpha1.Persona
	prefer  *v1alpha1.ServicePreference
	policy  *v1alpha1.AuthorityPolicy
}

func newFamily(ns string) family {
	return family{
		bot: testenv.Instance(ns, "hello"), plugin: testenv.Plugin(ns, "main"), persona: testenv.Persona(ns, "owl", "You are an owl."),
		prefer: preference(ns), policy: policy(ns),
	}
}

func (f family) all() []client.Object {
	return []client.Object{f.bot, f.plugin, f.persona, f.prefer, f.policy}
}

// TestLife: through the life of every kind, kstatus and Argo CD say what is so, and never that a change is done early.
func TestLife(t *testing.T) {
	ns := env.Namespace(t)
	f := newFamily(ns)
	env.Create(t, f.all()...)
	// Nobody has looked at them yet.
	is(t, inProgress, f.all()...)

	node := env.StartNode(t, ns)
	node.Behave(t, testenv.Behaviour{NoPods: true})
	operator := env.StartOperator(t, []string{ns}, nil)
	becomes(t, inProgress, f.all()...)
	operator.Quiet(t)
	is(t, inProgress, f.all()...)

	node.Behave(t, testenv.Behaviour{})
	becomes(t, current, f.all()...)

	// A change that no kernel has acknowledged is not done, for none of those that it concerns.
	node.Behave(t, testenv.Behaviour{Silent: true})
	testenv.Edit(t, &env, f.persona, func(p *v1alpha1.Persona) { p.Spec.Prompt = "You are a quiet owl." })
	testenv.Edit(t, &env, f.policy, func(p *v1alpha1.AuthorityPolicy) { p.Spec.Owners[0].UserID = "2" })
	is(t, inProgress, f.persona, f.policy)
	operator.Quiet(t)
	is(t, inProgress, f.bot, f.persona, f.policy)
	node.Behave(t, testenv.Behaviour{})
	becomes(t, current, f.all()...)

	// One that a kernel refuses has failed.
	refused := f.bot.Status.Revision
	node.Behave(t, testenv.Behaviour{Reject: func(_, revision string) string {
		if revision != refused {
			return "no such owl"
		}
		return ""
	}})
	testenv.Edit(t, &env, f.persona, func(p *v1alpha1.Persona) { p.Spec.Prompt = "You are no owl." })
	becomes(t, failed, f.bot, f.persona)
	node.Behave(t, testenv.Behaviour{})
	becomes(t, current, f.all()...)

	testenv.Edit(t, &env, f.bot, func(in *v1alpha1.AgentInstance) { in.Spec.State = v1alpha1.DesiredStateSuspended })
	becomes(t, suspended, f.bot)
	testenv.Edit(t, &env, f.bot, func(in *v1alpha1.AgentInstance) { in.Spec.State = "" })
	becomes(t, current, f.all()...)

	// While the operator is away, what it has not seen is not done.
	operator.Stop(t)
	priority := int32(5)
	testenv.Edit(t, &env, f.bot, func(in *v1alpha1.AgentInstance) { in.Spec.LogLevel = "debug" })
	testenv.Edit(t, &env, f.plugin, func(p *v1alpha1.Plugin) { p.Spec.Config.Raw = []byte(`{"baseUrl":"http://other.models.svc"}`) })
	testenv.Edit(t, &env, f.prefer, func(p *v1alpha1.ServicePreference) { p.Spec.Priority = &priority })
	is(t, inProgress, f.bot, f.plugin, f.prefer)
	env.StartOperator(t, []string{ns}, nil)
	becomes(t, current, f.all()...)

	// What is still used waits, and so does a bot whose pod has not ended.
	node.Behave(t, testenv.Behaviour{KeepPods: true, Silent: true})
	remove := func(obj client.Object) {
		t.Helper()
		if err := env.Client().Delete(t.Context(), obj); err != nil {
			t.Fatal(err)
		}
	}
	remove(f.plugin)
	remove(f.persona)
	is(t, terminating, f.plugin, f.persona)
	remove(f.bot)
	is(t, terminating, f.bot)
}

// TestNothingBroken: wrong declarations fail, with the operator's message for Argo CD's people to read.
func TestNothingBroken(t *testing.T) {
	ns := env.Namespace(t)
	env.StartNode(t, ns)
	env.StartOperator(t, []string{ns}, nil)
	f := newFamily(ns)
	f.plugin.Spec.Config.Raw = []byte(`{"baseUrl":7}`)
	env.Create(t, f.all()...)
	becomes(t, failed, f.bot, f.plugin)
	if health, message := argoHealth(t, read(t, f.bot)); health != "Degraded" || message == "" || message == "Waiting for the operator" {
		t.Errorf("Argo CD shows %s, %q", health, message)
	}
}

// TestReplica: what a kernel reports is progress until it runs something.
func TestReplica(t *testing.T) {
	ns := env.Namespace(t)
	node := env.StartNode(t, ns)
	node.Behave(t, testenv.Behaviour{Silent: true})
	operator := env.StartOperator(t, []string{ns}, nil)
	f := newFamily(ns)
	env.Create(t, f.all()...)
	replica := &v1alpha1.AgentReplica{}
	replica.Namespace, replica.Name = ns, "aalis-hello-0"
	testenv.Eventually(t, func() error { return env.Client().Get(t.Context(), client.ObjectKeyFromObject(replica), replica) })
	operator.Quiet(t)
	if health, message := argoHealth(t, read(t, replica)); health != "Progressing" {
		t.Errorf("Argo CD shows %s, %q", health, message)
	}
	node.Behave(t, testenv.Behaviour{})
	becomes(t, current, replica)
}

// TestMadeAnew: a bot that is deleted and declared again, as when a commit is reverted twice, is not called failed because
// the former one's objects have not all been collected.
func TestMadeAnew(t *testing.T) {
	ns := env.Namespace(t)
	env.StartNode(t, ns)
	operator := env.StartOperator(t, []string{ns}, nil)
	f := newFamily(ns)
	env.Create(t, f.all()...)
	becomes(t, current, f.bot)
	if err := env.Client().Delete(t.Context(), f.bot); err != nil {
		t.Fatal(err)
	}
	testenv.Eventually(t, func() error {
		if err := env.Client().Get(t.Context(), client.ObjectKeyFromObject(f.bot), f.bot); err == nil {
			return errors.New("the bot is still there")
		}
		return nil
	})
	again := testenv.Instance(ns, f.bot.Name)
	env.Create(t, again)
	operator.Quiet(t)
	is(t, inProgress, again)
	// Nothing collects garbage here but the test.
	for _, child := range []client.Object{
		&corev1.ServiceAccount{}, &corev1.ConfigMap{}, &corev1.Service{}, &rbacv1.Role{}, &rbacv1.RoleBinding{},
		&networkingv1.NetworkPolicy{}, &appsv1.StatefulSet{}, &v1alpha1.AgentReplica{},
	} {
		err := env.Client().DeleteAllOf(t.Context(), child, client.InNamespace(ns), client.MatchingLabels{v1alpha1.LabelInstance: again.Name})
		if err != nil {
			t.Fatal(err)
		}
	}
	becomes(t, current, again)
}
