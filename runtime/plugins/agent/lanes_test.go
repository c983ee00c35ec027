// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/aalis-dev/aalis-operator/runtime/contract/agent"
	"github.com/aalis-dev/aalis-operator/runtime/contract/llm"
	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
	"github.com/aalis-dev/aalis-operator/runtime/i18n"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
	"github.com/aalis-dev/aalis-operator/runtime/kerneltest"
)

// gated is a model whose answers wait: a request says that it is there and then waits for release or its own end.
func gated(entered chan string, release chan struct{}) *scriptedModel {
	return newModel(func(ctx context.Context, req llm.Request, onChunk func(llm.Chunk) error) error {
		last := req.Messages[len(req.Messages)-1].Content
		if err := onChunk(llm.Chunk{ContentDelta: "re: "}); err != nil {
			return err
		}
		entered <- last[strings.LastIndex(last, " ")+1:]
		select {
		case <-release:
		case <-ctx.Done():
			return fmt.Errorf("reading the answer: %w", ctx.Err())
		}
		return onChunk(text(last[strings.LastIndex(last, " ")+1:]))
	})
}

func say(content, session, source string) message.Incoming {
	return message.Incoming{Content: content, SessionID: session, Platform: "test", TurnID: content, Source: source}
}

// running is a bot with a gated model whose turns run on their own.
type running struct {
	*bot
	entered chan string
	release chan struct{}
	wg      sync.WaitGroup
}

func newRunning(t *testing.T, opts ...kerneltest.Option) *running {
	t.Helper()
	r := &running{entered: make(chan string, 1000), release: make(chan struct{})}
	r.bot = newBot(t, gated(r.entered, r.release), opts...)
	return r
}

func (r *running) handle(m message.Incoming) {
	r.wg.Go(func() { r.agent.HandleMessage(context.Background(), m) })
}

func (r *running) turn(content string) agent.TurnData {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, d := range r.turns {
		if d.Message.Content == content {
			return d
		}
	}
	return agent.TurnData{}
}

func TestASecondMessageOfALaneAbortsTheFirst(t *testing.T) {
	kerneltest.NoLeaks(t)
	r := newRunning(t)
	r.handle(say("one", "s", ""))
	receive(t, r.entered)
	r.handle(say("two", "s", "user")) // the default lane by its name
	receive(t, r.entered)
	close(r.release)
	wait(t, &r.wg)
	if got := r.turn("one"); got.Outcome != agent.Aborted || got.Reply != "" {
		t.Errorf("first turn %+v", got)
	}
	if got := r.turn("two"); got.Outcome != agent.Replied {
		t.Errorf("second turn %+v", got)
	}
	if diff := cmp.Diff([]string{"re: two"}, contents(r.out)); diff != "" {
		t.Errorf("sent (-want +got):\n%s", diff)
	}
	done := map[string]int{}
	for _, c := range r.stream {
		if c.Done {
			done[c.TurnID]++
		}
	}
	if diff := cmp.Diff(map[string]int{"one": 1, "two": 1}, done); diff != "" {
		t.Errorf("ends of streams (-want +got):\n%s", diff)
	}
	var stored []string
	for _, m := range r.store.all("s") {
		stored = append(stored, m.Content)
	}
	if diff := cmp.Diff([]string{"one", "two", "re: two"}, stored); diff != "" {
		t.Errorf("stored (-want +got):\n%s", diff)
	}
	if len(r.calls) != 2 {
		t.Errorf("calls %+v", r.calls)
	}
	i := slices.IndexFunc(r.calls, func(c agent.CallDone) bool { return c.Err != nil })
	if i < 0 || !r.calls[i].Estimated || r.calls[i].Usage.PromptTokens == 0 {
		t.Errorf("the aborted call is not counted: %+v", r.calls)
	}
}

func TestLanesRunInParallelAndAbortEndsThemAll(t *testing.T) {
	kerneltest.NoLeaks(t)
	r := newRunning(t)
	r.handle(say("one", "s", ""))
	r.handle(say("two", "s", "scheduler"))
	r.handle(say("three", "other", ""))
	got := []string{receive(t, r.entered), receive(t, r.entered), receive(t, r.entered)}
	slices.Sort(got)
	if !slices.Equal(got, []string{"one", "three", "two"}) {
		t.Errorf("running together: %v", got)
	}
	r.agent.Abort("s")
	r.agent.Abort("nobody")
	eventually(t, func() bool { return r.turn("one").Outcome != "" && r.turn("two").Outcome != "" })
	close(r.release)
	wait(t, &r.wg)
	for content, want := range map[string]agent.Outcome{"one": agent.Aborted, "two": agent.Aborted, "three": agent.Replied} {
		if got := r.turn(content).Outcome; got != want {
			t.Errorf("%s: %s, want %s", content, got, want)
		}
	}
	if a, ok := r.agent.(*conductor); !ok || len(a.lanes.sessions) != 0 || a.lanes.running != 0 {
		t.Errorf("lanes are left behind: %+v", a.lanes)
	}
}

func TestAnAbortInTheLastMomentLeavesNothingBehind(t *testing.T) {
	b := newBot(t, saying(text("hi")))
	agent.ReplyBefore.Use(b.Root(), func(ctx context.Context, d *agent.ReplyData, next kernel.Next) error {
		b.agent.Abort(d.SessionID)
		return next(ctx)
	})
	b.handle(hello())
	if len(b.out) != 0 || b.turns[0].Outcome != agent.Aborted || len(b.store.all("s")) != 1 {
		t.Errorf("sent %v, turns %+v", b.out, b.turns)
	}
}

