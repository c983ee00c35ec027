// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

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
	"github.com/aalis-dev/aalis-operator/runtime/contract/gateway"
	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
	"github.com/aalis-dev/aalis-operator/runtime/i18n"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
	"github.com/aalis-dev/aalis-operator/runtime/kerneltest"
)

// fakeAgent calls handle for each message.
type fakeAgent struct {
	handle func(ctx context.Context, m message.Incoming)
}

func (f *fakeAgent) HandleMessage(ctx context.Context, m message.Incoming) {
	if f.handle != nil {
		f.handle(ctx, m)
	}
}
func (*fakeAgent) Abort(string)                                           {}
func (*fakeAgent) AbortTurn(string)                                       {}
func (*fakeAgent) RegisterPreprocessor(string, agent.Preprocessor) func() { return func() {} }
func (*fakeAgent) Preprocessors() []string                                { return nil }
func (*fakeAgent) DefaultModel() (string, error)                          { return "", errors.New("none") }

func withAgent(handle func(ctx context.Context, m message.Incoming)) kerneltest.Option {
	return kerneltest.WithService[agent.Agent](agent.Service, &fakeAgent{handle})
}

func start(t *testing.T, opts ...kerneltest.Option) (*kerneltest.Harness, gateway.Gateway) {
	t.Helper()
	h := kerneltest.New(t, append(opts, kerneltest.WithPlugin(Plugin, "", nil))...)
	g, ok := gateway.Service.Get(h.Root())
	if !ok {
		t.Fatalf("there is no gateway:\n%s", h.Logs)
	}
	return h, g
}

// outbox collects what the platforms would show.
func outbox(h *kerneltest.Harness) <-chan message.Outgoing {
	out := make(chan message.Outgoing, 100)
	message.Outbound.On(h.Root(), func(_ context.Context, m message.Outgoing) error {
		out <- m
		return nil
	})
	return out
}

func receive[T any](t *testing.T, ch <-chan T) T {
	t.Helper()
	select {
	case v := <-ch:
		return v
	case <-time.After(kerneltest.Patience):
		t.Fatal("nothing came")
		panic("unreachable")
	}
}

func hello(session string) message.Incoming {
	return message.Incoming{Content: "hello", SessionID: session, Platform: "test", TurnID: "t-" + session}
}

func TestConformance(t *testing.T) {
	kerneltest.Run(t, Plugin, withAgent(nil))
}

func TestPhasesRunInOrderAndAreTold(t *testing.T) {
	kerneltest.NoLeaks(t)
	var mu sync.Mutex
	var trace []string
	note := func(s string) {
		mu.Lock()
		defer mu.Unlock()
		trace = append(trace, s)
	}
	h, g := start(t, withAgent(func(_ context.Context, m message.Incoming) { note("agent " + m.Content) }))
	done := make(chan gateway.PhaseDone, 10)
	gateway.Done.On(h.Root(), func(_ context.Context, p gateway.PhaseDone) error {
		done <- p
		return nil
	})
	for _, hook := range []kernel.Hook[gateway.Inbound]{
		gateway.Confirm, gateway.Command, gateway.Flow, gateway.Trigger, gateway.Dispatch,
	} {
		hook.Use(h.Root(), func(ctx context.Context, d *gateway.Inbound, next kernel.Next) error {
			note(hook.Name())
			n, _ := d.Metadata["n"].(int)
			d.Metadata["n"] = n + 1
			d.Message.Content = fmt.Sprintf("passed %d", n+1)
			if d.Agent == nil {
				t.Error("the phases do not know the agent")
			}
			return next(ctx)
		})
	}
	g.IngressMessage(t.Context(), hello("s"))
	want := []string{
		"inbound:confirm", "inbound:command", "inbound:flow", "inbound:trigger", "inbound:dispatch", "agent passed 5",
	}
	if diff := cmp.Diff(want, trace); diff != "" {
		t.Errorf("trace (-want +got):\n%s", diff)
	}
	for _, phase := range want[:5] {
		p := receive(t, done)
		if string(p.Phase) != phase || !p.ReachedEnd || p.SessionID != "s" || p.Platform != "test" || p.TurnID != "t-s" {
			t.Errorf("told %+v, want phase %s", p, phase)
		}
	}
}

func TestAPhaseEndsTheMessage(t *testing.T) {
	for _, phase := range preDispatch {
		t.Run(string(phase.phase), func(t *testing.T) {
			kerneltest.NoLeaks(t)
			h, g := start(t, withAgent(func(context.Context, message.Incoming) { t.Error("the agent got the message") }))
			out := outbox(h)
			done := make(chan gateway.PhaseDone, 10)
			gateway.Done.On(h.Root(), func(_ context.Context, p gateway.PhaseDone) error {
				done <- p
				return nil
			})
			phase.hook.Use(h.Root(), func(context.Context, *gateway.Inbound, kernel.Next) error { return nil })
			g.IngressMessage(t.Context(), hello("s"))
			for {
				p := receive(t, done)
				if p.Phase == phase.phase {
					if p.ReachedEnd {
						t.Error("the phase claims to have reached its end")
					}
					break
				}
			}
			if len(out) != 0 {
				t.Errorf("a swallowed message was answered: %v", <-out)
			}
		})
	}
}

