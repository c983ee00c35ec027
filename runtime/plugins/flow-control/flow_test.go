// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package flowcontrol

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

	"pgregory.net/rapid"

	"github.com/aalis-dev/aalis-operator/runtime/contract/archive"
	"github.com/aalis-dev/aalis-operator/runtime/contract/flow"
	"github.com/aalis-dev/aalis-operator/runtime/contract/gateway"
	"github.com/aalis-dev/aalis-operator/runtime/contract/memory"
	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
	"github.com/aalis-dev/aalis-operator/runtime/kerneltest"
	"github.com/aalis-dev/aalis-operator/runtime/scope"
)

var errBroken = errors.New("out of order")

// router takes what the plugin begins by itself.
type router struct {
	gateway.Gateway
	began chan message.Incoming
}

func (r *router) IngressMessage(_ context.Context, m message.Incoming) { r.began <- m }

// cabinet is an archive and a memory backend.
type cabinet struct {
	archive.Archive
	mu       sync.Mutex
	archived []string
	values   map[string]json.RawMessage
	broken   bool
}

// drawers are the memory backend of a cabinet.
type drawers struct {
	memory.Backend
	*cabinet
}

func (d drawers) ListMetadata(ctx context.Context, namespace string) ([]memory.Entry, error) {
	return d.list(ctx, namespace)
}
func (d drawers) CommitMetadata(ctx context.Context, ops []memory.Op) error {
	return d.commit(ctx, ops)
}
func (d drawers) SaveMessage(context.Context, string, message.Message) error    { return errBroken }
func (d drawers) SaveMessages(context.Context, string, []message.Message) error { return errBroken }

func (c *cabinet) ArchiveIncoming(_ context.Context, m message.Incoming) (message.Message, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.archived = append(c.archived, m.Content)
	if c.broken {
		return message.Message{}, errBroken
	}
	return message.Message{}, nil
}

func (c *cabinet) list(_ context.Context, namespace string) (out []memory.Entry, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.broken || namespace != memory.NamespaceFlow {
		return nil, errBroken
	}
	for key, data := range c.values {
		out = append(out, memory.Entry{Key: key, Data: data})
	}
	return out, nil
}

func (c *cabinet) commit(_ context.Context, ops []memory.Op) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.broken {
		return errBroken
	}
	for _, op := range ops {
		if op.Data == nil {
			delete(c.values, op.Key)
		} else {
			c.values[op.Key] = op.Data
		}
	}
	return nil
}

func (c *cabinet) take() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := c.archived
	c.archived = nil
	return out
}

// bot is a kernel with the plugin in it, whose idle waits end when the test says so.
type bot struct {
	*kerneltest.Harness
	t       testing.TB
	c       *control
	router  *router
	cabinet *cabinet
	waits   chan wait
}

type wait struct {
	d     time.Duration
	fired chan time.Time
}

func start(t testing.TB, cab *cabinet, cfg map[string]any, opts ...kerneltest.Option) *bot {
	t.Helper()
	b := &bot{t: t, cabinet: cab, router: &router{began: make(chan message.Incoming, 100)}, waits: make(chan wait, 100)}
	m := module(func(d time.Duration) (<-chan time.Time, func()) {
		w := wait{d, make(chan time.Time, 1)}
		select {
		case b.waits <- w:
		default:
		}
		return w.fired, func() {}
	}, func() float64 { return 0 })
	b.Harness = kerneltest.New(t, append([]kerneltest.Option{
		kerneltest.WithService[gateway.Gateway](gateway.Service, b.router),
		kerneltest.WithService[archive.Archive](archive.Service, cab),
		kerneltest.WithService[memory.Backend](memory.Service, drawers{cabinet: cab}),
		kerneltest.WithPlugin(m, "", cfg),
	}, opts...)...)
	got, ok := flow.Service.Get(b.Root())
	if !ok {
		t.Fatalf("there is no flow control:\n%s", b.Logs)
	}
	b.c, _ = got.(*control)
	return b
}

func newCabinet() *cabinet { return &cabinet{values: map[string]json.RawMessage{}} }

func group(session, user, text string) message.Incoming {
	return message.Incoming{Content: text, SessionID: session, Platform: "onebot", UserID: user, GroupID: session, SessionType: message.SessionGroup}
}

// send takes a message through the phase and tells whether it goes on.
func (b *bot) send(m message.Incoming) bool {
	b.t.Helper()
	goesOn, err := gateway.Flow.Run(context.Background(), b.Root(), &gateway.Inbound{Message: m}, nil)
	if err != nil {
		b.t.Fatal(err)
	}
	return goesOn
}

