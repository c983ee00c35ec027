// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sessionconfirm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aalis-dev/aalis-operator/runtime/contract/access"
	"github.com/aalis-dev/aalis-operator/runtime/contract/confirm"
	"github.com/aalis-dev/aalis-operator/runtime/contract/gateway"
	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
	"github.com/aalis-dev/aalis-operator/runtime/i18n"
	"github.com/aalis-dev/aalis-operator/runtime/kerneltest"
)

var errBroken = errors.New("out of order")

// exit is a gateway that hands on what goes out.
type exit struct {
	gateway.Gateway
	said chan message.Outgoing
}

func (e *exit) DispatchOutbound(_ context.Context, m message.Outgoing) { e.said <- m }

// people is an authority that keeps the handlers.
type people struct {
	mu       sync.Mutex
	handlers map[string]access.ConfirmHandler
}

func (*people) IsOwner(string, string) bool { return false }
func (*people) Level(string, string) int    { return 0 }

func (p *people) SetConfirmHandler(platform string, h access.ConfirmHandler) (off func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.handlers[platform] = h
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.handlers, platform)
	}
}

func (p *people) handler(platform string) access.ConfirmHandler {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.handlers[platform]
}

// alarm is a timer that a test fires.
type alarm struct{ set chan chan time.Time }

func newAlarm() *alarm { return &alarm{set: make(chan chan time.Time, 100)} }

func (a *alarm) after(d time.Duration) (<-chan time.Time, func()) {
	if d != time.Minute {
		panic(d)
	}
	c := make(chan time.Time, 1)
	a.set <- c
	return c, func() {}
}

type bot struct {
	*kerneltest.Harness
	t     testing.TB
	exit  *exit
	who   *people
	alarm *alarm
}

func start(t testing.TB, opts ...kerneltest.Option) *bot {
	t.Helper()
	b := &bot{t: t, exit: &exit{said: make(chan message.Outgoing, 100)}, who: &people{handlers: map[string]access.ConfirmHandler{}}, alarm: newAlarm()}
	opts = append(opts,
		kerneltest.WithService[gateway.Gateway](gateway.Service, b.exit),
		kerneltest.WithService[access.Authority](access.Service, b.who),
		kerneltest.WithPlugin(module(b.alarm.after), "", nil))
	b.Harness = kerneltest.New(t, opts...)
	return b
}

// result is what became of a question.
type result struct {
	answer access.ConfirmAnswer
	err    error
}

func request(session, user, capability string, c access.Confirm) access.ConfirmRequest {
	return access.ConfirmRequest{
		Request: access.Request{Capability: capability, SessionID: session, Platform: "p", UserID: user, TurnID: "turn-" + session}, Confirm: c,
	}
}

// confirm asks in the background.
func (b *bot) confirm(ctx context.Context, r access.ConfirmRequest) <-chan result {
	out := make(chan result, 1)
	h := b.who.handler("*")
	go func() {
		answer, err := h(ctx, r)
		out <- result{answer, err}
	}()
	return out
}

// shown waits for the next text that is shown.
func (b *bot) shown() message.Outgoing {
	b.t.Helper()
	return next(b.t, b.exit.said)
}

func next[T any](t testing.TB, c <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-c:
	case <-time.After(kerneltest.Patience):
		t.Fatal("nothing came")
	}
	return v
}

// send takes a message through the first phase and tells whether it goes on.
func (b *bot) send(session, user, text string) (goesOn bool) {
	b.t.Helper()
	return b.sendMessage(message.Incoming{Content: text, SessionID: session, Platform: "p", UserID: user})
}

func (b *bot) sendMessage(m message.Incoming) (goesOn bool) {
	b.t.Helper()
	goesOn, err := gateway.Confirm.Run(context.Background(), b.Root(), &gateway.Inbound{Message: m}, nil)
	if err != nil {
		b.t.Fatal(err)
	}
	return goesOn
}

// asked waits until the question that was shown may be answered.
func (b *bot) asked() { next(b.t, b.alarmSet()) }

func (b *bot) alarmSet() <-chan chan time.Time { return b.alarm.set }

func TestConformance(t *testing.T) {
	kerneltest.Run(t, Plugin, kerneltest.WithService[gateway.Gateway](gateway.Service, &exit{said: make(chan message.Outgoing, 100)}),
		kerneltest.WithService[access.Authority](access.Service, &people{handlers: map[string]access.ConfirmHandler{}}))
}

