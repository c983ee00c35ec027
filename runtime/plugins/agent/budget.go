// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"errors"
	"slices"

	"github.com/aalis-dev/aalis-operator/runtime/contract/access"
	"github.com/aalis-dev/aalis-operator/runtime/contract/budget"
	"github.com/aalis-dev/aalis-operator/runtime/contract/llm"
	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
	"github.com/aalis-dev/aalis-operator/runtime/contract/tools"
	"github.com/aalis-dev/aalis-operator/runtime/i18n"
)

// untilFormat is how people are told when a budget begins anew.
const untilFormat = "2006-01-02 15:04 MST"

func (t *turn) who() budget.Who {
	return budget.Who{Platform: t.msg.Platform, UserID: t.msg.UserID, SessionID: t.msg.SessionID}
}

// economize does what budgets ask for that are nearly used: another model for the rest of the turn, and only tools that change
// nothing. A model that is not there is left alone, with a warning: the budget's end comes anyway.
func (t *turn) economize(list []message.ToolDefinition) []message.ToolDefinition {
	steps := budget.StepsFor(t.a.k, t.who())
	if !steps.Model.IsZero() && t.model.Info().Entry() != steps.Model.String() {
		if m, ok := llm.Resolve(t.a.k, steps.Model, llm.CapChat); ok {
			t.log().Info("Switched to the model for budgets that are nearly used", "from", t.model.Info().Entry(), "to", steps.Model.String())
			t.use(m)
		} else {
			t.log().Warn("Could not switch to the model for budgets that are nearly used: it is not there", "model", steps.Model.String())
		}
	}
	t.readOnly = steps.ReadOnlyTools
	if !t.readOnly || len(list) == 0 {
		return list
	}
	registry, ok := tools.Service.Get(t.a.k)
	if !ok {
		return list
	}
	harmless := map[string]bool{}
	for _, info := range registry.List() {
		harmless[info.Name] = access.MayRunUnguarded(info.Policy)
	}
	return slices.DeleteFunc(slices.Clone(list), func(d message.ToolDefinition) bool { return !harmless[d.Function.Name] })
}

// mayRun tells whether a tool may be called while budgets are nearly used.
func (t *turn) mayRun(registry tools.Registry, name string) bool {
	if !t.readOnly {
		return true
	}
	list := registry.List()
	i := slices.IndexFunc(list, func(info tools.Info) bool { return info.Name == name })
	return i < 0 || access.MayRunUnguarded(list[i].Policy)
}

// reserve asks leave for a call, and bounds its reply to what is left.
func (t *turn) reserve(ctx context.Context, c *call) (*budget.Grant, error) {
	info := c.model.Info()
	longest := c.req.MaxTokens
	if longest <= 0 {
		longest = budget.Longest(info)
	}
	grant, err := budget.Reserve(ctx, t.a.k, budget.Call{
		Who: t.who(), Model: info, PromptTokens: c.promptTokens + t.counts.definitions(c.req.Tools), MaxCompletion: longest,
	})
	if err != nil {
		return nil, err
	}
	if grant.MaxCompletion < longest {
		c.req.MaxTokens = grant.MaxCompletion
	}
	return grant, nil
}

// refusal words a budget's refusal for whoever asked.
func refusal(err error) (i18n.Message, bool) {
	refused, ok := errors.AsType[*budget.RefusedError](err)
	if !ok {
		return i18n.Message{}, false
	}
	until := refused.Until.Format(untilFormat)
	switch {
	case refused.Reason == budget.NoPrice:
		return i18n.BudgetNoPrice(i18n.Cut(refused.Model, maxNameUnits), refused.Budget), true
	case refused.Reason == budget.NotReady:
		return i18n.BudgetNotReady(), true
	case refused.Scope == "User":
		return i18n.BudgetSpentUser(until), true
	case refused.Scope == "Session":
		return i18n.BudgetSpentConversation(until), true
	default:
		return i18n.BudgetSpent(until), true
	}
}
