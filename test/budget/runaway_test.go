// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package budget_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aalis-dev/aalis-operator/hack/fakellm/fakellm"
	"github.com/aalis-dev/aalis-operator/runtime/contract/access"
	"github.com/aalis-dev/aalis-operator/runtime/contract/budget"
	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
	"github.com/aalis-dev/aalis-operator/runtime/contract/tools"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
	"github.com/aalis-dev/aalis-operator/runtime/kernelconfig"
	"github.com/aalis-dev/aalis-operator/test/wholebot"
)

const loop = `#toolloop echo {"text":"again"}`

// spender is a bot whose model calls a tool again after every result, for ever.
type spender struct {
	*wholebot.Bot
	t     *testing.T
	model *fakellm.Server
}

func newSpender(t *testing.T, declared ...kernelconfig.Budget) *spender {
	t.Helper()
	s := &spender{t: t, model: fakellm.New(fakellm.Options{})}
	server := httptest.NewServer(s.model)
	t.Cleanup(server.Close)
	s.Bot = wholebot.Start(t, server.URL, []string{"ann", "ben", "boss"}, kernel.Module{
		Name: "@test/plugin-echo", Inject: kernel.Inject{Optional: []string{tools.Service.Name()}},
		Apply: func(k *kernel.Context, _ map[string]any) error {
			tools.Use(k, []tools.Tool{{
				Policy: access.Policy{}, Definition: message.ToolDefinition{Type: "function", Function: message.ToolFunction{
					Name: "echo", Description: "Says it again.", Parameters: map[string]any{"type": "object"},
				}},
				Handler: func(_ context.Context, args map[string]any, _ tools.CallContext) (string, error) {
					return fmt.Sprint(args["text"]), nil
				},
			}})
			return nil
		},
	})
	s.declare(declared...)
	return s
}

func (s *spender) declare(declared ...kernelconfig.Budget) {
	s.t.Helper()
	raw, err := json.Marshal(declared)
	if err != nil {
		s.t.Fatal(err)
	}
	owners, err := json.Marshal(kernelconfig.Authority{Owners: []kernelconfig.Identity{{Platform: wholebot.Platform, UserID: "boss"}}})
	if err != nil {
		s.t.Fatal(err)
	}
	s.Apply(func(c *kernel.Config) {
		c.Settings[budget.Setting.Key()], c.Settings[access.Setting.Key()] = raw, owners
	})
}

func (s *spender) billed() int {
	total := 0
	for _, u := range s.model.Usage() {
		total += u.PromptTokens + u.CompletionTokens
	}
	return total
}

func tokens(name, scope string, n int64, steps ...kernelconfig.BudgetStep) kernelconfig.Budget {
	return kernelconfig.Budget{Name: name, Scope: scope, Per: "Month", Tokens: &n, Steps: steps}
}

// TestRunawayLoop: a model that asks for a tool for ever is stopped by the budget, within the turn. Who asked is told when the
// bot will answer again, the next one is told at once, and the owner sees it.
func TestRunawayLoop(t *testing.T) {
	const limit = 6000
	s := newSpender(t, tokens("month", "", limit, kernelconfig.BudgetStep{Action: "Warn", AtPercent: 50}))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	got := s.Say(ctx, "ann", "one", wholebot.Request(loop), nil)
	if !strings.Contains(got, "used up what I may spend") {
		t.Errorf("told %q", got)
	}
	calls, billed := len(s.model.Requests()), s.billed()
	t.Logf("%d calls, %d tokens billed of a budget of %d", calls, billed, limit)
	if calls < 3 || billed > limit || billed < limit/2 {
		t.Errorf("%d calls, %d of %d billed", calls, billed, limit)
	}
	// What is left is enough for a short question, and no more gets out of it by asking on.
	for range 20 {
		got = s.Say(ctx, "ben", "two", wholebot.Request("hello"), nil)
	}
	if !strings.Contains(got, "used up") || s.billed() > limit {
		t.Errorf("told %q with %d billed", got, s.billed())
	}
	if got := s.Say(ctx, "boss", "three", wholebot.Request("/usage"), nil); !strings.Contains(got, "month (Bot): ") || !strings.Contains(got, "of 6000 tokens") {
		t.Errorf("/usage says %q", got)
	}
	s.declare(tokens("month", "", 100*limit))
	if got := s.Say(ctx, "ben", "two", wholebot.Request("hello"), nil); strings.Contains(got, "used up") || got == "" {
		t.Errorf("with a higher limit: %q", got)
	}
}

// TestManyRunawayLoops: conversations that run away at the same time, of people with budgets of their own under that of the bot,
// together never get past either.
func TestManyRunawayLoops(t *testing.T) {
	const limit, each = 40_000, 25_000
	s := newSpender(t, tokens("month", "", limit), tokens("person", "User", each))
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			person := []string{"ann", "ben"}[i%2]
			if got := s.Say(ctx, person, fmt.Sprint("session", i), wholebot.Request(loop), nil); got == "" {
				t.Errorf("%s was told nothing", person)
			}
		})
	}
	all.Wait()
	billed := s.billed()
	t.Logf("%d calls, %d tokens billed of a budget of %d", len(s.model.Requests()), billed, limit)
	if billed > limit {
		t.Errorf("%d of %d billed", billed, limit)
	}
}
