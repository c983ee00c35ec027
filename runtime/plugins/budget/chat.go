// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aalis-dev/aalis-operator/runtime/budget"
	"github.com/aalis-dev/aalis-operator/runtime/contract/access"
	"github.com/aalis-dev/aalis-operator/runtime/contract/commands"
	"github.com/aalis-dev/aalis-operator/runtime/contract/gateway"
	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
	"github.com/aalis-dev/aalis-operator/runtime/i18n"
	"github.com/aalis-dev/aalis-operator/runtime/money"
)

// maxDue bounds the warnings that wait for an owner; the oldest goes first.
const maxDue = 32

// warning is one that owners are to be told.
type warning struct {
	key      budget.Key
	standing budget.Standing
}

// clock is how a time is shown: in the zone of the budget, with its name.
const clock = "2006-01-02 15:04 MST"

// note has the owners warned once a window, when the step is due. It is called with the lock held.
func (b *keeper) note(limit budget.Limit, key budget.Key, now time.Time) {
	i := slices.IndexFunc(limit.Steps, func(s budget.Step) bool { return s.Action == budget.Warn })
	if i < 0 {
		return
	}
	s := b.ledger.Look(limit, key.Subject, now)
	start := b.ledger.Stored(key).Start
	if told, ok := b.warned[key]; s.Percent() < limit.Steps[i].Percent || ok && told >= start {
		return
	}
	b.warned[key] = start
	b.k.Logger().Warn("Budget is nearly used", "budget", limit.Name, "scope", limit.Scope, "percent", s.Percent(), "until", s.End)
	if len(b.due) == maxDue {
		b.due = b.due[1:]
	}
	b.due = append(b.due, warning{key, s})
}

// warn tells what is due, in the conversation of the first owner who talks with the bot after it: a bot has no other way to
// reach one.
func (b *keeper) warn(ctx context.Context, m message.Incoming) {
	who, ok := access.Service.Get(b.k)
	if !ok || !who.IsOwner(m.Platform, m.UserID) {
		return
	}
	out, ok := gateway.Service.Get(b.k)
	if !ok {
		return
	}
	b.mu.Lock()
	due := b.due
	b.due = nil
	b.mu.Unlock()
	lang := i18n.Of(b.k)
	for _, w := range due {
		text := i18n.BudgetWarning(w.standing.Limit.Name, strconv.FormatInt(w.standing.Percent(), 10), w.standing.End.Format(clock))
		out.DispatchOutbound(ctx, message.Outgoing{
			Content: text.Notice(lang), SessionID: m.SessionID, Platform: m.Platform, TurnID: m.TurnID,
		})
	}
}

func (b *keeper) command() commands.Command {
	return commands.Command{
		Declaration: "usage", Policy: access.Policy{Visibility: access.Restricted}, Handler: b.usage,
		Description:  "Show how the budgets stand. Only for owners.",
		Translations: map[string]commands.Texts{string(i18n.Chinese): {Description: "查看预算使用情况（仅所有者）"}},
		Examples:     []string{"/usage"},
	}
}

func (b *keeper) usage(_ context.Context, call commands.Call) (string, error) {
	lang := i18n.Of(b.k)
	if who, ok := access.Service.Get(b.k); !ok || !who.IsOwner(call.Platform, call.UserID) {
		return i18n.BudgetOwnersOnly().In(lang), nil
	}
	var lines []string
	for _, s := range b.Standings() {
		unit, show := s.Unit, money.Format
		if unit == (budget.Limit{}).Unit() {
			unit, show = i18n.BudgetTokens().In(lang), func(n int64) string { return strconv.FormatInt(n, 10) }
		}
		percent := budget.Standing{Limit: budget.Limit{Amount: s.Limit}, Used: s.Used, Reserved: s.Reserved}.Percent()
		lines = append(lines, i18n.BudgetLine(
			s.Name, s.Scope, show(s.Used), show(s.Limit), unit, strconv.FormatInt(percent, 10), s.Until.Format(clock),
		).In(lang))
	}
	if lines == nil {
		return i18n.BudgetNone().In(lang), nil
	}
	return strings.Join(lines, "\n"), nil
}
