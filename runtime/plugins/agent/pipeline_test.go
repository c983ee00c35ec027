// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/aalis-dev/aalis-operator/runtime/contract/llm"
	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
	"github.com/aalis-dev/aalis-operator/runtime/contract/persona"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
	"github.com/aalis-dev/aalis-operator/runtime/kerneltest"
	"github.com/aalis-dev/aalis-operator/runtime/plugins/agent"
	"github.com/aalis-dev/aalis-operator/runtime/plugins/gateway"
	memoryinmemory "github.com/aalis-dev/aalis-operator/runtime/plugins/memory-inmemory"
	messagearchive "github.com/aalis-dev/aalis-operator/runtime/plugins/message-archive"
	personaplugin "github.com/aalis-dev/aalis-operator/runtime/plugins/persona"
)

// echo answers with the beginning of its system prompt and the number of messages it was given.
type echo struct{ last atomic.Pointer[llm.Request] }

func (*echo) Info() llm.Info {
	return llm.Info{ID: "echo", Provider: "root", Capabilities: []llm.Capability{llm.CapChat, llm.CapStreaming}}
}

func (*echo) Chat(context.Context, llm.Request) (llm.Response, error) { return llm.Response{}, nil }

func (e *echo) ChatStream(_ context.Context, req llm.Request, onChunk func(llm.Chunk) error) error {
	e.last.Store(&req)
	first, _, _ := strings.Cut(req.Messages[0].Content, "\n")
	return onChunk(llm.Chunk{ContentDelta: first, Done: true})
}

// TestThePluginsTogether runs the real path of a message: event, gateway, agent, archive, memory, persona and back.
func TestThePluginsTogether(t *testing.T) {
	kerneltest.NoLeaks(t)
	opts := []kerneltest.Option{kerneltest.WithSetting(persona.Setting.Key(), persona.Card{Source: "owl", Name: "Owl", Prompt: "Hoot."})}
	for _, m := range []kernel.Module{
		agent.Plugin, gateway.Plugin, memoryinmemory.Plugin, messagearchive.Plugin, personaplugin.Plugin,
	} {
		opts = append(opts, kerneltest.WithPlugin(m, "", nil))
	}
	h := kerneltest.New(t, opts...)
	model := &echo{}
	llm.Service.Provide(h.Root(), llm.Model(model), kernel.WithEntryID("root/echo"))
	out := make(chan message.Outgoing, 10)
	message.Outbound.On(h.Root(), func(_ context.Context, m message.Outgoing) error {
		out <- m
		return nil
	})
	ask := func(text string) string {
		t.Helper()
		message.Inbound.Emit(t.Context(), h.Root(), message.Incoming{
			Content: text, SessionID: "openai:ann:default", Platform: "openai", UserID: "ann", SessionType: message.SessionPrivate,
		})
		select {
		case m := <-out:
			return m.Content
		case <-time.After(kerneltest.Patience):
			t.Fatalf("no answer:\n%s", h.Logs)
			return ""
		}
	}
	if got := ask("one"); got != "你的名字是Owl。 Hoot." {
		t.Errorf("got %q", got)
	}
	raw, err := json.Marshal(persona.Card{Source: "lark", Name: "Lark", Prompt: "Sing."})
	if err != nil {
		t.Fatal(err)
	}
	report := h.Apply(func(cfg *kernel.Config) { cfg.Settings[persona.Setting.Key()] = raw })
	if len(report.Bounced) > 0 {
		t.Errorf("a new persona bounced %v", report.Bounced)
	}
	if got := ask("two"); got != "你的名字是Lark。 Sing." {
		t.Errorf("the next turn does not see the new persona: %q", got)
	}
	var got []string
	for _, m := range model.last.Load().Messages[1:] {
		if m.Role != message.RoleSystem {
			got = append(got, string(m.Role)+": "+m.Content)
		}
	}
	want := []string{"user: (1/2 03:04) one", "assistant: 你的名字是Owl。 Hoot.", "user: (1/2 03:04) two"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("request (-want +got):\n%s", diff)
	}
}
