// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"time"

	"github.com/aalis-dev/aalis-operator/runtime/contract/agent"
	"github.com/aalis-dev/aalis-operator/runtime/contract/llm"
	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
)

// spent is what the calls of a turn took by what the providers say: the prompt of the last call, which holds those before
// it, and the replies of all.
type spent struct{ prompt, completion int }

func (s *spent) add(u *llm.Usage) {
	if u == nil {
		return
	}
	s.prompt = u.PromptTokens
	s.completion += u.CompletionTokens
}

// modelInfo says which model answered, what it took and how long the turn was.
func (t *turn) modelInfo(info llm.Info) *message.ModelInfo {
	return &message.ModelInfo{
		Provider: info.Provider, Model: info.ID,
		PromptTokens: t.spent.prompt, CompletionTokens: t.spent.completion,
		TotalTokens: t.spent.prompt + t.spent.completion,
		ElapsedMs:   t.a.k.Now().Sub(t.began).Milliseconds(),
	}
}

// infoMetadata is the form in which ModelInfo is stored: like any other metadata it is what JSON can hold.
func infoMetadata(i *message.ModelInfo) map[string]any {
	out := map[string]any{"provider": i.Provider, "model": i.Model}
	for _, n := range [...]struct {
		key   string
		value int64
	}{
		{"promptTokens", int64(i.PromptTokens)}, {"completionTokens", int64(i.CompletionTokens)},
		{"totalTokens", int64(i.TotalTokens)}, {"elapsedMs", i.ElapsedMs},
	} {
		if n.value != 0 {
			out[n.key] = n.value
		}
	}
	return out
}

// tellCall emits agent:llm:call for one finished call, also when the turn was aborted.
func (t *turn) tellCall(ctx context.Context, c *call, err error) {
	usage, estimated := c.used()
	info := c.model.Info()
	done := agent.CallDone{
		Purpose: agent.PurposeTurn, SessionID: t.msg.SessionID, UserID: t.msg.UserID, Price: info.Price,
		Provider: info.Provider, Model: info.ID, Persona: t.personaName, Platform: t.msg.Platform,
		Streaming: c.streaming, Usage: usage, Estimated: estimated,
		Duration: t.a.k.Now().Sub(c.began), FirstToken: c.first, Err: err,
	}
	ctx, cancel := settle(ctx)
	defer cancel()
	agent.LLMCall.Emit(ctx, t.a.k, done)
}

// used is what the call took: what the provider said last, or our count. A call that ended before its first piece is
// taken to have cost nothing.
func (c *call) used() (u llm.Usage, estimated bool) {
	if c.usage != nil {
		return *c.usage, false
	}
	if !c.answered {
		return llm.Usage{}, true
	}
	counts := c.t.counts
	u.PromptTokens = c.promptTokens + counts.definitions(c.req.Tools)
	u.CompletionTokens = counts.text(c.content.String()) + counts.text(c.reasoning.String())
	if len(c.toolCalls) > 0 {
		u.CompletionTokens += counts.toolCalls(c.toolCalls)
	}
	u.TotalTokens = u.PromptTokens + u.CompletionTokens
	return u, true
}

// elapsed is the time since a call began; at least 1, because 0 means that there was none.
func (c *call) elapsed(now time.Time) time.Duration { return max(1, now.Sub(c.began)) }