func TestParse(t *testing.T) {
	once, session := access.ConfirmAnswer{Allowed: true}, access.ConfirmAnswer{Allowed: true, ForSession: 10 * time.Minute}
	for text, want := range map[string][2]access.ConfirmAnswer{
		"y": {once, once}, "Y": {once, once}, " Yes\n": {once, once}, "ys": {session, once}, "YS": {session, once},
		"": {}, "n": {}, "yy": {}, "yes please": {}, "y.": {}, "是": {}, "ok": {}, "Ｙ": {}, "Y\x00": {},
	} {
		for i, c := range []access.Confirm{access.ConfirmSession, access.ConfirmAlways} {
			if got := parse(text, c); got != want[i] {
				t.Errorf("%q with %s: got %+v", text, c, got)
			}
		}
	}
}

func TestTexts(t *testing.T) {
	b := start(t, kerneltest.WithSetting(i18n.Setting.Key(), i18n.Chinese))
	for _, tc := range []struct {
		r    access.ConfirmRequest
		want string
	}{
		{request("s", "u", "tool:file_delete", access.ConfirmSession), "[系统] file_delete 需要确认：回复 Y 执行一次，YS 在本会话 10 分钟内不再询问，其它回复取消。"},
		{request("s", "u", "command:clear.all", access.ConfirmAlways), "[系统] /clear.all 需要确认：回复 Y 执行本次，其它回复取消。"},
	} {
		done := b.confirm(context.Background(), tc.r)
		want := message.Outgoing{Content: tc.want, SessionID: "s", Platform: "p", TurnID: "turn-s", Source: message.FromSystem}
		if got := b.shown(); got.Content != want.Content || got.SessionID != "s" || got.Platform != "p" || got.TurnID != "turn-s" || got.Source != message.FromSystem {
			t.Errorf("got %+v", got)
		}
		b.asked()
		b.send("s", "u", "no")
		if r := next(t, done); r.answer.Allowed || r.err != nil {
			t.Errorf("got %+v", r)
		}
	}
}

// TestOneAtATime is section 4: first in, first out in each session, only the head is shown, only whom it asks may answer.
func TestOneAtATime(t *testing.T) {
	b := start(t)
	ctx := context.Background()
	first := b.confirm(ctx, request("s", "ann", "tool:a", access.ConfirmSession))
	if got := b.shown(); !strings.Contains(got.Content, "a must be confirmed") {
		t.Fatalf("got %+v", got)
	}
	b.asked()
	second := b.confirm(ctx, request("s", "bob", "tool:b", access.ConfirmSession))
	b.waiting("s", 2)
	third := b.confirm(ctx, request("s", "ann", "tool:c", access.ConfirmAlways))
	b.waiting("s", 3)
	other := b.confirm(ctx, request("t", "ann", "tool:d", access.ConfirmSession))
	if got := b.shown(); !strings.Contains(got.Content, "d must be confirmed") {
		t.Fatalf("another session waits for this one: %+v", got)
	}
	b.asked()

	for name, goesOn := range map[string]bool{
		"another member":   b.send("s", "bob", "Y"),
		"nobody":           b.send("s", "", "Y"),
		"another chat":     b.send("u", "ann", "Y"),
		"another platform": b.sendMessage(message.Incoming{Content: "Y", SessionID: "s", Platform: "q", UserID: "ann"}),
		"a scheduler":      b.sendMessage(message.Incoming{Content: "Y", SessionID: "s", Platform: "p", UserID: "ann", Source: "scheduler"}),
		"a notice":         b.sendMessage(message.Incoming{Content: "Y", SessionID: "s", Platform: "p", UserID: "ann", NoticeType: "poke"}),
	} {
		if !goesOn {
			t.Errorf("%s answers", name)
		}
	}
	if b.send("s", "ann", " ys ") {
		t.Error("an answer goes on")
	}
	if r := next(t, first); !r.answer.Allowed || r.answer.ForSession != grantFor {
		t.Errorf("got %+v", r)
	}
	b.shown()
	b.asked()
	if b.send("s", "bob", "what is this?") {
		t.Error("a refusal goes on")
	}
	if r := next(t, second); r.answer.Allowed {
		t.Errorf("got %+v", r)
	}
	b.shown()
	b.asked()
	b.Clock.Advance(doubled)
	b.send("s", "ann", "YS")
	if r := next(t, third); !r.answer.Allowed || r.answer.ForSession != 0 {
		t.Errorf("what must be confirmed always: got %+v", r)
	}
	if !b.send("s", "ann", "Y") {
		t.Error("an answer without a question is taken")
	}
	b.send("t", "ann", "y")
	if r := next(t, other); !r.answer.Allowed {
		t.Errorf("got %+v", r)
	}
}

