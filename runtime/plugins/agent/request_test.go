// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/aalis-dev/aalis-operator/hack/fakellm/fakellm"
	"github.com/aalis-dev/aalis-operator/runtime/contract/agent"
	"github.com/aalis-dev/aalis-operator/runtime/contract/llm"
	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
	"github.com/aalis-dev/aalis-operator/runtime/contract/persona"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
	"github.com/aalis-dev/aalis-operator/runtime/kerneltest"
)

// vendorMessage is a message as vendors take it.
type vendorMessage struct {
	Role       message.Role       `json:"role"`
	Content    string             `json:"content"`
	ToolCalls  []message.ToolCall `json:"tool_calls,omitempty"`
	ToolCallID string             `json:"tool_call_id,omitempty"`
}

type vendorUsage struct {
	Prompt  int `json:"prompt_tokens"`
	Details struct {
		Cached int `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
}

// post asks a vendor that checks what real ones check, and gives what it billed.
func post(t interface{ Fatalf(string, ...any) }, vendor http.Handler, list []message.Message) vendorUsage {
	var body struct {
		Model    string          `json:"model"`
		Messages []vendorMessage `json:"messages"`
	}
	body.Model = "fake-1"
	for _, m := range llm.Prepare(list) {
		body.Messages = append(body.Messages, vendorMessage{m.Role, m.Content, m.ToolCalls, m.ToolCallID})
	}
	raw, err := json.Marshal(body)
	if err != nil {
		t.Fatalf("%v", err)
	}
	w := httptest.NewRecorder()
	vendor.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/v1/chat/completions", bytes.NewReader(raw)))
	if w.Code != http.StatusOK {
		t.Fatalf("the vendor refuses: %d %s\n%s", w.Code, w.Body, raw)
	}
	var answer struct {
		Usage vendorUsage `json:"usage"`
	}
	if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil {
		t.Fatalf("%v", err)
	}
	return answer.Usage
}

// TestHistoryIsAlwaysAcceptable: whatever is stored, whole or torn, the request made from it is one that vendors take.
func TestHistoryIsAlwaysAcceptable(t *testing.T) {
	vendor := fakellm.New(fakellm.Options{})
	model := saying(text("ok"))
	b := newBot(t, model)
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		session := fmt.Sprint(n)
		ids := rapid.SampledFrom([]string{"1", "2", "3", ""})
		for range rapid.IntRange(0, 60).Draw(rt, "messages") {
			m := message.Message{
				Role:    rapid.SampledFrom([]message.Role{"user", "assistant", "tool", "system", "notice", "odd"}).Draw(rt, "role"),
				Content: rapid.SampledFrom([]string{"", "x", "\xff", "长"}).Draw(rt, "content"),
				Kind:    rapid.SampledFrom([]string{"", message.KindEventMarker, message.KindCrossSessionDelegation}).Draw(rt, "kind"),
			}
			switch m.Role {
			case message.RoleAssistant:
				for range rapid.IntRange(0, 3).Draw(rt, "calls") {
					m.ToolCalls = append(m.ToolCalls, toolCall(ids.Draw(rt, "id")))
				}
			case message.RoleTool:
				m.ToolCallID = ids.Draw(rt, "id")
			}
			b.store.add(session, m)
		}
		m := hello()
		m.SessionID = session
		b.handle(m)
		post(rt, vendor, model.last(t).Messages)
	})
}

// TestPrefixIsCached: from turn to turn everything up to the end of the history stays the same byte by byte, so that a
// vendor's prompt cache covers all but what is new.
func TestPrefixIsCached(t *testing.T) {
	vendor := fakellm.New(fakellm.Options{})
	model := scripted(
		text("one"), asking(naming("1", "f", "{}"), naming("2", "f", "{}")), text("two"), text("three"), text("four"),
	)
	b := newBot(t, model, kerneltest.WithService[persona.Provider](persona.Service, &fakePersona{system: "You are Owl.", volatile: "It is late."}))
	contribute(t, b.Root(), "k", agent.AnchorKnowledge, "known")
	for i := range 4 {
		contribute(t, b.Root(), "t", agent.AnchorTurnContext, fmt.Sprint("of turn ", i))
		m := hello()
		m.Content = fmt.Sprint("message ", i)
		b.handle(m)
		b.Clock.Advance(1000)
	}
	var before vendorUsage
	for i, req := range model.requests {
		u := post(t, vendor, req.Messages)
		// What a turn adds behind the history (its context, the volatile text) is all that is not there again.
		fresh := 0
		for _, m := range req.Messages {
			if strings.HasPrefix(m.Content, "of turn") || m.Content == "It is late." || m.Role == message.RoleUser {
				fresh += 40
			}
		}
		if i > 0 && u.Details.Cached < before.Prompt-fresh {
			t.Errorf("request %d: %d of %d cached, the one before had %d", i, u.Details.Cached, u.Prompt, before.Prompt)
		}
		before = u
	}
	if before.Details.Cached == 0 {
		t.Error("nothing was cached")
	}
}

// TestGoldenRequests holds the whole request of each kind of conversation.
func TestGoldenRequests(t *testing.T) {
	summary := func(t *testing.T, b *bot) {
		t.Helper()
		contribute(t, b.Root(), "memory-summary", agent.AnchorContext, "【摘要】They spoke of owls.")
	}
	pad := func(n int) string { return strings.Repeat("词", n) }
	overBudget := func(list ...message.Message) func(*testing.T, *bot) {
		return func(_ *testing.T, b *bot) { b.store.add("s", list...) }
	}
	old := func(role message.Role, content string) message.Message {
		return message.Message{Role: role, Content: content, Timestamp: 1}
	}
	group := func(id, output string) []message.Message {
		return []message.Message{calling("", id), {Role: message.RoleTool, ToolCallID: id, Content: output}}
	}
	for name, tc := range map[string]struct {
		model *scriptedModel
		msg   func(*message.Incoming)
		with  func(*testing.T, *bot)
	}{
		"tools":   {model: scripted(asking(naming("1", "f", `{"q":"<b>"}`), naming("2", "f", "{}")), text("done"))},
		"summary": {with: summary},
		"format": {model: scripted(llm.Chunk{ContentDelta: "bad"}, llm.Chunk{ContentDelta: `{"reply":"good"}`}), with: func(_ *testing.T, b *bot) {
			refusing(b, 1, "good", "Write the object.")
		}},
		"stage1": {with: func(t *testing.T, b *bot) {
			t.Helper()
			contribute(t, b.Root(), "a", agent.AnchorKnowledge, pad(700))
			contribute(t, b.Root(), "b", agent.AnchorKnowledge, pad(300))
		}},
		"stage2":  {with: overBudget(append(group("1", pad(1600)), old("user", "then"))...)},
		"stage25": {with: overBudget(message.Message{Role: "assistant", Content: "a", ReasoningContent: pad(600)}, old("user", "then"))},
		"stage3":  {with: overBudget(append(append(group("1", pad(900)), group("2", "short")...), old("user", "then"))...)},
		"stage4":  {with: overBudget(old("user", pad(500)), old("assistant", pad(500)), old("user", "then"), old("assistant", "so"))},
		"stage5": {with: func(t *testing.T, b *bot) {
			t.Helper()
			contribute(t, b.Root(), "a", agent.AnchorKnowledge, pad(190), pad(190), pad(190), pad(190), pad(190))
			for range 4 {
				b.store.add("s", old("user", pad(50)), old("assistant", pad(50)))
			}
		}},
	} {
		model := tc.model
		if model == nil {
			model = saying(text("ok"))
		}
		cfg := map[string]any{"memoryTokenBudget": 400}
		b := newBot(t, model, withConfig(cfg), withRegistry(&fakeTools{run: echoTool}),
			kerneltest.WithService[persona.Provider](persona.Service, &fakePersona{system: "You are Owl.", volatile: "It is late."}))
		if tc.with != nil {
			tc.with(t, b)
		}
		m := hello()
		if tc.msg != nil {
			tc.msg(&m)
		}
		b.handle(m)
		golden(t, name, model.requests)
	}
}

// TestMidTurnContribution: a block that is registered between two calls of one turn is placed in the second, the others
// are neither built again nor doubled, and the hook sees exactly what is sent.
func TestMidTurnContribution(t *testing.T) {
	builds := 0
	model := scripted(asking(naming("1", "nope", "{}")), text("done"), text("again"))
	b := newBot(t, model)
	k := b.Root()
	count := func(_ context.Context, v agent.PromptView) ([]string, error) {
		if v.SessionID != "s" || v.UserID != "1" || v.Platform != "test" || v.TriggerType != message.TriggerDirect || v.DryRun {
			t.Errorf("view %+v", v)
		}
		builds++
		return []string{"hint"}, nil
	}
	if _, err := agent.Prompt.Contribute(k, "hint", agent.Contribution{Anchor: agent.AnchorTurnHint, Build: count}); err != nil {
		t.Fatal(err)
	}
	var seen [][]message.Message
	agent.LLMBefore.Use(k, func(ctx context.Context, d *agent.LLMData, next kernel.Next) error {
		seen = append(seen, slices.Clone(d.Messages))
		return next(ctx)
	})
	agent.LLMAfter.Use(k, func(ctx context.Context, _ *agent.LLMAfterData, next kernel.Next) error {
		contribute(t, k, "mid", agent.AnchorKnowledge, "midturn")
		return next(ctx)
	})
	b.handle(hello())
	if builds != 1 || len(model.requests) != 2 {
		t.Fatalf("%d builds, %d requests", builds, len(model.requests))
	}
	for i, req := range model.requests {
		if diff := cmp.Diff(seen[i], req.Messages); diff != "" {
			t.Errorf("request %d is not what the hook saw:\n%s", i, diff)
		}
	}
	var order []string
	for _, m := range model.requests[1].Messages[1:] {
		order = append(order, string(m.Role)+" "+m.Injector())
	}
	if diff := cmp.Diff([]string{"system root/hint", "system root/mid", "user ", "assistant ", "tool "}, order); diff != "" {
		t.Errorf("second request (-want +got):\n%s", diff)
	}
	b.handle(hello())
	if builds != 2 {
		t.Errorf("%d builds after the second turn", builds)
	}
}
