// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aalis-dev/aalis-operator/runtime/contract/access"
	"github.com/aalis-dev/aalis-operator/runtime/contract/commands"
	"github.com/aalis-dev/aalis-operator/runtime/contract/memory"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
	"github.com/aalis-dev/aalis-operator/runtime/kernelconfig"
	"github.com/aalis-dev/aalis-operator/runtime/kerneltest"
	"github.com/aalis-dev/aalis-operator/runtime/policy"
	"github.com/aalis-dev/aalis-operator/runtime/recompute"
)

var errBroken = errors.New("out of order")

// shelf is a memory backend that holds what the plugin stores. What it has no method for panics.
type shelf struct {
	memory.Backend
	mu     sync.Mutex
	values map[string]json.RawMessage
	broken bool
	reads  chan struct{} // one for each read, if not nil
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
	if s.reads != nil {
		select {
		case s.reads <- struct{}{}:
		default:
		}
	}
	if s.broken || namespace != memory.NamespaceAuthority {
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
	for _, op := range ops {
		if op.Namespace != memory.NamespaceAuthority {
			return errBroken
		}
		if op.Data == nil {
			delete(s.values, op.Key)
		} else {
			s.values[op.Key] = op.Data
		}
	}
	return nil
}

func (s *shelf) keys() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.values))
}

func house() kernelconfig.Authority {
	return kernelconfig.Authority{
		Owners: []policy.Identity{{Platform: "p", UserID: "boss"}},
		Levels: []kernelconfig.IdentityLevel{
			{Identity: policy.Identity{Platform: "p", UserID: "two"}, Level: 2},
			{Identity: policy.Identity{Platform: "p", UserID: "bad"}, Level: -1},
		},
		DeniedCapabilities: []string{"tool:exec*"},
	}
}

// bot is a kernel with the plugin in it.
type bot struct {
	*kerneltest.Harness
	t     testing.TB
	a     *authority
	shelf *shelf

	mu     sync.Mutex
	audits []access.Audit
}

func start(t testing.TB, declared any, s *shelf, opts ...kerneltest.Option) *bot {
	t.Helper()
	b := &bot{t: t, shelf: s}
	opts = append(opts, kerneltest.WithPlugin(module(time.Millisecond), "", nil))
	if declared != nil {
		opts = append(opts, kerneltest.WithSetting(access.Setting.Key(), declared))
	}
	if s != nil {
		opts = append(opts, kerneltest.WithService[memory.Backend](memory.Service, s))
	}
	b.Harness = kerneltest.New(t, opts...)
	got, ok := access.Service.Get(b.Root())
	if !ok {
		t.Fatalf("there is no authority:\n%s", b.Logs)
	}
	b.a, _ = got.(*authority)
	access.Decided.On(b.Root(), func(_ context.Context, v access.Audit) error {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.audits = append(b.audits, v)
		return nil
	})
	return b
}

// ready waits until what is stored has been read.
func (b *bot) ready() *bot {
	b.t.Helper()
	deadline := time.Now().Add(kerneltest.Patience)
	for {
		b.a.mu.RLock()
		loaded := b.a.loaded
		b.a.mu.RUnlock()
		if loaded {
			return b
		}
		if time.Now().After(deadline) {
			b.t.Fatalf("what is stored was never read:\n%s", b.Logs)
		}
		time.Sleep(time.Millisecond)
	}
}

func (b *bot) ask(user, capability string, p access.Policy) string {
	return b.a.guard(context.Background(), access.Request{Capability: capability, Policy: p, SessionID: "s", Platform: "p", UserID: user})
}

// say runs one of the plugin's commands as somebody.
func (b *bot) say(user, name string, args map[string]any) string {
	b.t.Helper()
	for _, c := range b.a.commands() {
		if declared, _, _ := strings.Cut(c.Declaration, " "); declared == name {
			text, err := c.Handler(context.Background(), commands.Call{Args: args, Platform: "p", UserID: user, SessionID: "s"})
			if err != nil {
				b.t.Fatal(err)
			}
			return text
		}
	}
	b.t.Fatalf("there is no command %s", name)
	return ""
}

func (b *bot) outcomes() (out []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, v := range b.audits {
		out = append(out, v.Outcome+" by "+v.Rule)
	}
	b.audits = nil
	return out
}

