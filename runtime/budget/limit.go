// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"
	_ "time/tzdata" // images have no database of time zones, and every place that checks one must know the same

	"github.com/aalis-dev/aalis-operator/runtime/kernelconfig"
	"github.com/aalis-dev/aalis-operator/runtime/money"
)

// The bounds of budgets.
const (
	// MaxLimits of one bot.
	MaxLimits = 16
	// MaxTokens is the largest limit in tokens.
	MaxTokens = 1_000_000_000_000_000
	maxZone   = 64 // bytes of a time zone's name
)

// Scope says what shares a limit.
type Scope string

// The scopes: the whole bot, each person, or each conversation.
const (
	Bot     Scope = "Bot"
	User    Scope = "User"
	Session Scope = "Session"
)

// Action is what a step does.
type Action string

// The actions, the mildest first.
const (
	// Warn tells the owners.
	Warn Action = "Warn"
	// SwitchModel answers with another model.
	SwitchModel Action = "SwitchModel"
	// ReadOnlyTools takes away the tools that change anything.
	ReadOnlyTools Action = "ReadOnlyTools"
)

// Step is what happens once a part of the limit is used.
type Step struct {
	// Percent of the limit, from 1 to 100.
	Percent int64
	Action  Action
	// Model to answer with, for SwitchModel.
	Model kernelconfig.Model
}

// Limit is a budget that has been checked.
type Limit struct {
	Name  string
	Scope Scope
	Per   Period
	Zone  *time.Location
	// Amount in tokens, or in billionths of Currency where one is given. 0 allows nothing.
	Amount   int64
	Currency string
	// Steps sorted by Percent.
	Steps []Step
}

// Unit is what the limit counts: tokens, or the currency.
func (l Limit) Unit() string { return cmp.Or(l.Currency, "tokens") }

// Read checks declared budgets. Its errors name the budget and the field as an AgentInstance spells it.
func Read(declared []kernelconfig.Budget) ([]Limit, error) {
	if len(declared) > MaxLimits {
		return nil, fmt.Errorf("budgets: may not have more than %d entries, got %d", MaxLimits, len(declared))
	}
	var errs []error
	out := make([]Limit, 0, len(declared))
	seen := map[string]bool{}
	for _, d := range declared {
		l, err := read(d)
		if err == nil && seen[d.Name] {
			err = errors.New(": listed twice")
		}
		seen[d.Name] = true
		if err != nil {
			errs = append(errs, fmt.Errorf("budgets[%s]%w", d.Name, err))
			continue
		}
		out = append(out, l)
	}
	return out, errors.Join(errs...)
}

func read(d kernelconfig.Budget) (Limit, error) {
	l := Limit{Name: d.Name, Scope: Scope(cmp.Or(d.Scope, string(Bot))), Per: Period(d.Per), Currency: d.Currency}
	var err error
	if l.Zone, err = Zone(d.TimeZone); err != nil {
		return l, fmt.Errorf(".timeZone: %w", err)
	}
	switch {
	case d.Name == "":
		return l, errors.New(".name: must be given")
	case l.Scope != Bot && l.Scope != User && l.Scope != Session:
		return l, fmt.Errorf(".scope: must be Bot, User or Session, got %q", d.Scope)
	case l.Per != Hour && l.Per != Day && l.Per != Month:
		return l, fmt.Errorf(".per: must be Hour, Day or Month, got %q", d.Per)
	}
	if l.Amount, err = readAmount(d); err != nil {
		return l, err
	}
	l.Steps, err = readSteps(d.Steps)
	return l, err
}

func readAmount(d kernelconfig.Budget) (int64, error) {
	switch {
	case (d.Tokens == nil) == (d.Amount == ""):
		return 0, errors.New(": must have either tokens or cost")
	case d.Tokens != nil && d.Currency != "":
		return 0, errors.New(".cost.currency: may not be given with tokens")
	case d.Tokens != nil && (*d.Tokens < 0 || *d.Tokens > MaxTokens):
		return 0, fmt.Errorf(".tokens: must be from 0 to %d, got %d", int64(MaxTokens), *d.Tokens)
	case d.Tokens != nil:
		return *d.Tokens, nil
	case !money.IsCurrency(d.Currency):
		return 0, fmt.Errorf(".cost.currency: must be three capital letters such as USD, got %q", d.Currency)
	}
	n, err := money.Parse(d.Amount)
	if err != nil {
		return 0, fmt.Errorf(".cost.amount: %w", err)
	}
	return n, nil
}

func readSteps(declared []kernelconfig.BudgetStep) ([]Step, error) {
	var out []Step
	for _, s := range declared {
		step := Step{Percent: int64(s.AtPercent), Action: Action(s.Action)}
		switch {
		case step.Percent < 1 || step.Percent > 100:
			return nil, fmt.Errorf(".steps[%s].atPercent: must be from 1 to 100, got %d", s.Action, s.AtPercent)
		case step.Action != Warn && step.Action != SwitchModel && step.Action != ReadOnlyTools:
			return nil, fmt.Errorf(".steps[%s].action: must be Warn, SwitchModel or ReadOnlyTools", s.Action)
		case (step.Action == SwitchModel) != (s.Model != nil):
			return nil, fmt.Errorf(".steps[%s].model: must be given for SwitchModel, and for nothing else", s.Action)
		case slices.ContainsFunc(out, func(o Step) bool { return o.Action == step.Action }):
			return nil, fmt.Errorf(".steps[%s]: listed twice", s.Action)
		case s.Model != nil:
			step.Model = *s.Model
		}
		out = append(out, step)
	}
	slices.SortStableFunc(out, func(a, b Step) int { return cmp.Compare(a.Percent, b.Percent) })
	return out, nil
}

// Zone finds a time zone by its name in the IANA database; UTC if the name is empty.
func Zone(name string) (*time.Location, error) {
	if name == "" {
		return time.UTC, nil
	}
	if name == "Local" || len(name) > maxZone {
		return nil, fmt.Errorf("must be a time zone such as Europe/Berlin, got %q", name[:min(len(name), maxZone)])
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil, fmt.Errorf("must be a time zone such as Europe/Berlin, got %q", name)
	}
	return zone, nil
}