func TestFailuresAreContained(t *testing.T) {
	for name, tc := range map[string]struct {
		use    func(k *kernel.Context)
		handle func(context.Context, message.Incoming)
	}{
		"error": {use: func(k *kernel.Context) {
			gateway.Flow.Use(k, func(context.Context, *gateway.Inbound, kernel.Next) error { return errors.New("broken") })
		}},
		"panic": {use: func(k *kernel.Context) {
			gateway.Trigger.Use(k, func(context.Context, *gateway.Inbound, kernel.Next) error { panic("broken") })
		}},
		"agent panics": {
			use:    func(*kernel.Context) {},
			handle: func(context.Context, message.Incoming) { panic("broken") },
		},
	} {
		t.Run(name, func(t *testing.T) {
			kerneltest.NoLeaks(t)
			h, g := start(t, withAgent(tc.handle))
			out := outbox(h)
			tc.use(h.Root())
			g.IngressMessage(t.Context(), hello("s"))
			got := receive(t, out)
			want := message.Outgoing{
				Content: i18n.InternalError().Failure(i18n.English), SessionID: "s", Platform: "test", TurnID: "t-s",
				Source: message.FromSystem,
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("notice (-want +got):\n%s", diff)
			}
			if len(h.Logs.Find("WARN", "Failed to process Incoming", "broken")) != 1 {
				t.Errorf("the failure is not in the log:\n%s", h.Logs)
			}
		})
	}
}

func TestNoAgent(t *testing.T) {
	kerneltest.NoLeaks(t)
	h, g := start(t, kerneltest.WithSetting("language", "zh-CN"))
	out := outbox(h)
	g.IngressMessage(t.Context(), hello("s"))
	if got := receive(t, out); got.Content != i18n.NoAgent().Notice(i18n.Chinese) || got.Source != message.FromSystem {
		t.Errorf("got %+v", got)
	}
}

func TestOutboundPipeline(t *testing.T) {
	kerneltest.NoLeaks(t)
	h, g := start(t)
	out := outbox(h)
	mode := "replace"
	gateway.Outbound.Use(h.Root(), func(ctx context.Context, d *gateway.OutboundData, next kernel.Next) error {
		switch mode {
		case "replace":
			d.Message.Content += "!"
		case "suppress":
			return nil
		case "fail":
			return errors.New("broken")
		}
		return next(ctx)
	})
	g.DispatchOutbound(t.Context(), message.Outgoing{Content: "a", SessionID: "s"})
	if got := receive(t, out); got.Content != "a!" {
		t.Errorf("got %q", got.Content)
	}
	for _, mode = range []string{"suppress", "fail"} {
		g.DispatchOutbound(t.Context(), message.Outgoing{Content: "b", SessionID: "s"})
		if len(out) != 0 {
			t.Errorf("%s: the message went out", mode)
		}
	}
	if len(h.Logs.Find("WARN", "Failed to dispatch Outgoing")) != 1 {
		t.Errorf("the failure is not in the log:\n%s", h.Logs)
	}
}

func TestInboundEventReturnsAtOnce(t *testing.T) {
	kerneltest.NoLeaks(t)
	release, entered := make(chan struct{}), make(chan string, 10)
	h, _ := start(t, withAgent(func(_ context.Context, m message.Incoming) {
		entered <- m.SessionID
		<-release
	}))
	message.Inbound.Emit(t.Context(), h.Root(), hello("a"))
	message.Inbound.Emit(t.Context(), h.Root(), hello("b"))
	got := []string{receive(t, entered), receive(t, entered)}
	slices.Sort(got)
	if !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("running together: %v", got)
	}
	close(release)
}

// Each message of a session aborts the turn before it, so the last one that came must be the last one that the agent gets.
func TestMessagesOfOneSessionKeepTheirOrder(t *testing.T) {
	kerneltest.NoLeaks(t)
	const n = 200
	var mu sync.Mutex
	var order []string
	all := make(chan struct{})
	var k *kernel.Context
	h, g := start(t, withAgent(func(ctx context.Context, m message.Incoming) {
		mu.Lock()
		if order = append(order, m.Content); len(order) == n {
			close(all)
		}
		mu.Unlock()
		data := agent.InputData{Message: m}
		if _, err := agent.InputBefore.Run(ctx, k, &data, nil); err != nil {
			t.Error(err)
		}
		<-all
	}))
	k = h.Root()
	r, ok := g.(*router)
	if !ok {
		t.Fatal("not ours")
	}
	r.order.patience = kerneltest.Patience
	want := make([]string, n)
	for i := range n {
		m := hello("s")
		m.Content = fmt.Sprint(i)
		want[i] = m.Content
		message.Inbound.Emit(t.Context(), h.Root(), m)
	}
	receive(t, all)
	if diff := cmp.Diff(want, order); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
	h.Stop()
	if len(r.order.last) != 0 {
		t.Errorf("places are left behind: %v", r.order.last)
	}
}