var (
	dangerous = access.Policy{Risk: access.Dangerous}
	sensitive = access.Policy{Risk: access.Sensitive}
)

func yes(d time.Duration, uses int) access.ConfirmHandler {
	return func(context.Context, access.ConfirmRequest) (access.ConfirmAnswer, error) {
		return access.ConfirmAnswer{Allowed: true, ForSession: d, MaxUses: uses}, nil
	}
}

func TestConformance(t *testing.T) {
	kerneltest.Run(t, Plugin, kerneltest.WithService[memory.Backend](memory.Service, newShelf()))
}

// TestGuard is case 8.6.11 as far as the guard goes.
func TestGuard(t *testing.T) {
	b := start(t, house(), newShelf()).ready()
	for _, tc := range []struct {
		user, capability string
		policy           access.Policy
		want             string
		audit            []string
	}{
		{"guest", "tool:x", access.Policy{}, "", nil},
		{"", "tool:x", access.Policy{}, "", nil},
		{"guest", "tool:x", sensitive, `Not permitted: "tool:x" needs level 1 (yours is 0).`, []string{"deny by risk"}},
		{"", "tool:x", dangerous, `Not permitted: "tool:x" needs level 2 (yours is 0).`, []string{"deny by risk"}},
		{"bad", "tool:x", access.Policy{}, `Not permitted: "tool:x" needs level 0 (yours is -1).`, []string{"deny by visibility"}},
		{"boss", "tool:x", sensitive, "", []string{"allow by owner"}},
		{"two", "command:x", sensitive, "", []string{"allow by risk"}},
		{"boss", "tool:exec_shell", access.Policy{}, "Switched off for everybody: tool:exec_shell", []string{"deny by deniedCapabilities"}},
		{"boss", "tool:x", dangerous, "Cancelled: tool:x runs only when it is confirmed.", []string{"confirm by confirm", "cancelled by confirm"}},
	} {
		if got := b.ask(tc.user, tc.capability, tc.policy); got != tc.want {
			t.Errorf("%s %s: got %q", tc.user, tc.capability, got)
		}
		if got := b.outcomes(); !slices.Equal(got, tc.audit) {
			t.Errorf("%s %s: recorded %v", tc.user, tc.capability, got)
		}
	}
}

func TestNothingDeclared(t *testing.T) {
	b := start(t, nil, newShelf()).ready()
	if got := b.ask("console", "tool:x", sensitive); got == "" {
		t.Error("a stranger runs what is sensitive")
	}
	if got := b.ask("anybody", "tool:x", access.Policy{}); got != "" {
		t.Errorf("got %q", got)
	}
}

func TestConsoleOwnerOnlyWhereTheHostSaysSo(t *testing.T) {
	for _, says := range []bool{true, false} {
		b := start(t, house(), newShelf(), kerneltest.WithSetting(access.ConsoleSetting.Key(), says)).ready()
		if b.a.IsOwner("cli", "console") != says {
			t.Errorf("the host says %t", says)
		}
	}
}

// TestFailsClosed: what is not public is refused until what chat has set has been read, and again when it cannot be known.
func TestFailsClosed(t *testing.T) {
	s := newShelf()
	s.broken, s.reads = true, make(chan struct{}, 100)
	b := start(t, house(), s)
	for range 3 {
		<-s.reads
	}
	if got := b.ask("boss", "tool:x", sensitive); !strings.Contains(got, "refused until") {
		t.Errorf("got %q", got)
	}
	if got := b.ask("guest", "tool:x", access.Policy{}); got != "" {
		t.Errorf("what is public: %q", got)
	}
	if got := b.say("boss", "level", map[string]any{"who": "p:x", "level": "1"}); !strings.Contains(got, "could not be stored") {
		t.Errorf("got %q", got)
	}
	if b.a.Level("p", "two") != 0 || b.a.Level("p", "bad") != -1 {
		t.Error("levels hold that are not known")
	}
	s.breakDown(false)
	b.ready()
	if got := b.ask("boss", "tool:x", sensitive); got != "" {
		t.Errorf("after it healed: %q", got)
	}
}

