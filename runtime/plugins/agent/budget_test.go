// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aalis-dev/aalis-operator/runtime/contract/access"
	"github.com/aalis-dev/aalis-operator/runtime/contract/budget"
	"github.com/aalis-dev/aalis-operator/runtime/contract/llm"
	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
	"github.com/aalis-dev/aalis-operator/runtime/contract/tools"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
	"github.com/aalis-dev/aalis-operator/runtime/kerneltest"
)

// purse grants calls as a test wants.
type purse struct {
	budget.Keeper

	mu      sync.Mutex
	steps   budget.Steps
	most    int // of a reply; 0 is what is asked for
	calls   int // granted before it refuses; negative never does
	refusal budget.RefusedError
	asked   []budget.Call
	settled []llm.Usage
}

func (p *purse) Steps(budget.Who) budget.Steps {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.steps
}

func (p *purse) Reserve(_ context.Context, c budget.Call) (*budget.Grant, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = append(p.asked, c)
	if p.calls == 0 {
		return nil, &p.refusal
	}
	p.calls--
	g := &budget.Grant{MaxCompletion: c.MaxCompletion, Settler: func(u llm.Usage) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.settled = append(p.settled, u)
	}}
	if p.most > 0 {
		g.MaxCompletion = min(p.most, c.MaxCompletion)
	}
	return g, nil
}

func withPurse(p *purse) kerneltest.Option {
	return kerneltest.WithService[budget.Keeper](budget.Service, p)
}

func TestEachCallIsReservedAndSettled(t *testing.T) {
	p := &purse{calls: -1, most: 300}
	model := scripted(llm.Chunk{ToolCalls: []message.ToolCall{naming("1", "f", "{}")}, Usage: &llm.Usage{PromptTokens: 50, CompletionTokens: 5}},
		llm.Chunk{ContentDelta: "done", Usage: &llm.Usage{PromptTokens: 60, CompletionTokens: 6}})
	b := newBot(t, model, withPurse(p), withTools(echoTool))
	b.handle(hello())
	if len(p.asked) != 2 || len(p.settled) != 2 || p.settled[0].TotalTokens != 55 || p.settled[1].TotalTokens != 66 {
		t.Fatalf("asked %d times, settled %+v", len(p.asked), p.settled)
	}
	first := p.asked[0]
	if first.UserID != "1" || first.SessionID != "s" || first.Platform != "test" || first.PromptTokens < 50 || first.MaxCompletion != 4096 || first.Model.ID != "gpt" {
		t.Errorf("asked %+v", first)
	}
	if p.asked[1].PromptTokens <= first.PromptTokens {
		t.Error("the result of the tool is not counted")
	}
	if got := model.last(t).MaxTokens; got != 300 {
		t.Errorf("the reply is bound to %d, want what is left", got)
	}
}

func TestFailedCallsAreSettled(t *testing.T) {
	p := &purse{calls: -1}
	b := newBot(t, newModel(func(context.Context, llm.Request, func(llm.Chunk) error) error {
		return &llm.Error{Cause: llm.Unavailable, Text: "away", BeforeFirstByte: true}
	}), withPurse(p))
	b.handle(hello())
	if len(p.settled) != 1 || p.settled[0] != (llm.Usage{}) {
		t.Errorf("settled %+v", p.settled)
	}
}

