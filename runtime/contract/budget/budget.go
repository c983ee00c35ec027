// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package budget is the contract between the plugin that keeps a bot within its budgets and whoever calls a model: what a
// call may take at most is reserved before it, and settled after it.
package budget

import (
	"context"
	"fmt"
	"time"

	"github.com/aalis-dev/aalis-operator/runtime/contract/llm"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
	"github.com/aalis-dev/aalis-operator/runtime/kernelconfig"
)

// Service is the key of the service budget.
var Service = kernel.NewService[Keeper]("budget")

// Setting is the top-level config key of the declared budgets (spec.budgets of an AgentInstance).
var Setting = kernel.NewSetting[[]kernelconfig.Budget]("budgets")

// MinCompletion is the shortest reply, in tokens, that is worth asking for: a call for whose reply less is left is refused.
const MinCompletion = 256

// Who a call is made for. What is empty is not known, as for a summary.
type Who struct {
	Platform, UserID, SessionID string
}

// Call is a call of a model that is about to be made.
type Call struct {
	Who

	Model llm.Info
	// PromptTokens by our count.
	PromptTokens int
	// MaxCompletion is the longest reply that is asked for, in tokens; 0 for a call that has none, such as an embedding.
	MaxCompletion int
}

// Longest is the longest reply that a call of a model can have, where the request does not bound it.
func Longest(info llm.Info) int {
	if info.MaxOutputTokens > 0 {
		return info.MaxOutputTokens
	}
	return unknownCompletion
}

// unknownCompletion is assumed of a model of which nothing is known, as llm.Info says.
const unknownCompletion = 4096

// Grant is leave to make one call. Whoever got it settles it once, whatever becomes of the call.
type Grant struct {
	// MaxCompletion is the longest reply that the budgets have room for, in tokens; at most what was asked for.
	MaxCompletion int
	// Settler takes back what was reserved; nil where nothing was.
	Settler func(used llm.Usage)
}

// Settle tells what the call took. It does nothing the second time.
func (g *Grant) Settle(used llm.Usage) {
	if settle := g.Settler; settle != nil {
		g.Settler = nil
		settle(used)
	}
}

// Steps are what budgets that are nearly used ask for.
type Steps struct {
	// Model to answer with; the zero Ref is whichever it would be.
	Model llm.Ref
	// ReadOnlyTools leaves only tools that change nothing.
	ReadOnlyTools bool
}

// Tokens is the unit of what is counted in tokens.
const Tokens = "tokens"

// Standing is how a budget stands; of one that counts people or conversations apart, whoever spent most.
type Standing struct {
	Name, Scope string
	// Unit is tokens, or a currency.
	Unit string
	// Limit, Used and Reserved in tokens, or in billionths of the currency.
	Limit, Used, Reserved int64
	// Until is the end of the window.
	Until time.Time
	// Exhausted tells that a call was refused in the window because too little is left.
	Exhausted bool
}

// Moved is the event of a budget whose Standing has changed enough to be told: by a tenth of the limit, or by being exhausted.
var Moved = kernel.NewEvent[struct{}]("budget:moved")

// Percent of the limit that is used and reserved, rounded down; 100 of one that allows nothing, and never more.
func (s Standing) Percent() int {
	spent := s.Used + s.Reserved
	if s.Limit <= 0 || spent >= s.Limit || spent < 0 {
		return 100
	}
	return int(float64(spent) / float64(s.Limit) * 100)
}

// Keeper keeps a bot within its budgets. Its methods may be called concurrently.
type Keeper interface {
	// Steps that are due for somebody.
	Steps(who Who) Steps
	// Reserve takes what a call may cost out of every budget that it counts against, or none of it and gives a
	// *RefusedError.
	Reserve(ctx context.Context, c Call) (*Grant, error)
	// Standings of all budgets, sorted by name; nil while none is declared.
	Standings() []Standing
}

// Reason says why a call was refused.
type Reason string

// The reasons.
const (
	// Spent: too little is left.
	Spent Reason = "Spent"
	// NoPrice: the budget is in money, and the model has no price in its currency.
	NoPrice Reason = "NoPrice"
	// NotReady: what was spent before is not known yet, or nobody keeps the declared budgets.
	NotReady Reason = "NotReady"
)

// RefusedError says that a call may not be made.
type RefusedError struct {
	Reason Reason
	// Budget that refused; empty with NotReady. Scope is whose it is.
	Budget, Scope string
	// Until is when its window ends.
	Until time.Time
	// Model that was to be called.
	Model string
}

// Refused is the event of a call that was refused.
var Refused = kernel.NewEvent[RefusedError]("budget:refused")

// Error implements error.
func (e *RefusedError) Error() string {
	switch e.Reason {
	case NoPrice:
		return fmt.Sprintf("budget %s: model %s has no price in its currency", e.Budget, e.Model)
	case Spent:
		return fmt.Sprintf("budget %s is used up until %s", e.Budget, e.Until.Format(time.RFC3339))
	case NotReady:
	}
	return "the budgets are not ready"
}

// Reserve asks whoever keeps the budgets. With none declared it grants everything; with some declared and nobody who keeps
// them it refuses.
func Reserve(ctx context.Context, k *kernel.Context, c Call) (*Grant, error) {
	if keeper, ok := Service.Get(k); ok {
		return keeper.Reserve(ctx, c)
	}
	if declared, _, err := Setting.Get(k); err != nil || len(declared) > 0 {
		return nil, &RefusedError{Reason: NotReady, Model: c.Model.Entry()}
	}
	return &Grant{MaxCompletion: c.MaxCompletion}, nil
}

// StepsFor gives the steps that are due for somebody.
func StepsFor(k *kernel.Context, who Who) Steps {
	if keeper, ok := Service.Get(k); ok {
		return keeper.Steps(who)
	}
	return Steps{}
}