func TestStateThatCannotBeReadKeepsTheGuardShut(t *testing.T) {
	for name, v := range map[string]struct{ key, data string }{
		"no JSON":          {"level:p:x", `{`},
		"another's":        {"level:p:x", `{"platform":"p","userId":"y","level":5}`},
		"beyond 64 bits":   {"level:p:x", `{"platform":"p","userId":"x","level":99999999999999999999}`},
		"something else":   {"something", `{"platform":"p","userId":"x","level":5}`},
		"a level in words": {"level:p:x", `{"platform":"p","userId":"x","level":"5"}`},
	} {
		s := newShelf()
		s.values[v.key], s.reads = json.RawMessage(v.data), make(chan struct{}, 100)
		b := start(t, house(), s)
		for range 2 {
			<-s.reads
		}
		if got := b.ask("boss", "tool:x", sensitive); !strings.Contains(got, "refused until") {
			t.Errorf("%s: got %q", name, got)
		}
	}
}

// TestLevelsOfChat: what chat sets is stored first, holds at once, survives a restart, and is laid over what is declared.
func TestLevelsOfChat(t *testing.T) {
	s := newShelf()
	b := start(t, house(), s).ready()
	for _, tc := range []struct{ user, who, level, want string }{
		{"two", "p:x", "1", "Only an owner may do this."},
		{"boss", "x", "1", "A person is named as platform:userId, for example onebot:10001."},
		{"boss", ":x", "1", "A person is named as platform:userId, for example onebot:10001."},
		{"boss", "p:" + strings.Repeat("y", 10_000), "1", "A person is named as platform:userId, for example onebot:10001."},
		{"boss", "p:x", "1.5", `A level is an integer of at most 64 bits, not "1.5".`},
		{"boss", "p:x", "9223372036854775808", `A level is an integer of at most 64 bits, not "9223372036854775808".`},
		{"boss", "p:boss", "1", "p:boss is an owner: owners stand outside the levels."},
		{"boss", "p:bad", "1", "p:bad is banned by an AuthorityPolicy, which chat does not lift."},
		{"boss", "p:x", "9223372036854775807", "p:x has level 9223372036854775807 now."},
		{"boss", "p:two", "0", "p:two has level 0 now."},
		{"boss", "p:a:b 🦉", "-3", "p:a:b 🦉 has level -3 now."},
		{"boss", "p:gone", "0", "p:gone has level 0 now."},
	} {
		if got := b.say(tc.user, "level", map[string]any{"who": tc.who, "level": tc.level}); got != tc.want {
			t.Errorf("%+v: got %q", tc, got)
		}
	}
	check := func(b *bot) {
		t.Helper()
		for user, want := range map[string]int{"x": math.MaxInt64, "two": 0, "a:b 🦉": -3, "bad": -1, "gone": 0} {
			if got := b.a.Level("p", user); got != want {
				t.Errorf("%s: got %d", user, got)
			}
		}
	}
	check(b)
	if got := s.keys(); !slices.Equal(got, []string{"level:p:a:b 🦉", "level:p:two", "level:p:x"}) {
		t.Errorf("stored %v", got)
	}
	b.Stop()
	check(start(t, house(), s).ready())
	locked := house()
	locked.Lock = []string{kernelconfig.LockLevels, kernelconfig.LockAutoConfirm}
	l := start(t, locked, s).ready()
	if l.a.Level("p", "two") != 2 || l.a.Level("p", "x") != 0 {
		t.Error("what chat has set holds although levels are locked")
	}
	for name, args := range map[string]map[string]any{"level": {"who": "p:x", "level": "1"}, "auto": {"state": "on"}} {
		if got := l.say("boss", name, args); !strings.HasPrefix(got, "An AuthorityPolicy locks this") {
			t.Errorf("%s: got %q", name, got)
		}
	}
}

func TestAChangeThatIsNotStoredDoesNotHold(t *testing.T) {
	b := start(t, house(), newShelf()).ready()
	b.shelf.breakDown(true)
	for name, args := range map[string]map[string]any{"level": {"who": "p:x", "level": "1"}, "auto": {"state": "on"}} {
		if got := b.say("boss", name, args); !strings.Contains(got, "nothing has changed") {
			t.Errorf("%s: got %q", name, got)
		}
	}
	if b.a.Level("p", "x") != 0 || b.say("boss", "auto", nil) != "Automatic confirmation is off." {
		t.Error("it holds")
	}
}