// TestRefusedIsTold: who asks is told politely why there is no answer and when there will be one, in the middle of a turn too.
func TestRefusedIsTold(t *testing.T) {
	until := time.Date(2026, 5, 2, 0, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		refusal budget.RefusedError
		want    string
	}{
		"bot":          {budget.RefusedError{Reason: budget.Spent, Budget: "day", Scope: "Bot", Until: until}, "[系统] I have used up what I may spend for now. Please try again after 2026-05-02 00:00 UTC."},
		"person":       {budget.RefusedError{Reason: budget.Spent, Budget: "day", Scope: "User", Until: until}, "on your questions"},
		"conversation": {budget.RefusedError{Reason: budget.Spent, Budget: "day", Scope: "Session", Until: until}, "on this conversation"},
		"no price":     {budget.RefusedError{Reason: budget.NoPrice, Budget: "day", Model: "p/m"}, "The model p/m has no price"},
		"not ready":    {budget.RefusedError{Reason: budget.NotReady}, "I do not know yet"},
	} {
		t.Run(name, func(t *testing.T) {
			p := &purse{calls: 3, refusal: c.refusal}
			ran := 0
			b := newBot(t, scripted(llm.Chunk{ToolCalls: []message.ToolCall{naming("1", "f", "{}")}}), withPurse(p),
				withTools(func(context.Context, string, map[string]any, tools.CallContext) string { ran++; return "again" }))
			b.handle(hello())
			if len(p.asked) != 4 || ran != 3 || len(b.out) != 1 || !strings.Contains(b.out[0].Content, c.want) {
				t.Errorf("asked %d times, %d tools ran, told %+v", len(p.asked), ran, b.out)
			}
			if last := b.stream[len(b.stream)-1]; !last.Done {
				t.Error("the stream was not ended")
			}
		})
	}
}

func TestSwitchesModel(t *testing.T) {
	big, small := saying(text("big")), saying(text("small"))
	p := &purse{calls: -1, steps: budget.Steps{Model: llm.Ref{Provider: "q", ID: "small"}}}
	b := newBot(t, big, withPurse(p))
	b.handle(hello()) // the model is not there: the turn goes on as it was
	small.info = llm.Info{ID: "small", Provider: "q", ContextLength: 10_000, Capabilities: []llm.Capability{llm.CapChat, llm.CapStreaming}}
	llm.Service.Provide(b.Root(), llm.Model(small), kernel.WithEntryID("q/small"))
	b.handle(hello())
	if len(b.out) != 2 || b.out[0].Content != "big" || b.out[1].Content != "small" || b.calls[1].Model != "small" {
		t.Errorf("answered %+v", b.out)
	}
}

// sorted are tools of every kind of risk.
type sorted struct{ fakeTools }

func (s *sorted) List() []tools.Info {
	return []tools.Info{
		{Name: "f"}, {Name: "safe", Policy: access.Policy{Risk: access.Safe}}, {Name: "write", Policy: access.Policy{Risk: access.Sensitive}},
		{Name: "delete", Policy: access.Policy{Risk: access.Dangerous}}, {Name: "secret", Policy: access.Policy{Visibility: access.Restricted}},
	}
}

func (s *sorted) Definitions([]string) []message.ToolDefinition {
	var out []message.ToolDefinition
	for _, info := range s.List() {
		out = append(out, message.ToolDefinition{Type: "function", Function: message.ToolFunction{Name: info.Name}})
	}
	return out
}

// TestReadOnlyTools: tools that change anything are not offered, and refused to a model that calls them all the same.
func TestReadOnlyTools(t *testing.T) {
	var mu sync.Mutex
	var ran []string
	registry := &sorted{fakeTools{run: func(_ context.Context, name string, _ map[string]any, _ tools.CallContext) string {
		mu.Lock()
		defer mu.Unlock()
		ran = append(ran, name)
		return "did"
	}}}
	model := scripted(llm.Chunk{ToolCalls: []message.ToolCall{naming("1", "delete", "{}"), naming("2", "safe", "{}")}}, text("ok"))
	p := &purse{calls: -1, steps: budget.Steps{ReadOnlyTools: true}}
	b := newBot(t, model, withPurse(p), kerneltest.WithService(tools.Service, tools.Registry(registry)))
	b.handle(hello())
	var offered []string
	for _, d := range model.last(t).Tools {
		offered = append(offered, d.Function.Name)
	}
	if strings.Join(offered, " ") != "f safe" {
		t.Errorf("offered %v", offered)
	}
	if strings.Join(ran, " ") != "safe" {
		t.Errorf("ran %v", ran)
	}
	list := model.last(t).Messages
	if got := list[len(list)-2].Content; !strings.Contains(got, "only tools that change nothing") {
		t.Errorf("the model was told %q", got)
	}
}
