// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/aalis-dev/aalis-operator/runtime/contract/access"
	contract "github.com/aalis-dev/aalis-operator/runtime/contract/budget"
	"github.com/aalis-dev/aalis-operator/runtime/contract/commands"
	"github.com/aalis-dev/aalis-operator/runtime/contract/gateway"
	"github.com/aalis-dev/aalis-operator/runtime/contract/llm"
	"github.com/aalis-dev/aalis-operator/runtime/contract/memory"
	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
	"github.com/aalis-dev/aalis-operator/runtime/kernelconfig"
	"github.com/aalis-dev/aalis-operator/runtime/kerneltest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var errBroken = errors.New("out of order")

// shelf is a memory backend that holds what the plugin stores. What it has no method for panics.
type shelf struct {
	memory.Backend

	mu     sync.Mutex
	values map[string]json.RawMessage
	broken bool
	writes int
}

func newShelf() *shelf { return &shelf{values: map[string]json.RawMessage{}} }

func (s *shelf) breakDown(broken bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.broken = broken
}

func (s *shelf) ListMetadata(_ context.Context, namespace string) ([]memory.Entry, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.broken || namespace != memory.NamespaceBudget {
		return nil, errBroken
	}
	var out []memory.Entry
	for _, key := range slices.Sorted(maps.Keys(s.values)) {
		out = append(out, memory.Entry{Key: key, Data: s.values[key]})
	}
	return out, nil
}

func (s *shelf) CommitMetadata(_ context.Context, ops []memory.Op) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.broken {
		return errBroken
	}
	s.writes++
	for _, op := range ops {
		if op.Data == nil {
			delete(s.values, op.Key)
		} else {
			s.values[op.Key] = op.Data
		}
	}
	return nil
}

func (s *shelf) copied() *shelf {
	s.mu.Lock()
	defer s.mu.Unlock()
	return &shelf{values: maps.Clone(s.values)}
}

type owners struct{ access.Authority }

func (owners) IsOwner(_, userID string) bool { return userID == "boss" }

type door struct {
	gateway.Gateway

	mu   sync.Mutex
	sent []string
}

func (d *door) DispatchOutbound(_ context.Context, m message.Outgoing) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.sent = append(d.sent, m.SessionID+": "+m.Content)
}

type bot struct {
	*kerneltest.Harness
	t    *testing.T
	keep *keeper
	door *door
}

func start(t *testing.T, s memory.Backend, declared ...kernelconfig.Budget) *bot {
	t.Helper()
	b := &bot{t: t, door: &door{}}
	opts := []kerneltest.Option{
		kerneltest.WithPlugin(module(time.Millisecond), "", nil), kerneltest.WithSetting(contract.Setting.Key(), declared),
		kerneltest.WithService[access.Authority](access.Service, owners{}), kerneltest.WithService[gateway.Gateway](gateway.Service, b.door),
	}
	if s != nil {
		opts = append(opts, kerneltest.WithService(memory.Service, s))
	}
	b.Harness = kerneltest.New(t, opts...)
	got, ok := contract.Service.Get(b.Root())
	if !ok {
		t.Fatalf("there is no keeper:\n%s", b.Logs)
	}
	b.keep, _ = got.(*keeper)
	return b
}

// ready waits until what is stored has been read.
func (b *bot) ready() *bot {
	b.t.Helper()
	for {
		b.keep.mu.Lock()
		loaded := b.keep.loaded
		b.keep.mu.Unlock()
		if loaded {
			return b
		}
		select {
		case <-b.t.Context().Done():
			b.t.Fatal("nothing was read")
		case <-time.After(time.Millisecond):
		}
	}
}

func tokens(name, scope string, n int64, steps ...kernelconfig.BudgetStep) kernelconfig.Budget {
	return kernelconfig.Budget{Name: name, Scope: scope, Per: "Day", Tokens: &n, Steps: steps}
}

