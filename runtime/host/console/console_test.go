// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/aalis-dev/aalis-operator/runtime/contract/gateway"
	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// router is a gateway that is there. The answers of tests run outside the emission, as the real gateway's do.
type router struct{ gateway.Gateway }

func testRoot(t *testing.T, c *Console, answer func(k *kernel.Context, m message.Incoming)) *kernel.Context {
	t.Helper()
	app, err := kernel.New(kernel.Options{Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	k := app.Root()
	c.Attach(k)
	if answer != nil {
		gateway.Service.Provide(k, router{})
		message.Inbound.On(k, func(_ context.Context, m message.Incoming) error {
			k.Go("answer", func(context.Context) { answer(k, m) })
			return nil
		})
	}
	t.Cleanup(func() { _ = app.Stop(context.Background()) })
	return k
}

func chunk(k *kernel.Context, m message.Incoming, text string) {
	message.Stream.Emit(context.Background(), k, message.StreamChunk{SessionID: m.SessionID, Platform: m.Platform, TurnID: m.TurnID, ContentDelta: text})
}

func reply(k *kernel.Context, m message.Incoming, source message.OutgoingSource, text string) {
	message.Outbound.Emit(context.Background(), k, message.Outgoing{SessionID: m.SessionID, Platform: m.Platform, TurnID: m.TurnID, Source: source, Content: text})
}

func done(k *kernel.Context, m message.Incoming, phase gateway.Phase, end bool) {
	gateway.Done.Emit(context.Background(), k, gateway.PhaseDone{Phase: phase, ReachedEnd: end, TurnID: m.TurnID})
}

func TestAsk(t *testing.T) {
	tests := map[string]struct {
		answer      func(k *kernel.Context, m message.Incoming)
		interactive bool
		want        string
		err         error
	}{
		"streamed": {answer: func(k *kernel.Context, m message.Incoming) {
			done(k, m, gateway.PhaseCommand, true)
			chunk(k, m, "Hel")
			chunk(k, m, "")
			chunk(k, m, "lo ")
			reply(k, m, message.FromAgent, "Hello")
			done(k, m, gateway.PhaseDispatch, true)
		}, want: "Hello \n"},
		"interactive": {answer: func(k *kernel.Context, m message.Incoming) {
			chunk(k, m, "Hel")
			chunk(k, m, "lo\n")
			reply(k, m, message.FromAgent, "Hello\n")
			done(k, m, gateway.PhaseDispatch, true)
		}, interactive: true, want: "Owl: Hello\n"},
		"several calls of the model": {answer: func(k *kernel.Context, m message.Incoming) {
			chunk(k, m, "Let me see.\n")
			chunk(k, m, "It is so.")
			reply(k, m, message.FromAgent, "It is so.")
			done(k, m, gateway.PhaseDispatch, true)
		}, want: "Let me see.\nIt is so.\n"},
		"not streamed": {answer: func(k *kernel.Context, m message.Incoming) {
			reply(k, m, message.FromCommand, "done")
			done(k, m, gateway.PhaseCommand, false)
		}, want: "done\n"},
		"replaced": {answer: func(k *kernel.Context, m message.Incoming) {
			chunk(k, m, "rude")
			reply(k, m, message.FromAgent, "polite")
			done(k, m, gateway.PhaseDispatch, true)
		}, want: "rude\npolite\n"},
		"silent":  {answer: func(k *kernel.Context, m message.Incoming) { done(k, m, gateway.PhaseDispatch, true) }, want: ""},
		"refused": {answer: func(k *kernel.Context, m message.Incoming) { reply(k, m, message.FromSystem, "too busy") }, want: "too busy\n", err: ErrFailed},
		"a notice": {answer: func(k *kernel.Context, m message.Incoming) {
			reply(k, m, message.FromSystem, "no model")
			done(k, m, gateway.PhaseDispatch, true)
		}, want: "no model\n", err: ErrFailed},
		"of others": {answer: func(k *kernel.Context, m message.Incoming) {
			x := m
			x.SessionID = "other"
			chunk(k, x, "no")
			reply(k, x, message.FromAgent, "no")
			x = m
			x.TurnID = "older"
			chunk(k, x, "no")
			reply(k, x, message.FromAgent, " by the way ")
			done(k, x, gateway.PhaseDispatch, true)
			reply(k, m, message.FromAgent, "yes")
			done(k, m, gateway.PhaseDispatch, true)
		}, want: "\nby the way\nyes\n"},
		"nobody": {err: ErrNotRunning},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			c := New(Options{Out: &out, Interactive: tc.interactive, Name: "Owl"})
			testRoot(t, c, tc.answer)
			if err := c.Ask(t.Context(), "hi"); !errors.Is(err, tc.err) || (err == nil) != (tc.err == nil) {
				t.Errorf("got %v, want %v", err, tc.err)
			}
			c.mu.Lock()
			defer c.mu.Unlock()
			if got := out.String(); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
	if err := New(Options{}).Ask(t.Context(), "x"); !errors.Is(err, ErrNotRunning) {
		t.Errorf("without a kernel: %v", err)
	}
}

func echo(k *kernel.Context, m message.Incoming) {
	reply(k, m, message.FromAgent, "you said "+m.Content)
	done(k, m, gateway.PhaseDispatch, true)
}

func TestIdentity(t *testing.T) {
	got := make(chan message.Incoming, 1)
	c := New(Options{Out: io.Discard})
	testRoot(t, c, func(k *kernel.Context, m message.Incoming) { got <- m; echo(k, m) })
	if err := c.Ask(t.Context(), "hi"); err != nil {
		t.Fatal(err)
	}
	m := <-got
	if m.Platform != "cli" || m.UserID != "console" || m.SessionID != "cli" || m.SessionType != message.SessionPrivate || m.TurnID == "" || m.Content != "hi" {
		t.Errorf("got %+v", m)
	}
}

func TestRun(t *testing.T) {
	tests := map[string]struct {
		in   string
		want string
		err  string
	}{
		"lines":     {"a\n\n b \nc", "you said a\nyou said  b\nyou said c\n", ""},
		"nothing":   {"", "", ""},
		"too long":  {"a\n" + strings.Repeat("x", maxLine+1), "you said a\n", "reading messages"},
		"a failure": {"fail\nb\n", "oh no\nyou said b\n", ErrFailed.Error()},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			c := New(Options{In: strings.NewReader(tc.in), Out: &out})
			testRoot(t, c, func(k *kernel.Context, m message.Incoming) {
				if m.Content == "fail" {
					reply(k, m, message.FromSystem, "oh no")
					done(k, m, gateway.PhaseDispatch, true)
					return
				}
				echo(k, m)
			})
			err := c.Run(t.Context(), t.Context())
			if tc.err == "" && err != nil || tc.err != "" && (err == nil || !strings.Contains(err.Error(), tc.err)) {
				t.Errorf("got %v", err)
			}
			if got := out.String(); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestRunInteractive(t *testing.T) {
	in, typing := io.Pipe()
	var out bytes.Buffer
	c := New(Options{In: in, Out: &out, Interactive: true, Name: "Owl"})
	testRoot(t, c, echo)
	ctx, interrupt := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx, t.Context()) }()
	if _, err := io.WriteString(typing, "hi\n"); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(typing, "\n"); err != nil { // taken when the first has been answered
		t.Fatal(err)
	}
	interrupt()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	_ = typing.Close()
	if got := out.String(); !strings.HasPrefix(got, "> Owl: you said hi\n> ") || !strings.HasSuffix(got, "> \n") {
		t.Errorf("got %q", got)
	}
}

func TestCutTurn(t *testing.T) {
	var out bytes.Buffer
	c := New(Options{In: strings.NewReader("a\nb\n"), Out: &out})
	ctx, cut := context.WithCancelCause(t.Context())
	why := errors.New("the kernel is down")
	testRoot(t, c, func(*kernel.Context, message.Incoming) { cut(why) })
	if err := c.Run(t.Context(), ctx); !errors.Is(err, why) {
		t.Errorf("got %v", err)
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("pipe is closed") }

func TestBrokenOutput(t *testing.T) {
	c := New(Options{In: strings.NewReader("a\nb\n"), Out: full{}})
	testRoot(t, c, echo)
	if err := c.Run(t.Context(), t.Context()); err == nil || err.Error() != "writing the answer: pipe is closed" {
		t.Errorf("got %v", err)
	}
}
