// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aalis-dev/aalis-operator/runtime/budget"
	contract "github.com/aalis-dev/aalis-operator/runtime/contract/budget"
	"github.com/aalis-dev/aalis-operator/runtime/contract/llm"
	"github.com/aalis-dev/aalis-operator/runtime/contract/memory"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
	"github.com/aalis-dev/aalis-operator/runtime/kernelconfig"
)

// sweepEvery is how often accounts whose window is over are dropped.
const sweepEvery = 10 * time.Minute

// keeper is the running plugin.
type keeper struct {
	k *kernel.Context

	mu     sync.Mutex
	limits []budget.Limit // of the declaration; replaced, never modified
	unfit  bool           // the declaration cannot be read, and there is none before it
	ledger *budget.Ledger
	swept  time.Time
	warned map[budget.Key]int64 // the start of the window of which owners were told
	due    []warning            // of which they were not told yet
	shown  map[string]shown     // what was told of each limit, by its name

	backend memory.Backend // nil if there is none
	loaded  bool           // what was stored has been read, once
	dirty   map[budget.Key]bool
	gone    map[budget.Key]bool // to be removed from the store
	storing sync.Mutex          // held while something is stored
	failing bool                // storing failed last time; with storing
}

func newKeeper(k *kernel.Context) *keeper {
	return &keeper{k: k, ledger: budget.NewLedger(), warned: map[budget.Key]int64{}, shown: map[string]shown{}, dirty: map[budget.Key]bool{},
		gone: map[budget.Key]bool{}, swept: k.Now()}
}

// take puts the declared budgets into force. What was spent stays, by the name of the budget. A new declaration is reported without
// our saying so, as every config is.
func (b *keeper) take(_ context.Context, declared []kernelconfig.Budget, _ bool) {
	limits, err := budget.Read(declared)
	b.mu.Lock()
	defer b.mu.Unlock()
	if err != nil {
		b.unfit = len(b.limits) == 0
		b.k.Logger().Error("Left the budgets as they were, since the declared ones cannot be kept", "error", err)
		return
	}
	slices.SortFunc(limits, func(a, o budget.Limit) int { return strings.Compare(a.Name, o.Name) })
	b.limits, b.unfit, b.shown = limits, false, map[string]shown{}
}

// subject is the account of a limit that a call counts against; false if it counts against none, because nobody knows whose
// it is. Names of people and conversations are not stored.
func subject(limit budget.Limit, who contract.Who) (string, bool) {
	var name string
	switch limit.Scope {
	case budget.Bot:
		return "", true
	case budget.User:
		if who.UserID == "" {
			return "", false
		}
		name = who.Platform + "\x00" + who.UserID
	case budget.Session:
		if who.SessionID == "" {
			return "", false
		}
		name = who.SessionID
	}
	sum := sha256.Sum256([]byte(name))
	return hex.EncodeToString(sum[:16]), true
}

// hold is what was reserved in one account.
type hold struct {
	limit  budget.Limit
	key    budget.Key
	amount int64
}

// Reserve implements contract.Keeper.
func (b *keeper) Reserve(ctx context.Context, c contract.Call) (*contract.Grant, error) {
	holds, completion, refused := b.reserve(c)
	if refused != nil {
		b.k.Logger().Info("Refused a call of a model", "reason", refused.Reason, "budget", refused.Budget, "model", refused.Model,
			"sessionId", c.SessionID)
		contract.Refused.Emit(context.WithoutCancel(ctx), b.k, *refused)
		if refused.Reason == contract.Spent && b.exhaust(*refused) {
			contract.Moved.Emit(context.WithoutCancel(ctx), b.k, struct{}{})
		}
		return nil, refused
	}
	grant := &contract.Grant{MaxCompletion: completion}
	if len(holds) == 0 {
		return grant, nil
	}
	b.flush(context.WithoutCancel(ctx)) // what is reserved is to be stored whatever becomes of the turn
	grant.Settler = func(used llm.Usage) { b.settle(context.WithoutCancel(ctx), holds, c.Model, used) }
	return grant, nil
}

