// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package compose

import (
	"slices"
	"strings"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
	"github.com/aalis-dev/aalis-operator/runtime/budget"
	"github.com/aalis-dev/aalis-operator/runtime/kernelconfig"
)

// budgetModule is the short name of the module that keeps budgets.
const budgetModule = "budget"

// composeBudgets takes the declared budgets over. It checks them with the very code that keeps them: what admission cannot
// tell, such as a time zone that does not exist, is told here.
func (c *composer) composeBudgets() {
	declared := c.instance.Spec.Budgets
	if len(declared) == 0 {
		return
	}
	if n := len(declared); n > budget.MaxLimits {
		c.bad(v1alpha1.ReasonInvalidSpec, "spec.budgets", "may not have more than %d entries, got %d", budget.MaxLimits, n)
		return
	}
	seen := map[string]bool{}
	for i := range declared {
		d := &declared[i]
		path := "spec.budgets[" + d.Name + "]"
		if !dnsLabel.MatchString(d.Name) || len(d.Name) > maxInstanceName {
			c.bad(v1alpha1.ReasonInvalidSpec, path+".name", "must be a DNS label of at most %d characters, got %q", maxInstanceName, d.Name)
			continue
		}
		if seen[d.Name] {
			c.bad(v1alpha1.ReasonInvalidSpec, path, "may not be listed twice")
			continue
		}
		seen[d.Name] = true
		out, ok := c.composeBudget(path, d)
		if !ok {
			continue
		}
		if _, err := budget.Read([]kernelconfig.Budget{out}); err != nil {
			field, message, _ := strings.Cut(strings.TrimPrefix(err.Error(), "budgets["+d.Name+"]"), ": ")
			c.bad(v1alpha1.ReasonInvalidSpec, path+field, "%s", message)
			continue
		}
		c.config.Budgets = append(c.config.Budgets, out)
	}
	slices.SortFunc(c.config.Budgets, func(a, b kernelconfig.Budget) int { return strings.Compare(a.Name, b.Name) })
	if e := c.byName(budgetModule); e != nil && e.disabled {
		c.bad(v1alpha1.ReasonInvalidSpec, "spec.budgets", "need the module %s, which spec.plugins turns off", budgetModule)
	}
}

func (c *composer) composeBudget(path string, d *v1alpha1.AgentBudget) (out kernelconfig.Budget, ok bool) {
	out = kernelconfig.Budget{Name: d.Name, Scope: string(d.Scope), Per: string(d.Per), TimeZone: d.TimeZone, Tokens: d.Tokens}
	if out.Scope == string(budget.Bot) {
		out.Scope = "" // the default is not written, so that it makes no other revision
	}
	if d.Cost != nil {
		out.Amount, out.Currency = d.Cost.Amount, d.Cost.Currency
	}
	ok = true
	for _, s := range d.Steps {
		step := kernelconfig.BudgetStep{Action: string(s.Action), AtPercent: s.AtPercent}
		if s.Model != nil {
			at := path + ".steps[" + string(s.Action) + "].model.plugin"
			e, message := c.provider(s.Model.Plugin, llmService)
			switch {
			case message != "":
				c.bad(v1alpha1.ReasonModelNotFound, at, "%s", message)
				ok = false
				continue
			case e == nil: // a Plugin that is away; its own problem says so
				continue
			}
			step.Model = &kernelconfig.Model{Provider: e.id, ID: s.Model.ID}
		}
		out.Steps = append(out.Steps, step)
	}
	return out, ok
}