func (b *bot) speak(session string) {
	message.Outbound.Emit(context.Background(), b.Root(), message.Outgoing{Content: "x", SessionID: session, Platform: "onebot", Source: message.FromAgent})
}

func TestConformance(t *testing.T) {
	kerneltest.Run(t, Plugin, kerneltest.WithService[gateway.Gateway](gateway.Service, &router{began: make(chan message.Incoming, 10)}),
		kerneltest.WithService[memory.Backend](memory.Service, drawers{cabinet: newCabinet()}))
}

// TestFormulas is the flow-control math of section 42.
func TestFormulas(t *testing.T) {
	near := func(name string, got, want float64) {
		t.Helper()
		if math.Abs(got-want) > 1e-9 {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
	}
	near("nobody in particular", increment(5, 0), 0.2)
	near("first message of somebody", increment(5, 1), 0.2*1.05)
	near("tenth message", increment(5, 10), 0.3)
	near("hundredth message", increment(5, 100), 0.3)
	near("an interval of none", increment(0, 0), 1)
	near("half of the decay", decayed(0.8, 5*time.Minute, 10), 0.4)
	near("beyond the decay", decayed(0.8, 11*time.Minute, 10), 0)
	near("negligible", decayed(0.0011, time.Minute, 10), 0)
	near("no decay", decayed(0.8, time.Hour, 0), 0.8)
	near("a clock put back", decayed(0.8, -time.Hour, 10), 0.8)
	near("never triggered", threshold(0.3, 0.85, false, 0, 10), 0.3)
	near("just triggered", threshold(0.3, 0.85, true, 0, 10), 0.85)
	near("half way", threshold(0.3, 0.85, true, 5*time.Minute, 10), 0.575)
	near("long ago", threshold(0.3, 0.85, true, time.Hour, 10), 0.3)
	near("no threshold decay, just now", threshold(0.3, 0.85, true, 0, 0), 0.85)
	near("no threshold decay, later", threshold(0.3, 0.85, true, 1, 0), 0.3)
	near("a clock put back", threshold(0.3, 0.85, true, -time.Hour, 10), 0.85)
	c := Default()
	for _, tc := range []struct {
		backoff, jitter float64
		want            time.Duration
	}{{1, 0, 3 * time.Hour}, {2, 0, 6 * time.Hour}, {64, 0, 24 * time.Hour}, {1, 1, 198 * time.Minute}, {1, -1, 162 * time.Minute}} {
		if got := idleDelay(c, tc.backoff, tc.jitter); got != tc.want {
			t.Errorf("idle %+v: got %s", tc, got)
		}
	}
	c.IdleTriggerMinutes, c.IdleTriggerStyle, c.IdleTriggerJitter = 0.1, "fixed", false
	if got := idleDelay(c, 64, 1); got != time.Minute {
		t.Errorf("the shortest idle time: got %s", got)
	}
}

func TestFormulasHaveBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		score := rapid.Float64Range(0, 100).Draw(t, "score")
		a := time.Duration(rapid.Int64Range(0, int64(48*time.Hour)).Draw(t, "a"))
		b := a + time.Duration(rapid.Int64Range(0, int64(48*time.Hour)).Draw(t, "b"))
		decay := rapid.Float64Range(0, 3000).Draw(t, "decay")
		if x, y := decayed(score, a, decay), decayed(score, b, decay); x > score || y > x || y < 0 {
			t.Fatalf("%v decays to %v and then %v", score, x, y)
		}
		lower := rapid.Float64Range(0, 1).Draw(t, "lower")
		upper := lower + rapid.Float64Range(0, 1).Draw(t, "more")
		if x, y := threshold(lower, upper, true, a, decay), threshold(lower, upper, true, b, decay); x > upper || y > x || y < lower {
			t.Fatalf("thresholds %v, %v in [%v, %v]", x, y, lower, upper)
		}
		n := rapid.IntRange(0, 50).Draw(t, "n")
		if x, y := increment(5, n), increment(5, n+1); x < 0.2 || y < x || y > 0.3+1e-9 {
			t.Fatalf("increments %v, %v", x, y)
		}
	})
}