// A command that asks for a confirmation waits, inside its phase, for the next message of the same session.
func TestAYoungerMessageMayOvertakeOneThatWaitsInAPhase(t *testing.T) {
	kerneltest.NoLeaks(t)
	confirmed := make(chan struct{})
	h, _ := start(t, withAgent(nil))
	done := make(chan string, 2)
	gateway.Confirm.Use(h.Root(), func(ctx context.Context, d *gateway.Inbound, next kernel.Next) error {
		if d.Message.Content == "Y" {
			close(confirmed)
			return nil
		}
		return next(ctx)
	})
	gateway.Command.Use(h.Root(), func(ctx context.Context, d *gateway.Inbound, _ kernel.Next) error {
		select {
		case <-confirmed:
			done <- "confirmed"
		case <-ctx.Done():
			done <- "cut off"
		}
		return nil
	})
	message.Inbound.Emit(t.Context(), h.Root(), message.Incoming{Content: "/clear", SessionID: "s"})
	message.Inbound.Emit(t.Context(), h.Root(), message.Incoming{Content: "Y", SessionID: "s"})
	if got := receive(t, done); got != "confirmed" {
		t.Errorf("the command was %s", got)
	}
}

func TestTooManyMessagesAreRefusedWithANotice(t *testing.T) {
	kerneltest.NoLeaks(t)
	release, entered := make(chan struct{}), make(chan string, 10)
	h := kerneltest.New(t, kerneltest.WithPlugin(Plugin, "", map[string]any{"maxConcurrent": 2}),
		withAgent(func(_ context.Context, m message.Incoming) {
			entered <- m.SessionID
			<-release
		}))
	out := outbox(h)
	for i := range 3 {
		message.Inbound.Emit(t.Context(), h.Root(), hello(fmt.Sprint(i)))
	}
	got := receive(t, out)
	if got.SessionID != "2" || got.TurnID != "t-2" || got.Content != i18n.Busy(2).Notice(i18n.English) {
		t.Errorf("got %+v", got)
	}
	receive(t, entered)
	receive(t, entered)

	// A higher bound takes effect without a bounce: the turns that run go on.
	report := h.Apply(func(cfg *kernel.Config) {
		cfg.Plugins[Plugin.Name] = kernel.PluginConfig{Config: map[string]any{"maxConcurrent": 3}}
	})
	if !slices.Equal(report.Reconfigured, []string{Plugin.Name}) || len(report.Bounced) > 0 {
		t.Errorf("report %+v", report)
	}
	message.Inbound.Emit(t.Context(), h.Root(), hello("3"))
	if got := receive(t, entered); got != "3" {
		t.Errorf("entered %s", got)
	}
	close(release)
}

func TestDrainRefusesNewWorkAndWaitsForRunningTurns(t *testing.T) {
	kerneltest.NoLeaks(t)
	release, entered, ended := make(chan struct{}), make(chan string, 10), make(chan error, 10)
	h, g := start(t, withAgent(func(ctx context.Context, m message.Incoming) {
		if m.SessionID == "running" {
			entered <- m.SessionID
			<-release
			ended <- ctx.Err()
		}
	}))
	out := outbox(h)
	message.Inbound.Emit(t.Context(), h.Root(), hello("running"))
	receive(t, entered)
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		_ = h.App.Plugins().Disable(context.Background(), Plugin.Name)
	}()
	refused := i18n.Stopping().Notice(i18n.English)
	deadline := time.After(kerneltest.Patience)
	for n := 0; ; n++ {
		g.IngressMessage(t.Context(), hello(fmt.Sprint(n)))
		select {
		case got := <-out:
			if got.Content != refused {
				t.Fatalf("got %+v", got)
			}
			close(release)
			receive(t, stopped)
			if err := receive(t, ended); err != nil {
				t.Errorf("the running turn was cut off: %v", err)
			}
			return
		case <-deadline:
			t.Fatal("draining refused nothing")
		default: // it is not draining yet
		}
	}
}

func TestTelemetryNeverHoldsUpMessages(t *testing.T) {
	kerneltest.NoLeaks(t)
	h, g := start(t, withAgent(nil))
	block, blocked := make(chan struct{}), make(chan struct{}, telemetryBuffer*2)
	gateway.Done.On(h.Root(), func(context.Context, gateway.PhaseDone) error {
		blocked <- struct{}{}
		<-block
		return nil
	})
	const turns = telemetryBuffer/5 + 10
	for range turns {
		g.IngressMessage(t.Context(), hello("s"))
	}
	receive(t, blocked)
	close(block)
	h.Stop()
	if found := h.Logs.Find("Dropped phase telemetry"); len(found) == 0 {
		t.Errorf("dropped telemetry is not in the log")
	}
	if strings.Contains(h.Logs.String(), "panic") {
		t.Error(h.Logs)
	}
}