// waiting waits until a session has so many questions.
func (b *bot) waiting(session string, n int) {
	b.t.Helper()
	got, ok := confirm.Service.Get(b.Root())
	c, isOurs := got.(*coordinator)
	if !ok || !isOurs {
		b.t.Fatal("there is no coordinator")
	}
	deadline := time.Now().Add(kerneltest.Patience)
	for {
		c.mu.Lock()
		ch := c.channels[0]
		c.mu.Unlock()
		ch.mu.Lock()
		have := len(ch.queues[session])
		ch.mu.Unlock()
		if have == n {
			return
		}
		if time.Now().After(deadline) {
			b.t.Fatalf("%d questions wait", have)
		}
		time.Sleep(time.Millisecond)
	}
}

// TestYesTwice: a second yes to one question does not answer the next, which is shown once more, and reaches nobody else. Once
// there was time to read it, a yes counts; a no counts at once.
func TestYesTwice(t *testing.T) {
	for _, last := range []string{"Y", "n"} {
		b := start(t)
		first := b.confirm(context.Background(), request("s", "u", "tool:a", access.ConfirmSession))
		b.shown()
		b.asked()
		second := b.confirm(context.Background(), request("s", "u", "tool:b", access.ConfirmSession))
		b.waiting("s", 2)
		if b.send("s", "u", "Y") {
			t.Error("an answer goes on")
		}
		if r := next(t, first); !r.answer.Allowed {
			t.Errorf("got %+v", r)
		}
		b.shown()
		b.asked()
		if b.send("s", "u", "Y") {
			t.Error("a second yes goes on")
		}
		if again := b.shown(); !strings.Contains(again.Content, "b must be confirmed") {
			t.Errorf("got %+v", again)
		}
		select {
		case r := <-second:
			t.Errorf("a second yes answered the next question: %+v", r)
		default:
		}
		if last == "Y" {
			b.Clock.Advance(doubled)
		}
		if b.send("s", "u", last) {
			t.Error("an answer goes on")
		}
		if r := next(t, second); r.answer.Allowed != (last == "Y") {
			t.Errorf("%s: got %+v", last, r)
		}
	}
}

// TestYesAfterNo: a yes that follows a no at once is meant for the next question.
func TestYesAfterNo(t *testing.T) {
	b := start(t)
	first := b.confirm(context.Background(), request("s", "u", "tool:a", access.ConfirmSession))
	b.shown()
	b.asked()
	second := b.confirm(context.Background(), request("s", "u", "tool:b", access.ConfirmSession))
	b.waiting("s", 2)
	b.send("s", "u", "n")
	if r := next(t, first); r.answer.Allowed {
		t.Errorf("got %+v", r)
	}
	b.shown()
	b.asked()
	b.send("s", "u", "Y")
	select {
	case again := <-b.exit.said:
		t.Fatalf("asked again: %+v", again)
	case r := <-second:
		if !r.answer.Allowed {
			t.Errorf("got %+v", r)
		}
	}
}

// TestAnswerBeforeTheQuestionIsShown: an answer that is quicker than the delivery of its question counts; one from before the
// question was its session's first does not.
func TestAnswerBeforeTheQuestionIsShown(t *testing.T) {
	b := start(t)
	var c confirm.Channel
	c = (&coordinator{k: b.Root(), after: b.alarm.after}).CreateChannel(func(_ context.Context, r access.Request, _ string) error {
		if !c.Feed(r.SessionID, r.Platform, r.UserID, "Y") {
			t.Error("the answer is not taken")
		}
		return nil
	})
	answer, err := c.Handle(context.Background(), request("s", "u", "tool:a", access.ConfirmSession))
	if err != nil || !answer.Allowed {
		t.Errorf("got %+v, %v", answer, err)
	}
	q := &question{r: request("t", "u", "tool:b", access.ConfirmSession), head: make(chan struct{}), answer: make(chan access.ConfirmAnswer, 1)}
	if err := c.(*channel).join(q); err != nil {
		t.Fatal(err)
	}
	if !c.Feed("t", "p", "u", "Y") || c.Feed("t", "p", "u", "hello") || len(q.answer) != 0 {
		t.Error("a question that is not shown yet was answered")
	}
}

func (c *channel) length(session string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.queues[session])
}

func TestNoAnswerInTime(t *testing.T) {
	b := start(t)
	first := b.confirm(context.Background(), request("s", "u", "tool:a", access.ConfirmSession))
	b.shown()
	fire := next(t, b.alarmSet())
	second := b.confirm(context.Background(), request("s", "u", "tool:b", access.ConfirmSession))
	b.waiting("s", 2)
	fire <- time.Time{}
	if r := next(t, first); r.answer.Allowed || r.err != nil {
		t.Errorf("got %+v", r)
	}
	texts := []string{b.shown().Content, b.shown().Content}
	slices.Sort(texts)
	if !strings.Contains(texts[0], "Nobody confirmed a in time") || !strings.Contains(texts[1], "b must be confirmed") {
		t.Errorf("got %q", texts)
	}
	b.asked()
	b.send("s", "u", "Y")
	if r := next(t, second); !r.answer.Allowed {
		t.Errorf("got %+v", r)
	}
	if !b.send("s", "u", "Y") {
		t.Error("a late answer is taken")
	}
}