func TestShow(t *testing.T) {
	b := start(t, house(), newShelf()).ready()
	b.say("boss", "level", map[string]any{"who": "p:x", "level": "1"})
	for _, tc := range []struct {
		user string
		who  any
		want string
	}{
		{"guest", nil, "p:guest: level 0 (not set)"},
		{"boss", nil, "p:boss: level ∞ (owner)"},
		{"x", nil, "p:x: level 1 (given in chat)"},
		{"two", "p:x", "p:x: level 1 (given in chat)"},
		{"two", "p:bad", "p:bad: level -1 (declared)"},
		{"guest", "p:guest", "p:guest: level 0 (not set)"},
		{"guest", "p:boss", "The level of others is shown from level 1 on."},
		{"bad", "p:boss", "The level of others is shown from level 1 on."},
		{"boss", "nonsense", "A person is named as platform:userId, for example onebot:10001."},
	} {
		args := map[string]any{}
		if tc.who != nil {
			args["who"] = tc.who
		}
		if got := b.say(tc.user, "authority", args); got != tc.want {
			t.Errorf("%s asks for %v: got %q", tc.user, tc.who, got)
		}
	}
}

func TestAuto(t *testing.T) {
	b := start(t, house(), newShelf()).ready()
	for _, tc := range []struct{ user, state, want string }{
		{"two", "on", "Only an owner may do this."},
		{"boss", "soon", "Usage: /auto"},
		{"boss", "-1", "Usage: /auto"},
		{"boss", "525601", "Usage: /auto"},
		{"boss", "ON", "Automatic confirmation is on, without an end."},
		{"boss", "0", "Automatic confirmation is off."},
		{"boss", "30", "Automatic confirmation is on for 30 more minute(s)."},
	} {
		if got := b.say(tc.user, "auto", map[string]any{"state": tc.state}); !strings.HasPrefix(got, tc.want) {
			t.Errorf("%s %s: got %q", tc.user, tc.state, got)
		}
	}
	if got := b.ask("boss", "tool:x", dangerous); got != "" {
		t.Errorf("an owner is asked: %q", got)
	}
	if got := b.ask("two", "tool:x", dangerous); got == "" {
		t.Error("somebody else is not asked")
	}
	b.Clock.Advance(29*time.Minute + time.Second)
	if got := b.say("boss", "auto", nil); got != "Automatic confirmation is on for 1 more minute(s)." {
		t.Errorf("got %q", got)
	}
	b.Clock.Advance(time.Minute)
	if got := b.ask("boss", "tool:x", dangerous); got == "" {
		t.Error("an owner is not asked although the time is over")
	}
}

// TestGrants: bound to person, platform, session and capability, with an end and a number of uses.
func TestGrants(t *testing.T) {
	b := start(t, house(), newShelf()).ready()
	off := b.a.SetConfirmHandler("p", yes(time.Minute, 2))
	if got := b.ask("two", "tool:x", dangerous); got != "" {
		t.Fatalf("got %q", got)
	}
	off()
	same := access.Request{Capability: "tool:x", Policy: dangerous, SessionID: "s", Platform: "p", UserID: "two"}
	for name, change := range map[string]func(*access.Request){
		"another person":     func(r *access.Request) { r.UserID = "boss" },
		"another platform":   func(r *access.Request) { r.Platform = "q" },
		"another session":    func(r *access.Request) { r.SessionID = "t" },
		"another capability": func(r *access.Request) { r.Capability = "tool:y" },
		"always":             func(r *access.Request) { r.Policy.Confirm = access.ConfirmAlways },
	} {
		r := same
		change(&r)
		if got := b.a.guard(context.Background(), r); got == "" {
			t.Errorf("%s: it holds", name)
		}
	}
	for i, want := range []bool{true, true, false} {
		if got := b.a.guard(context.Background(), same); (got == "") != want {
			t.Errorf("use %d: got %q", i+1, got)
		}
	}
	off = b.a.SetConfirmHandler(anyPlatform, yes(100*time.Hour, 0))
	b.ask("two", "tool:x", dangerous)
	off()
	b.Clock.Advance(maxGrant - time.Second)
	if got := b.ask("two", "tool:x", dangerous); got != "" {
		t.Errorf("before its end: %q", got)
	}
	b.Clock.Advance(time.Second)
	if got := b.ask("two", "tool:x", dangerous); got == "" {
		t.Error("it holds for more than an hour")
	}
}

