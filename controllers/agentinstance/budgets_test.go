// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package agentinstance_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
	"github.com/aalis-dev/aalis-operator/controllers/render"
	"github.com/aalis-dev/aalis-operator/controllers/testenv"
)

// TestBudgetsInStatus: what a kernel says of its budgets is in the bot's status; while one refuses calls a condition says until
// when, the bot stays Ready, and when that time has come the condition goes although the kernel says nothing new.
func TestBudgetsInStatus(t *testing.T) {
	t.Parallel()
	s := newScene(t, 1)
	kernel := env.Kernel(t, s.ns, s.bots[0].Name)
	says := func(state v1alpha1.BudgetState, percent int32, until time.Time) {
		body, err := json.Marshal(map[string]any{"status": map[string]any{"budgets": []v1alpha1.BudgetStatus{{
			Name: "day", Scope: "Bot", Unit: "tokens", Limit: "1000", UsedPercent: &percent, State: state, Until: metav1.NewTime(until),
		}}}})
		if err != nil {
			t.Fatal(err)
		}
		replica := &v1alpha1.AgentReplica{ObjectMeta: metav1.ObjectMeta{Namespace: s.ns, Name: render.PodName(s.bots[0].Name)}}
		if err := kernel.Status().Patch(t.Context(), replica, client.RawPatch("application/merge-patch+json", body)); err != nil {
			t.Fatal(err)
		}
	}
	shows := func(percent int32, exhausted bool) {
		t.Helper()
		testenv.WaitFor(t, &env, s.bots[0], func(in *v1alpha1.AgentInstance) error {
			b := in.Status.Budgets
			condition := meta.IsStatusConditionTrue(in.Status.Conditions, v1alpha1.ConditionBudgetExhausted)
			if len(b) != 1 || b[0].UsedPercent == nil || *b[0].UsedPercent != percent || condition != exhausted {
				return fmt.Errorf("budgets %+v, exhausted %t", b, condition)
			}
			return testenv.Ready(in.Status.Conditions, metav1.ConditionTrue, v1alpha1.ReasonActive, false, false)
		})
	}
	says(v1alpha1.BudgetWithin, 40, time.Now().Add(time.Hour))
	shows(40, false)
	says(v1alpha1.BudgetExhausted, 90, time.Now().Add(time.Hour))
	shows(90, true)
	s.settle(t)
	s.operator.Quiet(t)
	if n := s.operator.Writes.Total(); n != 0 {
		t.Errorf("wrote %d times while a budget is exhausted: %s", n, s.operator.Writes)
	}
	says(v1alpha1.BudgetExhausted, 100, time.Now().Add(3*time.Second))
	shows(100, false)
}