func TestACallerThatLeavesCutsTheTurnOff(t *testing.T) {
	kerneltest.NoLeaks(t)
	r := newRunning(t)
	ctx, cancel := context.WithCancel(t.Context())
	r.wg.Go(func() { r.agent.HandleMessage(ctx, say("one", "s", "")) })
	receive(t, r.entered)
	cancel()
	wait(t, &r.wg)
	if diff := cmp.Diff([]string{i18n.Interrupted().Notice(i18n.English)}, contents(r.out)); diff != "" {
		t.Errorf("sent (-want +got):\n%s", diff)
	}
	if got := r.turn("one").Outcome; got != agent.Aborted {
		t.Errorf("outcome %s", got)
	}
}

func TestADeadlineIsAnError(t *testing.T) {
	kerneltest.NoLeaks(t)
	r := newRunning(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	r.wg.Go(func() { r.agent.HandleMessage(ctx, say("one", "s", "")) })
	wait(t, &r.wg)
	if diff := cmp.Diff([]string{i18n.ModelTimedOut().Failure(i18n.English)}, contents(r.out)); diff != "" {
		t.Errorf("sent (-want +got):\n%s", diff)
	}
	if got := r.turn("one").Outcome; got != agent.Failed {
		t.Errorf("outcome %s", got)
	}
}

func TestDrainWaitsAndRefuses(t *testing.T) {
	kerneltest.NoLeaks(t)
	r := newRunning(t)
	r.handle(say("one", "s", ""))
	receive(t, r.entered)
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		_ = r.App.Plugins().Disable(context.Background(), Plugin.Name)
	}()
	a, ok := r.agent.(*conductor)
	if !ok {
		t.Fatal("not ours")
	}
	eventually(t, a.lanes.isClosed)
	r.agent.HandleMessage(t.Context(), say("late", "s2", ""))
	if diff := cmp.Diff([]string{i18n.Stopping().Notice(i18n.English)}, contents(r.out)); diff != "" {
		t.Errorf("sent (-want +got):\n%s", diff)
	}
	close(r.release)
	receive(t, stopped)
	wait(t, &r.wg)
	if got := r.turn("one").Outcome; got != agent.Replied {
		t.Errorf("the running turn was not let finish: %s", got)
	}
}

func TestStopCutsOffWhatDrainingHasLeft(t *testing.T) {
	kerneltest.NoLeaks(t)
	r := newRunning(t, kerneltest.WithOptions(func(o *kernel.Options) { o.DrainTimeout = 10 * time.Millisecond }))
	r.handle(say("one", "s", ""))
	receive(t, r.entered)
	if err := r.App.Plugins().Disable(context.Background(), Plugin.Name); err != nil {
		t.Fatal(err)
	}
	if r.turn("one").Outcome != agent.Aborted {
		t.Errorf("after the stop the turn is %q", r.turn("one").Outcome)
	}
	wait(t, &r.wg)
	if diff := cmp.Diff([]string{i18n.Interrupted().Notice(i18n.English)}, contents(r.out)); diff != "" {
		t.Errorf("sent (-want +got):\n%s", diff)
	}
}

func TestManySessionsAtOnce(t *testing.T) {
	kerneltest.NoLeaks(t)
	const sessions, turns = 100, 5
	model := newModel(func(_ context.Context, req llm.Request, onChunk func(llm.Chunk) error) error {
		last := req.Messages[len(req.Messages)-1].Content
		return errors.Join(onChunk(llm.Chunk{ContentDelta: "re: "}), onChunk(text(last[strings.LastIndex(last, " ")+1:])))
	})
	b := newBot(t, model)
	var wg sync.WaitGroup
	for s := range sessions {
		wg.Go(func() {
			for n := range turns {
				b.agent.HandleMessage(context.Background(), say(fmt.Sprintf("%d/%d", s, n), fmt.Sprint(s), ""))
			}
		})
	}
	wait(t, &wg)
	if len(b.out) != sessions*turns || len(b.calls) != sessions*turns {
		t.Fatalf("%d replies, %d calls", len(b.out), len(b.calls))
	}
	for _, m := range b.out {
		if m.Content != "re: "+m.TurnID || !strings.HasPrefix(m.TurnID, m.SessionID+"/") {
			t.Errorf("a reply went astray: %+v", m)
		}
	}
	for s := range sessions {
		list := b.store.all(fmt.Sprint(s))
		if len(list) != 2*turns {
			t.Errorf("session %d has %d messages", s, len(list))
		}
		for i, m := range list {
			if want := fmt.Sprintf("%d/%d", s, i/2); !strings.HasSuffix(m.Content, want) {
				t.Errorf("session %d, message %d: %q", s, i, m.Content)
			}
		}
	}
}

func (l *lanes) isClosed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.closed
}

func TestAbortTurnEndsThatTurnOnly(t *testing.T) {
	kerneltest.NoLeaks(t)
	r := newRunning(t)
	one, two := say("one", "s1", ""), say("two", "s2", "")
	one.TurnID, two.TurnID = "t1", "t2"
	r.handle(one)
	receive(t, r.entered)
	r.handle(two)
	receive(t, r.entered)
	r.agent.AbortTurn("")
	r.agent.AbortTurn("nobody's")
	r.agent.AbortTurn("t1")
	eventually(t, func() bool { return r.turn("one").Outcome == agent.Aborted })
	close(r.release)
	wait(t, &r.wg)
	if got := r.turn("two"); got.Outcome != agent.Replied {
		t.Errorf("turn %+v", got)
	}
}