// TestLosingRankEndsGrants, by chat and by policy, at once and for good.
func TestLosingRankEndsGrants(t *testing.T) {
	for name, lose := range map[string]func(b *bot){
		"chat": func(b *bot) { b.say("boss", "level", map[string]any{"who": "p:two", "level": "1"}) },
		"policy": func(b *bot) {
			less := house()
			less.Levels = nil
			b.declare(less)
		},
	} {
		b := start(t, house(), newShelf()).ready()
		off := b.a.SetConfirmHandler(anyPlatform, yes(time.Minute, 0))
		b.ask("two", "tool:x", dangerous)
		off()
		if got := b.ask("two", "tool:x", dangerous); got != "" {
			t.Fatalf("%s: got %q", name, got)
		}
		lose(b)
		if got := b.ask("two", "tool:x", dangerous); !strings.HasPrefix(got, "Not permitted") {
			t.Errorf("%s: got %q", name, got)
		}
		b.declare(house())
		b.say("boss", "level", map[string]any{"who": "p:two", "level": "2"})
		if got := b.ask("two", "tool:x", dangerous); !strings.HasPrefix(got, "Cancelled") {
			t.Errorf("%s: the grant came back: %q", name, got)
		}
	}
}

func (b *bot) declare(a kernelconfig.Authority) {
	b.t.Helper()
	raw, err := json.Marshal(a)
	if err != nil {
		b.t.Fatal(err)
	}
	b.Apply(func(cfg *kernel.Config) { cfg.Settings[access.Setting.Key()] = raw })
}

// TestPolicySwap: an edit holds at once and starts nothing anew; a list that ends holds only if it came while the bot ran.
func TestPolicySwap(t *testing.T) {
	b := start(t, house(), newShelf()).ready()
	id := module(time.Millisecond).Name
	before := b.Plugin(id)
	limited := house()
	limited.PreApproved = []kernelconfig.PreApproval{{Allow: []string{"tool:*"}, DurationSeconds: 60}}
	limited.DeniedCapabilities = []string{"tool:y"}
	b.declare(limited)
	if got := b.ask("two", "tool:x", dangerous); got != "" {
		t.Errorf("got %q", got)
	}
	if got := b.ask("boss", "tool:y", access.Policy{}); got == "" {
		t.Error("a new denial does not hold")
	}
	limited.DeniedCapabilities = nil
	b.Clock.Advance(59 * time.Second)
	b.declare(limited) // another edit does not begin the time anew
	b.Clock.Advance(2 * time.Second)
	if got := b.ask("two", "tool:x", dangerous); got == "" {
		t.Error("it holds after its end")
	}
	if after := b.Plugin(id); after.State != recompute.Active || after.Since != before.Since {
		t.Errorf("the plugin was started anew: %+v, before %+v", after, before)
	}
	s := start(t, limited, newShelf()).ready()
	if got := s.ask("two", "tool:x", dangerous); got == "" {
		t.Error("a list that ends holds after a start")
	}
}