func call(who string, prompt, completion int) contract.Call {
	c := contract.Call{Model: llm.Info{Provider: "p", ID: "m"}, PromptTokens: prompt, MaxCompletion: completion}
	if who != "" {
		c.Who = contract.Who{Platform: "x", UserID: who, SessionID: "of-" + who}
	}
	return c
}

func (b *bot) reserve(c contract.Call) *contract.Grant {
	b.t.Helper()
	g, err := contract.Reserve(b.t.Context(), b.Root(), c)
	if err != nil {
		b.t.Fatal(err)
	}
	return g
}

func (b *bot) refused(c contract.Call, reason contract.Reason, budget string) contract.RefusedError {
	b.t.Helper()
	g, err := contract.Reserve(b.t.Context(), b.Root(), c)
	refused, ok := errors.AsType[*contract.RefusedError](err)
	if !ok || refused.Reason != reason || refused.Budget != budget {
		b.t.Fatalf("got %+v, %v; want %s by %q", g, err, reason, budget)
	}
	return *refused
}

func used(prompt, completion int) llm.Usage {
	return llm.Usage{PromptTokens: prompt, CompletionTokens: completion}
}

func TestConformance(t *testing.T) {
	kerneltest.Run(t, Plugin, kerneltest.WithService[memory.Backend](memory.Service, newShelf()))
}

func TestReserveAndSettle(t *testing.T) {
	b := start(t, newShelf(), tokens("day", "", 10_000)).ready()
	g := b.reserve(call("ann", 1000, 4096))
	if g.MaxCompletion != 4096 {
		t.Errorf("reply bound to %d", g.MaxCompletion)
	}
	if s := b.keep.Standings()[0]; s.Reserved != 5096 || s.Used != 0 || s.Limit != 10_000 || s.Unit != "tokens" {
		t.Errorf("%+v", s)
	}
	// What is left is 4904: the next reply is bound to what its prompt leaves of that.
	second := b.reserve(call("ben", 4000, 4096))
	if second.MaxCompletion != 904 {
		t.Errorf("reply bound to %d, want 904", second.MaxCompletion)
	}
	refused := b.refused(call("cid", 1, 4096), contract.Spent, "day")
	if refused.Until.Sub(b.Clock.Now()) > 24*time.Hour || refused.Scope != "Bot" {
		t.Errorf("%+v", refused)
	}
	g.Settle(used(900, 100))
	g.Settle(used(900, 100)) // the second time it does nothing
	second.Settle(used(0, 0))
	if s := b.keep.Standings()[0]; s.Reserved != 0 || s.Used != 1000 {
		t.Errorf("%+v", s)
	}
	// More than was reserved is counted all the same.
	b.reserve(call("ann", 1, 300)).Settle(used(50_000, 1))
	b.refused(call("ann", 1, 300), contract.Spent, "day")
	b.Clock.Advance(24 * time.Hour)
	b.reserve(call("ann", 1, 300)).Settle(used(1, 1))
}

func TestScopes(t *testing.T) {
	b := start(t, newShelf(), tokens("all", "Bot", 3000), tokens("each", "User", 1000), tokens("talk", "Session", 2000)).ready()
	b.reserve(call("ann", 500, 256)).Settle(used(900, 50))
	b.refused(call("ann", 500, 256), contract.Spent, "each")
	b.reserve(call("ben", 500, 256)).Settle(used(500, 100))
	// Nobody knows whose a summary is: it counts against the bot alone, and an embedding needs no room for a reply.
	b.reserve(call("", 1000, 256)).Settle(used(1400, 0))
	b.refused(call("", 1, 256), contract.Spent, "all")
	b.reserve(call("", 50, 0)).Settle(used(50, 0))
	b.refused(call("", 1, 0), contract.Spent, "all")
	// What a refusal has looked at is not reserved.
	for _, s := range b.keep.Standings() {
		if s.Reserved != 0 {
			t.Errorf("%+v", s)
		}
	}
}