func TestTurnThatEnds(t *testing.T) {
	b := start(t)
	ctx, cancel := context.WithCancel(context.Background())
	first := b.confirm(ctx, request("s", "u", "tool:a", access.ConfirmSession))
	b.shown()
	b.asked()
	second := b.confirm(ctx, request("s", "u", "tool:b", access.ConfirmSession))
	b.waiting("s", 2)
	cancel()
	for _, c := range []<-chan result{first, second} {
		if r := next(t, c); r.answer.Allowed || !errors.Is(r.err, context.Canceled) {
			t.Errorf("got %+v", r)
		}
	}
	if !b.send("s", "u", "Y") {
		t.Error("an answer to what has ended is taken")
	}
}

// TestStopRefuses: a stop, and with it a hand-over, refuses what is asked and what waits; nothing is asked afterwards.
func TestStopRefuses(t *testing.T) {
	b := start(t)
	h := b.who.handler("*")
	first := b.confirm(context.Background(), request("s", "u", "tool:a", access.ConfirmSession))
	b.shown()
	b.asked()
	second := b.confirm(context.Background(), request("s", "u", "tool:b", access.ConfirmSession))
	b.waiting("s", 2)
	b.Stop()
	for _, c := range []<-chan result{first, second} {
		if r := next(t, c); r.answer.Allowed || !errors.Is(r.err, errDisposed) {
			t.Errorf("got %+v", r)
		}
	}
	if b.who.handler("*") != nil {
		t.Error("the handler stayed")
	}
	if answer, err := h(context.Background(), request("s", "u", "tool:a", access.ConfirmSession)); answer.Allowed || !errors.Is(err, errDisposed) {
		t.Errorf("got %+v, %v", answer, err)
	}
}

func TestQuestionThatCannotBeShown(t *testing.T) {
	b := start(t)
	c := (&coordinator{k: b.Root(), after: b.alarm.after}).CreateChannel(func(context.Context, access.Request, string) error { return errBroken })
	if answer, err := c.Handle(context.Background(), request("s", "u", "tool:a", access.ConfirmSession)); answer.Allowed || !errors.Is(err, errBroken) {
		t.Errorf("got %+v, %v", answer, err)
	}
	if c.(*channel).length("s") != 0 {
		t.Error("it stays in the line")
	}
}

func TestTooManyQuestions(t *testing.T) {
	b := start(t)
	ctx, cancel := context.WithCancel(context.Background())
	var all []<-chan result
	for i := range maxWaiting {
		all = append(all, b.confirm(ctx, request("s", "u", fmt.Sprint("tool:", i), access.ConfirmSession)))
		b.waiting("s", i+1)
	}
	if r := next(t, b.confirm(ctx, request("s", "u", "tool:more", access.ConfirmSession))); r.answer.Allowed || !errors.Is(r.err, errTooMany) {
		t.Errorf("got %+v", r)
	}
	cancel()
	for _, c := range all {
		next(t, c)
	}
}

// TestManySessions: under concurrent use every question gets the answer of its own session's person.
func TestManySessions(t *testing.T) {
	b := start(t)
	b.alarm.set = make(chan chan time.Time, 10_000)
	c := (&coordinator{k: b.Root(), after: b.alarm.after}).CreateChannel(func(context.Context, access.Request, string) error { return nil })
	var asking, answering sync.WaitGroup
	ctx, stop := context.WithCancel(context.Background())
	for s := range 10 {
		session := fmt.Sprint("s", s)
		// People of even sessions say yes, those of odd ones no; strangers always say yes.
		text := map[bool]string{true: "Y", false: "N"}[s%2 == 0]
		answering.Go(func() {
			for ctx.Err() == nil {
				c.Feed(session, "p", "stranger", "Y")
				b.Clock.Advance(doubled)
				c.Feed(session, "p", session, text)
				time.Sleep(10 * time.Microsecond)
			}
		})
		for q := range 20 {
			asking.Go(func() {
				answer, err := c.Handle(context.Background(), request(session, session, fmt.Sprint("tool:", q), access.ConfirmSession))
				if err != nil || answer.Allowed != (s%2 == 0) {
					t.Errorf("%s: got %+v, %v", session, answer, err)
				}
			})
		}
	}
	asking.Wait()
	stop()
	answering.Wait()
}
