// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package agentinstance

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
	"github.com/aalis-dev/aalis-operator/controllers/shared"
)

// fillBudgets shows how the budgets stand. A window that is over counts as a new one although the kernel has not said so: a bot
// that nobody talks to has nothing to report. While no kernel reports, what it said last stays.
func (p *pass) fillBudgets(status *v1alpha1.AgentInstanceStatus) {
	if p.suspended() {
		status.Budgets = nil
	}
	if r := p.world.replica; r != nil {
		status.Budgets = slices.Clone(r.Status.Budgets)
	}
	var spent []string
	for _, b := range status.Budgets {
		if b.State == v1alpha1.BudgetExhausted && p.now.Before(b.Until.Time) {
			spent = append(spent, fmt.Sprintf("budget %s (%s) of %s %s refuses calls until %s", b.Name, b.Scope, b.Limit, b.Unit, b.Until.UTC().Format(time.RFC3339)))
		}
	}
	if spent == nil {
		shared.RemoveCondition(&status.Conditions, v1alpha1.ConditionBudgetExhausted)
		return
	}
	shared.SetCondition(&status.Conditions, p.instance.Generation, metav1.Condition{
		Type: v1alpha1.ConditionBudgetExhausted, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonBudgetSpent, Message: strings.Join(spent, "; "),
	})
}

// untilBudget is how long it takes until an exhausted budget begins anew; 0 if there is none.
func (p *pass) untilBudget() time.Duration {
	var next time.Duration
	if r := p.world.replica; r != nil {
		for _, b := range r.Status.Budgets {
			if left := b.Until.Sub(p.now); b.State == v1alpha1.BudgetExhausted && left > 0 && (next == 0 || left < next) {
				next = left
			}
		}
	}
	if next > 0 {
		next += time.Second // clocks differ, and the condition counts whole seconds
	}
	return next
}