func TestCost(t *testing.T) {
	n := kernelconfig.Budget{Name: "money", Per: "Month", Amount: "0.01", Currency: "USD"}
	b := start(t, newShelf(), n).ready()
	priced := call("ann", 1000, 4096)
	b.refused(priced, contract.NoPrice, "money")
	priced.Model.Price = &llm.Price{Currency: "EUR"}
	b.refused(priced, contract.NoPrice, "money")
	// One dollar for a million tokens of a prompt, ten for those of a reply: 0.001 and at most 0.009, which is 900.
	priced.Model.Price = &llm.Price{Currency: "USD", Prompt: 1_000_000_000, CachedPrompt: 0, Completion: 10_000_000_000}
	g := b.reserve(priced)
	if g.MaxCompletion != 900 {
		t.Errorf("reply bound to %d, want 900", g.MaxCompletion)
	}
	cached := 1000
	g.Settle(llm.Usage{PromptTokens: 1000, CachedPromptTokens: &cached, CompletionTokens: 500})
	if s := b.keep.Standings()[0]; s.Used != 5_000_000 || s.Unit != "USD" {
		t.Errorf("%+v", s)
	}
}

func TestBudgetOfNothing(t *testing.T) {
	b := start(t, newShelf(), tokens("none", "", 0)).ready()
	b.refused(call("ann", 0, 0), contract.Spent, "none")
}

// TestFailsClosed: nothing is called before it is known what was spent, or where nobody keeps what is declared.
func TestFailsClosed(t *testing.T) {
	s := newShelf()
	s.breakDown(true)
	b := start(t, s, tokens("day", "", 10_000))
	b.refused(call("ann", 1, 1), contract.NotReady, "")
	s.breakDown(false)
	b.ready().reserve(call("ann", 1, 1)).Settle(used(1, 1))
	// A store that fails later stops nobody, and gets it all when it works again.
	s.breakDown(true)
	b.reserve(call("ann", 1, 1)).Settle(used(10, 10))
	s.breakDown(false)
	b.reserve(call("ann", 1, 1)).Settle(used(1, 1))
	if again := start(t, s.copied(), tokens("day", "", 10_000)).ready(); again.keep.Standings()[0].Used != 24 {
		t.Errorf("%+v", again.keep.Standings())
	}
	alone := kerneltest.New(t, kerneltest.WithSetting(contract.Setting.Key(), []kernelconfig.Budget{tokens("day", "", 5)}))
	if _, err := contract.Reserve(t.Context(), alone.Root(), call("ann", 1, 1)); err == nil || !strings.Contains(err.Error(), "not ready") {
		t.Errorf("nobody keeps the budgets, and a call is granted: %v", err)
	}
	free := kerneltest.New(t)
	if g, err := contract.Reserve(t.Context(), free.Root(), call("ann", 1, 77)); err != nil || g.MaxCompletion != 77 {
		t.Errorf("%+v, %v", g, err)
	}
	if _, err := contract.Reserve(t.Context(), start(t, nil).Root(), call("ann", 1, 77)); err != nil {
		t.Errorf("no budget and no memory: %v", err)
	}
}

// TestKilled: whatever moment a process is killed in, the next one knows at least what was settled, and counts what was being
// asked for as spent.
func TestKilled(t *testing.T) {
	s := newShelf()
	b := start(t, s, tokens("day", "", 10_000), tokens("each", "User", 5000)).ready()
	b.reserve(call("ann", 100, 300)).Settle(used(100, 50))
	b.reserve(call("ann", 1000, 1000))
	again := start(t, s.copied(), tokens("day", "", 10_000), tokens("each", "User", 5000)).ready()
	for _, standing := range again.keep.Standings() {
		if standing.Used != 2150 || standing.Reserved != 0 {
			t.Errorf("%+v", standing)
		}
	}
	again.refused(call("ann", 2700, 300), contract.Spent, "each")
	for key := range s.values {
		if strings.Contains(key, "ann") {
			t.Errorf("the name of a person is stored: %s", key)
		}
	}
}

