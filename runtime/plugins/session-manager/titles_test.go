// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sessionmanager

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/aalis-dev/aalis-operator/runtime/contract/agent"
	"github.com/aalis-dev/aalis-operator/runtime/contract/llm"
	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
	"github.com/aalis-dev/aalis-operator/runtime/contract/session"
	"github.com/aalis-dev/aalis-operator/runtime/i18n"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
	"github.com/aalis-dev/aalis-operator/runtime/kerneltest"
)

func TestTitles(t *testing.T) {
	long := strings.Repeat("很长的标题", 20)
	for name, tc := range map[string]struct {
		in      message.Incoming
		reply   string
		err     error
		history []message.Message
		cfg     map[string]any
		want    string
	}{
		"model":       {message.Incoming{Content: "tell me of owls", Platform: "webui"}, " \"Owls\nat night\" ", nil, nil, nil, "Owls at night"},
		"no platform": {message.Incoming{Content: "x"}, "T", nil, nil, nil, "T"},
		"cut":         {message.Incoming{Content: "x", Platform: "cli"}, long, nil, nil, nil, long[:150]},
		"failure":     {message.Incoming{Content: "  what   is an\nowl, please tell?", Platform: "cli"}, "", errBroken, nil, nil, "what is an owl, plea"},
		"empty":       {message.Incoming{Content: strings.Repeat("😀", 20), Platform: "cli"}, " ", nil, nil, nil, strings.Repeat("😀", 10)},
		"history":     {message.Incoming{Platform: "cli"}, "H", nil, []message.Message{{Role: "user", Content: "before"}, {Content: ""}}, nil, "H"},
		"nothing":     {message.Incoming{Platform: "cli"}, "T", nil, nil, nil, ""},
		"onebot":      {message.Incoming{Content: "x", Platform: "onebot"}, "T", nil, nil, nil, ""},
		"turned off":  {message.Incoming{Content: "x", Platform: "cli"}, "T", nil, nil, map[string]any{"titles": false}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			mem := newMemory()
			mem.history = tc.history
			model := &fakeModel{id: "m", reply: tc.reply, err: tc.err}
			b := start(t, mem, tc.cfg)
			llm.Service.Provide(b.Root(), llm.Model(model), kernel.WithEntryID("p/m"))
			b.ensure(t, "s", session.Patch{})
			tc.in.SessionID = "s"
			message.Inbound.Emit(context.Background(), b.Root(), tc.in)
			waitTitled(t, b)
			if got, _ := b.Get("s"); got.Title != tc.want {
				t.Errorf("got %q, want %q", got.Title, tc.want)
			}
			for _, req := range model.asked {
				if *req.Temperature != 0.3 || *req.Think || len(req.Messages) != 2 || i18n.Units(req.Messages[1].Content) > 400 {
					t.Errorf("asked %+v", req)
				}
			}
		})
	}
}

// waitTitled waits until no title is being written.
func waitTitled(t *testing.T, b *bot) {
	t.Helper()
	m, ok := b.Manager.(*manager)
	if !ok {
		t.Fatal("another manager")
	}
	deadline := time.NewTimer(kerneltest.Patience)
	defer deadline.Stop()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		m.mu.RLock()
		n := len(m.titling)
		m.mu.RUnlock()
		if n == 0 {
			return
		}
		select {
		case <-tick.C:
		case <-deadline.C:
			t.Fatal("a title takes for ever")
		}
	}
}

// TestOneTitleAtATime per session, by the model of the session or of the bot, in the bot's language.
func TestOneTitleAtATime(t *testing.T) {
	own, other := &fakeModel{id: "own", reply: "Own", hold: make(chan struct{})}, &fakeModel{id: "other", reply: "Other"}
	b := start(t, newMemory(), nil, kerneltest.WithSetting("language", "zh-CN"),
		kerneltest.WithService[agent.Agent](agent.Service, &fakeAgent{entry: "p/other"}))
	llm.Service.Provide(b.Root(), llm.Model(own), kernel.WithEntryID("p/own"))
	llm.Service.Provide(b.Root(), llm.Model(other), kernel.WithEntryID("p/other"))
	b.ensure(t, "s", session.Patch{Config: session.Config{LLM: &llm.Ref{Provider: "p", ID: "own"}}})
	b.ensure(t, "t", session.Patch{})
	for range 3 {
		message.Inbound.Emit(context.Background(), b.Root(), message.Incoming{SessionID: "s", Content: "x"})
	}
	message.Inbound.Emit(context.Background(), b.Root(), message.Incoming{SessionID: "t", Content: "x"})
	close(own.hold)
	waitTitled(t, b)
	for id, want := range map[string]string{"s": "Own", "t": "Other"} {
		if got, _ := b.Get(id); got.Title != want {
			t.Errorf("%s: got %q", id, got.Title)
		}
	}
	if len(own.asked) != 1 || own.asked[0].Messages[0].Content != titlePromptZh {
		t.Errorf("asked %+v", own.asked)
	}
}

func TestATitleThatCameMeanwhileStays(t *testing.T) {
	model := &fakeModel{id: "m", reply: "Late", hold: make(chan struct{})}
	b := start(t, newMemory(), nil)
	llm.Service.Provide(b.Root(), llm.Model(model), kernel.WithEntryID("p/m"))
	b.ensure(t, "s", session.Patch{})
	message.Inbound.Emit(context.Background(), b.Root(), message.Incoming{SessionID: "s", Content: "x"})
	b.ensure(t, "s", session.Patch{Title: "Mine"})
	close(model.hold)
	waitTitled(t, b)
	if got, _ := b.Get("s"); got.Title != "Mine" {
		t.Errorf("got %q", got.Title)
	}
}
