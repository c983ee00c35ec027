// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package agentinstance_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
	"github.com/aalis-dev/aalis-operator/controllers"
	"github.com/aalis-dev/aalis-operator/controllers/testenv"
)

// active waits until a bot is Active with everything acknowledged.
func active(t *testing.T, in *v1alpha1.AgentInstance) {
	t.Helper()
	testenv.WaitFor(t, &env, in, func(in *v1alpha1.AgentInstance) error {
		return testenv.Ready(in.Status.Conditions, metav1.ConditionTrue, v1alpha1.ReasonActive, false, false)
	})
}

// patient holds passing states back for so long that a slow machine writes none: counts of writes are then exact.
func patient(o *controllers.Options) { o.PassingAfter = time.Minute }

// unused waits until objects without a bot are known to be fine.
func unused(t *testing.T, plugin *v1alpha1.Plugin, persona *v1alpha1.Persona) {
	t.Helper()
	testenv.WaitFor(t, &env, plugin, func(p *v1alpha1.Plugin) error {
		return testenv.Ready(p.Status.Conditions, metav1.ConditionTrue, v1alpha1.ReasonUnused, false, false)
	})
	testenv.WaitFor(t, &env, persona, func(p *v1alpha1.Persona) error {
		return testenv.Ready(p.Status.Conditions, metav1.ConditionTrue, v1alpha1.ReasonUnused, false, false)
	})
}

func TestCreateToActive(t *testing.T) {
	ns := env.Namespace(t)
	env.StartNode(t, ns)
	plugin, persona := testenv.Plugin(ns, "main"), testenv.Persona(ns, "owl", "You are an owl.")
	env.Create(t, plugin, persona)
	operator := env.StartOperator(t, []string{ns}, patient)
	unused(t, plugin, persona)
	operator.Quiet(t)
	operator.Writes.Reset()

	bot := testenv.Instance(ns, "hello")
	env.Create(t, bot)
	active(t, bot)
	operator.Quiet(t)
	env.Refresh(t, bot)

	want := map[string]int{
		"apply serviceaccounts": 1, "apply roles": 1, "apply rolebindings": 1, "apply configmaps": 1,
		"apply networkpolicies": 1, "apply agentreplicas": 1, "apply services": 1, "apply statefulsets": 1,
		"patch agentinstances":        1, // finalizer
		"patch agentinstances/status": 2, // first and final
		"patch plugins":               1, // finalizer of the first use
		"patch personas":              1,
		"patch plugins/status":        1,
		"patch personas/status":       1,
		"create events":               1,
	}
	if diff := cmp.Diff(want, operator.Writes.Counts()); diff != "" {
		t.Errorf("writes of a create (-want +got):\n%s", diff)
	}
	if f := operator.Writes.Forbidden(); len(f) > 0 {
		t.Errorf("requests that the role does not allow: %v", f)
	}
	s := bot.Status
	if s.State != v1alpha1.StateActive || s.Revision == "" || s.AppliedRevision != s.Revision || s.PendingChange != nil {
		t.Errorf("status = %+v", s)
	}
	if len(s.Inputs) != 2 || len(s.Plugins) == 0 || s.Model == "" || *s.Sequence != 1 {
		t.Errorf("status lacks inputs, plugins, model or sequence: %+v", s)
	}
}