// TestOverrides is the first case of section 42: the most specific of four scopes holds.
func TestOverrides(t *testing.T) {
	number := func(n float64) *float64 { return &n }
	c := Default()
	c.Scopes = nil
	c.Overrides = []Override{
		{Scope: "*", CooldownSeconds: number(20)}, {Scope: "*:private", CooldownSeconds: number(30)},
		{Scope: "onebot:private", CooldownSeconds: number(40)}, {Scope: "onebot:private:42", CooldownSeconds: number(50), ActivityDecayMinutes: number(0)},
	}
	s, err := c.settings()
	if err != nil {
		t.Fatal(err)
	}
	for place, want := range map[scope.Place]float64{
		{Platform: "onebot", SessionType: "private", Target: "42"}: 50, {Platform: "onebot", SessionType: "private", Target: "43"}: 40,
		{Platform: "webui", SessionType: "private", Target: "42"}: 30, {Platform: "webui", SessionType: "group", Target: "42"}: 20,
	} {
		got, holds := s.at(place)
		if got.CooldownSeconds != want || !holds || got.FixedInterval != 5 {
			t.Errorf("%+v: got %+v %t", place, got, holds)
		}
	}
	c.Overrides = []Override{{Scope: "onebot:group:1", IdleTriggerStyle: "", IdleTriggerPrompt: ""}}
	c.Scopes = []string{"onebot:group:2, onebot:private"}
	if s, err = c.settings(); err != nil {
		t.Fatal(err)
	}
	for place, want := range map[scope.Place]bool{
		{Platform: "onebot", SessionType: "group", Target: "1"}: true, {Platform: "onebot", SessionType: "group", Target: "2"}: true,
		{Platform: "onebot", SessionType: "group", Target: "3"}: false, {Platform: "onebot", SessionType: "private", Target: "9"}: true,
		{Platform: "webui", SessionType: "private"}: false,
	} {
		if got, holds := s.at(place); holds != want || got.IdleTriggerStyle != styleExponential {
			t.Errorf("%+v: holds %t", place, holds)
		}
	}
	for name, change := range map[string]func(c *Config){
		"scope":          func(c *Config) { c.Scopes = []string{strings.Repeat("x", 600)} },
		"override":       func(c *Config) { c.Overrides = []Override{{Scope: " "}} },
		"bounds":         func(c *Config) { c.ActivityScoreLower = 2 },
		"override bound": func(c *Config) { c.Overrides = []Override{{Scope: "*", ActivityScoreLower: number(2)}} },
	} {
		bad := Default()
		change(&bad)
		if _, err := bad.settings(); err == nil || !strings.HasPrefix(err.Error(), "config.") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// TestEveryMessageCounts is trap 10: also those in cooldown and while muted, each archived once; a mute does not begin the
// wait for quiet anew, and being answered is not what counts as being triggered.
func TestEveryMessageCounts(t *testing.T) {
	b := start(t, newCabinet(), map[string]any{"cooldownSeconds": 10.0, "rateLimitWindow": 60.0, "rateLimitMaxReplies": 2, "idleTriggerScope": "session"})
	for i, user := range []string{"a", "a", ""} {
		if !b.send(group("g", user, fmt.Sprint(i))) {
			t.Errorf("message %d is held back", i)
		}
	}
	s, ok := b.c.Snapshot("g")
	if !ok || s.MessageCount != 3 || s.FixedInterval != 5 || math.Abs(s.Score-0.2*(1.05+1.1+1)) > 1e-9 || s.Threshold != 0.3 {
		t.Errorf("got %+v %t", s, ok)
	}
	b.speak("g")
	if b.send(group("g", "a", "cooling")) {
		t.Error("a message goes on while the bot cools down")
	}
	if s, _ := b.c.Snapshot("g"); s.MessageCount != 4 || s.Threshold != 0.3 {
		t.Errorf("got %+v", s)
	}
	b.Clock.Advance(10 * time.Second)
	if !b.send(group("g", "a", "after")) {
		t.Error("a message is held back after the cooldown")
	}
	b.speak("g")
	b.Clock.Advance(11 * time.Second)
	if b.send(group("g", "a", "limited")) {
		t.Error("a message goes on although the bot has spoken twice in the window")
	}
	b.Clock.Advance(time.Minute)
	if !b.send(group("g", "a", "later")) {
		t.Error("a message is held back after the window")
	}
	b.c.RecordTriggered("g")
	if s, _ := b.c.Snapshot("g"); s.MessageCount != 0 || s.Score != 0 || math.Abs(s.Threshold-0.85) > 1e-9 {
		t.Errorf("after the trigger: %+v", s)
	}
	b.c.SetMuted(context.Background(), "g", "onebot", 30*time.Second)
	if b.send(group("g", "a", "muted")) || !b.c.sessions["g"].idleAt.IsZero() {
		t.Error("a message goes on, or the wait for quiet begins, while the bot is muted")
	}
	if s, _ := b.c.Snapshot("g"); s.MessageCount != 1 {
		t.Errorf("while muted: %+v", s)
	}
	if until, ok := b.c.MutedUntil("g"); !ok || !until.Equal(b.Clock.Now().Add(30*time.Second)) {
		t.Errorf("muted until %v %t", until, ok)
	}
	b.c.SetMuted(context.Background(), "g", "", 0)
	if _, ok := b.c.MutedUntil("g"); ok || !b.send(group("g", "a", "free")) {
		t.Error("the bot stays muted")
	}
	if got := b.cabinet.take(); !slices.Equal(got, []string{"cooling", "limited", "muted"}) {
		t.Errorf("archived %q", got)
	}
}

func TestWhatFlowControlLeavesAlone(t *testing.T) {
	b := start(t, newCabinet(), nil)
	b.c.SetMuted(context.Background(), "g", "onebot", time.Hour)
	private := group("g", "a", "x")
	private.SessionType = message.SessionPrivate
	idle := group("g", "", "x")
	idle.Source = flow.SourceIdle
	job := message.Incoming{Content: "x", SessionID: "g", Platform: "internal", Source: "scheduler"}
	for name, m := range map[string]message.Incoming{"private": private, "idle": idle, "scheduler": job} {
		if !b.send(m) {
			t.Errorf("%s is held back", name)
		}
	}
	if _, ok := b.c.Snapshot("g"); ok {
		t.Error("they were counted")
	}
	b.c.SetMuted(context.Background(), "other", "", time.Hour)
	b.c.RecordTriggered("other")
	b.speak("other")
	if len(b.c.sessions) != 1 {
		t.Errorf("sessions %v", b.c.sessions)
	}
	b.cabinet.broken = true
	if b.send(group("g", "a", "x")) || len(b.Logs.Find("WARN", "Could not archive")) != 1 {
		t.Error("an archive that fails changes what happens, or nobody is told")
	}
}

// TestMutesSurvive a restart, each only as long as it was for, and no other state does.
func TestMutesSurvive(t *testing.T) {
	cab := newCabinet()
	b := start(t, cab, nil)
	b.c.SetMuted(context.Background(), "long", "onebot", time.Hour)
	b.c.SetMuted(context.Background(), "short", "onebot", time.Minute)
	b.c.SetMuted(context.Background(), "undone", "onebot", time.Hour)
	b.c.SetMuted(context.Background(), "undone", "onebot", -1)
	b.send(group("g", "a", "x"))
	b.Stop()
	cab.values["mute:odd"], cab.values["other"] = json.RawMessage(`[]`), json.RawMessage(`{}`)
	now := b.Clock.Now()
	again := start(t, cab, nil, kerneltest.WithOptions(func(o *kernel.Options) {
		o.Now = func() time.Time { return now.Add(2 * time.Minute) }
	}))
	if until, ok := again.c.MutedUntil("long"); !ok || !until.Equal(now.Add(time.Hour)) {
		t.Errorf("muted until %v %t", until, ok)
	}
	if len(again.c.sessions) != 1 {
		t.Errorf("restored %v", again.c.sessions)
	}
	if again.send(group("long", "a", "x")) {
		t.Error("the bot speaks where it was muted")
	}
	keys := slices.Sorted(maps.Keys(cab.values))
	if !slices.Equal(keys, []string{"mute:long", "mute:odd", "other"}) {
		t.Errorf("kept %v", keys)
	}
}

func TestReconfigure(t *testing.T) {
	b := start(t, newCabinet(), nil)
	b.send(group("g", "a", "x"))
	id := "@aalis/plugin-flow-control"
	before := b.Plugin(id)
	b.Apply(func(c *kernel.Config) {
		p := c.Plugins[id]
		p.Config = map[string]any{"fixedInterval": 9}
		c.Plugins[id] = p
	})
	if s, ok := b.c.Snapshot("g"); !ok || s.FixedInterval != 9 || s.MessageCount != 1 || b.Plugin(id).Since != before.Since {
		t.Errorf("got %+v %t", s, ok)
	}
}

// TestIdleInASession: after its time of quiet, doubled while nobody answers, and by the model's own words.
func TestIdleInASession(t *testing.T) {
	b := start(t, newCabinet(), map[string]any{"idleTriggerScope": "session", "idleTriggerMinutes": 10.0, "idleTriggerMaxMinutes": 30.0, "idleTriggerJitter": false})
	now := b.Clock.Now()
	b.send(group("g", "a", "x"))
	check := func(after time.Duration, wantBegun int, wantNext time.Duration) {
		t.Helper()
		b.Clock.Set(now.Add(after))
		begun, again := b.c.due(b.Clock.Now())
		if len(begun) != wantBegun || again.Sub(now) != wantNext {
			t.Errorf("after %s: begun %v, again after %s", after, begun, again.Sub(now))
		}
		if wantBegun == 1 && (begun[0].session != "g" || begun[0].platform != "onebot" || !strings.HasPrefix(begun[0].prompt, "It has been quiet")) {
			t.Errorf("begun %+v", begun)
		}
	}
	check(10*time.Minute-1, 0, 10*time.Minute)
	check(10*time.Minute, 1, 30*time.Minute)
	check(30*time.Minute, 1, 60*time.Minute)
	check(60*time.Minute, 1, 90*time.Minute)
	b.speak("g")
	check(60*time.Minute, 0, 70*time.Minute)
	b.c.SetMuted(context.Background(), "g", "onebot", time.Hour)
	b.c.RescheduleIdle("g")
	check(71*time.Minute, 0, 71*time.Minute+sweepEvery)
}

// TestIdleOnAPlatform: one session for all, the one that has been quiet for longest among those in which the bot may speak.
func TestIdleOnAPlatform(t *testing.T) {
	for _, strategy := range []string{"all-quiet", "fixed"} {
		b := start(t, newCabinet(), map[string]any{"idleTriggerScope": "platform", "idleTriggerStrategy": strategy, "idleTriggerMinutes": 10.0})
		now := b.Clock.Now()
		at := func(d time.Duration) (sessions []string, next time.Duration) {
			b.Clock.Set(now.Add(d))
			begun, again := b.c.due(b.Clock.Now())
			for _, i := range begun {
				sessions = append(sessions, i.session)
			}
			return sessions, again.Sub(now)
		}
		if got, next := at(0); len(got) != 0 || next < time.Minute {
			t.Errorf("%s: with no session: %v, again after %s", strategy, got, next)
		}
		for i, id := range []string{"muted", "old", "new"} {
			b.Clock.Set(now.Add(time.Duration(i) * time.Minute))
			b.send(group(id, "a", "x"))
		}
		b.c.SetMuted(context.Background(), "muted", "onebot", time.Hour)
		due := 12 * time.Minute
		if strategy == strategyFixed {
			due = 10 * time.Minute
		}
		if got, _ := at(due - time.Second); len(got) != 0 {
			t.Errorf("%s: too early: %v", strategy, got)
		}
		if got, next := at(due); !slices.Equal(got, []string{"old"}) || next != due+10*time.Minute {
			t.Errorf("%s: got %v, again after %s", strategy, got, next)
		}
		if got, _ := at(due + time.Second); len(got) != 0 {
			t.Errorf("%s: twice: %v", strategy, got)
		}
	}
}

// TestTheLoopBegins: what is due is handed to the gateway.
func TestTheLoopBegins(t *testing.T) {
	b := start(t, newCabinet(), map[string]any{"idleTriggerScope": "session", "idleTriggerMinutes": 10.0, "idleTriggerPrompt": "Say something."})
	b.send(group("g", "a", "x"))
	b.Clock.Advance(time.Hour)
	b.c.poke()
	select {
	case m := <-b.router.began:
		want := message.Incoming{Content: "Say something.", SessionID: "g", Platform: "onebot", Source: "idle-trigger", TriggerType: message.TriggerIdle}
		if m.Content != want.Content || m.SessionID != want.SessionID || m.Source != want.Source || m.TriggerType != want.TriggerType || m.SessionType != "" {
			t.Errorf("got %+v", m)
		}
	case <-time.After(kerneltest.Patience):
		t.Fatal("nothing began")
	}
}

func TestForgetting(t *testing.T) {
	b := start(t, newCabinet(), nil)
	now := b.Clock.Now()
	for _, id := range []string{"a", "b"} {
		b.send(group(id, "u", "x"))
	}
	b.c.SetMuted(context.Background(), "b", "onebot", 60*24*time.Hour)
	b.Clock.Advance(forgetAfter)
	b.c.sweep(b.Clock.Now())
	if len(b.c.sessions) != 2 {
		t.Error("forgotten too early")
	}
	b.Clock.Advance(time.Second)
	b.c.sweep(b.Clock.Now())
	if len(b.c.sessions) != 1 || b.c.sessions["b"] == nil {
		t.Errorf("left %v", b.c.sessions)
	}
	b.Clock.Set(now)
	for i := range maxSessions + 50 {
		b.Clock.Advance(time.Second)
		b.send(group(fmt.Sprint("s", i), "u", "x"))
	}
	if len(b.c.sessions) != maxSessions || b.c.sessions["b"] == nil || b.c.sessions["s0"] != nil {
		t.Errorf("%d sessions, the muted one %t, the oldest %t", len(b.c.sessions), b.c.sessions["b"] != nil, b.c.sessions["s0"] != nil)
	}
}