// TestConfirmHandlers: those of the platform before those of any, the latest first; without one, and on an error, a panic or
// the end of the turn, the answer is no.
func TestConfirmHandlers(t *testing.T) {
	b := start(t, house(), newShelf()).ready()
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	r := access.Request{Capability: "tool:x", Policy: dangerous, SessionID: "s", Platform: "p", UserID: "boss"}
	if b.a.guard(context.Background(), r) == "" {
		t.Error("it runs with nobody to ask")
	}
	offAny := b.a.SetConfirmHandler(anyPlatform, yes(0, 0))
	if got := b.a.guard(context.Background(), r); got != "" {
		t.Errorf("the handler of any platform: %q", got)
	}
	if b.a.guard(ended, r) == "" {
		t.Error("it runs although the turn has ended")
	}
	for name, h := range map[string]access.ConfirmHandler{
		"error": func(context.Context, access.ConfirmRequest) (access.ConfirmAnswer, error) {
			return access.ConfirmAnswer{Allowed: true}, errBroken
		},
		"panic": func(context.Context, access.ConfirmRequest) (access.ConfirmAnswer, error) { panic("broken") },
		"no": func(context.Context, access.ConfirmRequest) (access.ConfirmAnswer, error) {
			return access.ConfirmAnswer{ForSession: time.Hour}, nil
		},
	} {
		off := b.a.SetConfirmHandler("p", h)
		if b.a.guard(context.Background(), r) == "" {
			t.Errorf("%s: it runs", name)
		}
		off()
	}
	if got := b.a.guard(context.Background(), r); got != "" {
		t.Errorf("after they are gone: %q", got)
	}
	offAny()
	offAny()
	if b.a.guard(context.Background(), r) == "" {
		t.Error("it runs with nobody to ask")
	}
}

// TestRightLostWhileAsked: who loses the right while the question is open may not use the answer.
func TestRightLostWhileAsked(t *testing.T) {
	b := start(t, house(), newShelf()).ready()
	b.a.SetConfirmHandler("p", func(context.Context, access.ConfirmRequest) (access.ConfirmAnswer, error) {
		b.say("boss", "level", map[string]any{"who": "p:two", "level": "-1"})
		return access.ConfirmAnswer{Allowed: true, ForSession: time.Hour}, nil
	})
	if got := b.ask("two", "tool:x", dangerous); !strings.HasPrefix(got, "Not permitted") {
		t.Errorf("got %q", got)
	}
	if got := b.outcomes(); !slices.Equal(got, []string{"confirm by confirm", "deny by risk"}) {
		t.Errorf("recorded %v", got)
	}
}

// TestRecordsHoldNoContent: neither the log nor the event of a decision has arguments, and texts of people are cut.
func TestRecordsHoldNoContent(t *testing.T) {
	b := start(t, house(), newShelf()).ready()
	b.a.guard(context.Background(), access.Request{
		Capability: "tool:exec", Platform: "p", UserID: strings.Repeat("u", 10_000), SessionID: "s",
		Args: map[string]any{"text": "canary-9f"},
	})
	if log := b.Logs.String(); strings.Contains(log, "canary-9f") || strings.Contains(log, strings.Repeat("u", 200)) {
		t.Errorf("logged %s", log)
	}
	if len(b.Logs.Find("WARN", "Decided who may do what", "tool:exec")) != 1 {
		t.Errorf("a denial is not logged:\n%s", b.Logs)
	}
	if got := fmt.Sprint(b.audits); strings.Contains(got, "canary-9f") || len(b.audits[0].UserID) > 130 {
		t.Errorf("recorded %s", got)
	}
}

// TestBackendThatGoes: what was read goes with it.
func TestBackendThatGoes(t *testing.T) {
	s := newShelf()
	s.values["level:p:x"] = json.RawMessage(`{"platform":"p","userId":"x","level":5}`)
	b := start(t, house(), nil)
	off := memory.Service.Provide(b.Root(), memory.Backend(s))
	b.ready()
	if b.a.Level("p", "x") != 5 {
		t.Error("it was not read")
	}
	off()
	b.Idle()
	if b.a.Level("p", "x") != 0 || b.ask("boss", "tool:x", sensitive) == "" {
		t.Error("it holds without a backend")
	}
}

func TestConcurrentUse(t *testing.T) {
	b := start(t, house(), newShelf()).ready()
	b.a.SetConfirmHandler(anyPlatform, yes(time.Minute, 3))
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 50 {
				switch (i + j) % 4 {
				case 0:
					b.ask("two", "tool:x", dangerous)
				case 1:
					b.say("boss", "level", map[string]any{"who": fmt.Sprintf("p:%d", j), "level": fmt.Sprint(i)})
				case 2:
					b.say("boss", "auto", map[string]any{"state": "off"})
				case 3:
					b.a.take(context.Background(), house(), true)
				}
			}
		})
	}
	wg.Wait()
	if got := b.ask("guest", "tool:x", sensitive); got == "" {
		t.Error("a guest runs what is sensitive")
	}
}