func TestStepsAndWarning(t *testing.T) {
	b := start(t, newShelf(), tokens("day", "", 1000,
		kernelconfig.BudgetStep{Action: "Warn", AtPercent: 50},
		kernelconfig.BudgetStep{Action: "SwitchModel", AtPercent: 60, Model: &kernelconfig.Model{Provider: "p", ID: "small"}},
		kernelconfig.BudgetStep{Action: "ReadOnlyTools", AtPercent: 70})).ready()
	who := contract.Who{Platform: "x", UserID: "ann", SessionID: "s"}
	for _, c := range []struct {
		spend int
		want  contract.Steps
	}{
		{490, contract.Steps{}}, {10, contract.Steps{}},
		{100, contract.Steps{Model: llm.Ref{Provider: "p", ID: "small"}}},
		{100, contract.Steps{Model: llm.Ref{Provider: "p", ID: "small"}, ReadOnlyTools: true}},
	} {
		b.reserve(call("ann", 1, 0)).Settle(used(c.spend, 0))
		if got := contract.StepsFor(b.Root(), who); got != c.want {
			t.Errorf("after %d more: %+v, want %+v", c.spend, got, c.want)
		}
	}
	b.keep.warn(t.Context(), message.Incoming{Platform: "x", UserID: "ann", SessionID: "s"})
	b.keep.warn(t.Context(), message.Incoming{Platform: "x", UserID: "boss", SessionID: "office"})
	b.keep.warn(t.Context(), message.Incoming{Platform: "x", UserID: "boss", SessionID: "office"})
	if len(b.door.sent) != 1 || !strings.HasPrefix(b.door.sent[0], "office: ") || !strings.Contains(b.door.sent[0], "day: 50 %") {
		t.Errorf("told %q", b.door.sent)
	}
	b.Clock.Advance(24 * time.Hour)
	b.reserve(call("ann", 1, 0)).Settle(used(600, 0))
	b.keep.warn(t.Context(), message.Incoming{Platform: "x", UserID: "boss", SessionID: "office"})
	if len(b.door.sent) != 2 {
		t.Errorf("in the next window told %q", b.door.sent)
	}
}