func (b *keeper) reserve(c contract.Call) (holds []hold, completion int, refused *contract.RefusedError) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.limits) == 0 && !b.unfit {
		return nil, c.MaxCompletion, nil
	}
	if !b.loaded || b.unfit {
		return nil, 0, &contract.RefusedError{Reason: contract.NotReady, Model: c.Model.Entry()}
	}
	now := b.k.Now()
	b.sweep(now)
	completion = c.MaxCompletion
	for _, limit := range b.limits {
		whose, counts := subject(limit, c.Who)
		if !counts {
			continue
		}
		standing := b.ledger.Look(limit, whose, now)
		room, reason := fits(standing, c, completion)
		if reason != "" {
			return nil, 0, &contract.RefusedError{
				Reason: reason, Budget: limit.Name, Scope: string(limit.Scope), Until: standing.End, Model: c.Model.Entry(),
			}
		}
		completion = room
	}
	most := llm.Usage{PromptTokens: c.PromptTokens, CompletionTokens: completion}
	for _, limit := range b.limits {
		if whose, counts := subject(limit, c.Who); counts {
			amount := worth(limit, c.Model, most)
			key := b.ledger.Reserve(limit, whose, amount, now)
			b.dirty[key] = true
			holds = append(holds, hold{limit, key, amount})
		}
	}
	return holds, completion, nil
}

// fits tells for how long a reply there is room, or why there is none.
func fits(s budget.Standing, c contract.Call, completion int) (room int, reason contract.Reason) {
	if s.Limit.Currency != "" && (c.Model.Price == nil || c.Model.Price.Currency != s.Limit.Currency) {
		return 0, contract.NoPrice
	}
	left := s.Left()
	fit := func(n int) bool {
		return worth(s.Limit, c.Model, llm.Usage{PromptTokens: c.PromptTokens, CompletionTokens: n}) <= left
	}
	if left == 0 || !fit(min(completion, contract.MinCompletion)) {
		return 0, contract.Spent
	}
	if fit(completion) {
		return completion, ""
	}
	low, high := min(completion, contract.MinCompletion), completion // low fits, high does not
	for high-low > 1 {
		if middle := low + (high-low)/2; fit(middle) {
			low = middle
		} else {
			high = middle
		}
	}
	return low, ""
}

// worth is what a call counts in the unit of a limit.
func worth(limit budget.Limit, model llm.Info, u llm.Usage) int64 {
	if limit.Currency == "" {
		return int64(max(0, u.PromptTokens)) + int64(max(0, u.CompletionTokens))
	}
	if model.Price == nil || model.Price.Currency != limit.Currency {
		return 0
	}
	return int64(model.Price.Cost(u))
}

func (b *keeper) settle(ctx context.Context, holds []hold, model llm.Info, used llm.Usage) {
	b.mu.Lock()
	now := b.k.Now()
	moved := false
	for _, h := range holds {
		b.ledger.Settle(h.key, h.limit, h.amount, worth(h.limit, model, used), now)
		b.dirty[h.key] = true
		b.note(h.limit, h.key, now)
		moved = b.moved(h.limit, h.key, now) || moved
	}
	b.mu.Unlock()
	b.flush(ctx)
	if moved {
		contract.Moved.Emit(ctx, b.k, struct{}{})
	}
}

// Steps implements contract.Keeper. Of several that ask for another model the one furthest used holds.
func (b *keeper) Steps(who contract.Who) contract.Steps {
	b.mu.Lock()
	defer b.mu.Unlock()
	var out contract.Steps
	most := int64(-1)
	now := b.k.Now()
	for _, limit := range b.limits {
		whose, counts := subject(limit, who)
		if !counts || len(limit.Steps) == 0 {
			continue
		}
		s := b.ledger.Look(limit, whose, now)
		for _, step := range s.Steps() {
			switch step.Action {
			case budget.ReadOnlyTools:
				out.ReadOnlyTools = true
			case budget.SwitchModel:
				if p := s.Percent(); p > most {
					most, out.Model = p, llm.Ref{Provider: step.Model.Provider, ID: step.Model.ID}
				}
			case budget.Warn:
			}
		}
	}
	return out
}

// Standings implements contract.Keeper.
func (b *keeper) Standings() []contract.Standing {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.k.Now()
	var out []contract.Standing
	for _, limit := range b.limits {
		s := b.ledger.Most(limit, now)
		out = append(out, contract.Standing{
			Name: limit.Name, Scope: string(limit.Scope), Unit: limit.Unit(), Limit: limit.Amount, Used: s.Used, Reserved: s.Reserved,
			Until: s.End, Exhausted: b.shown[limit.Name].exhausted && b.shown[limit.Name].until.Equal(s.End),
		})
	}
	return out
}

var _ contract.Keeper = (*keeper)(nil)