func TestUsageCommand(t *testing.T) {
	b := start(t, newShelf(), tokens("day", "", 1000), kernelconfig.Budget{Name: "money", Scope: "User", Per: "Hour", TimeZone: "Asia/Tokyo", Amount: "2.5", Currency: "USD"}).ready()
	c := call("ann", 10, 0)
	c.Model.Price = &llm.Price{Currency: "USD", Prompt: 1_000_000_000_000}
	b.reserve(c).Settle(used(250, 0))
	ask := func(user string) string {
		text, err := b.keep.usage(t.Context(), commands.Call{Platform: "x", UserID: user})
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	if got := ask("ann"); !strings.Contains(got, "Only owners") {
		t.Errorf("a stranger is told %q", got)
	}
	for _, want := range []string{"day (Bot): 250 of 1000 tokens, 25 %, until ", "money (User): 0.25 of 2.50 USD, 10 %, until ", "JST"} {
		if got := ask("boss"); !strings.Contains(got, want) {
			t.Errorf("%q is not in %q", want, got)
		}
	}
}

// TestDeclarationChanges: what was spent stays by the name of a budget, and what cannot be kept leaves the last one in force.
func TestDeclarationChanges(t *testing.T) {
	b := start(t, newShelf(), tokens("day", "", 1000)).ready()
	b.reserve(call("ann", 10, 0)).Settle(used(600, 0))
	set := func(declared ...kernelconfig.Budget) {
		b.Apply(func(c *kernel.Config) {
			raw, err := json.Marshal(declared)
			if err != nil {
				t.Fatal(err)
			}
			c.Settings = map[string]json.RawMessage{contract.Setting.Key(): raw}
		})
	}
	set(tokens("day", "", 500))
	b.refused(call("ann", 1, 0), contract.Spent, "day")
	set(kernelconfig.Budget{Name: "day", Per: "Day", TimeZone: "Mars/Base", Tokens: new(int64)})
	b.refused(call("ann", 1, 0), contract.Spent, "day")
	set(tokens("day", "", 700))
	b.reserve(call("ann", 100, 0)).Settle(used(100, 0))
	b.refused(call("ann", 1, 0), contract.Spent, "day")
	set()
	b.reserve(call("ann", 1, 0)).Settle(used(1, 1))
	if got := b.keep.Standings(); got != nil {
		t.Errorf("%+v", got)
	}
}

// TestAccountsOfThePastAreSwept: what is over is removed from the store.
func TestAccountsOfThePastAreSwept(t *testing.T) {
	s := newShelf()
	b := start(t, s, tokens("each", "User", 1000)).ready()
	for i := range 1200 {
		b.reserve(call(fmt.Sprint("user", i), 1, 0)).Settle(used(1, 0))
	}
	if len(s.values) != 1200 {
		t.Fatalf("%d accounts", len(s.values))
	}
	b.Clock.Advance(25 * time.Hour)
	for range 4 {
		b.reserve(call("ann", 1, 0)).Settle(used(1, 0))
	}
	if len(s.values) != 1 {
		t.Errorf("%d accounts are left", len(s.values))
	}
}

// TestManyAtOnce: calls of 64 conversations at once never get past the budget, since none takes more than it reserved, and
// they share writes.
func TestManyAtOnce(t *testing.T) {
	const limit = 200_000
	s := newShelf()
	b := start(t, s, tokens("day", "", limit)).ready()
	var spent, granted atomic.Int64
	var all sync.WaitGroup
	for i := range 64 {
		all.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(i))) //nolint:gosec // not for secrets
			for range 40 {
				prompt := 1 + random.IntN(500)
				g, err := contract.Reserve(t.Context(), b.Root(), call(fmt.Sprint(i), prompt, 1000))
				if err != nil {
					continue
				}
				granted.Add(1)
				u := used(random.IntN(prompt+1), random.IntN(g.MaxCompletion+1))
				spent.Add(int64(u.PromptTokens + u.CompletionTokens))
				g.Settle(u)
			}
		})
	}
	all.Wait()
	standing := b.keep.Standings()[0]
	if spent.Load() > limit || standing.Used != spent.Load() || standing.Reserved != 0 {
		t.Errorf("%d of %d spent, standing %+v", spent.Load(), limit, standing)
	}
	if granted.Load() < 100 || s.writes > int(2*granted.Load()) {
		t.Errorf("%d granted with %d writes", granted.Load(), s.writes)
	}
	if again := start(t, s.copied(), tokens("day", "", limit)).ready(); again.keep.Standings()[0].Used != spent.Load() {
		t.Errorf("stored is %+v, spent %d", again.keep.Standings(), spent.Load())
	}
}

// TestMovedIsTold: who reports how budgets stand is told of each tenth and of the end, and not of every call.
func TestMovedIsTold(t *testing.T) {
	b := start(t, newShelf(), tokens("day", "", 1000)).ready()
	var told atomic.Int64
	contract.Moved.On(b.Root(), func(context.Context, struct{}) error {
		told.Add(1)
		return nil
	})
	for range 99 {
		b.reserve(call("ann", 1, 0)).Settle(used(10, 0))
	}
	if n := told.Load(); n != 10 {
		t.Errorf("told %d times of 99 calls, want once a tenth", n)
	}
	for range 3 {
		b.refused(call("ann", 1000, 0), contract.Spent, "day")
	}
	if s := b.keep.Standings()[0]; told.Load() != 11 || !s.Exhausted || s.Percent() != 99 {
		t.Errorf("told %d times, %+v", told.Load(), s)
	}
	b.Clock.Advance(24 * time.Hour)
	if s := b.keep.Standings()[0]; s.Exhausted || s.Percent() != 0 {
		t.Errorf("in the next window %+v", s)
	}
}
