// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"fmt"
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

// tellCall emits agent:llm:call for one finished call, also when the turn was aborted: then the call was canceled, whatever
// came of it. It gives what the call took.
func (t *turn) tellCall(ctx context.Context, c *call, err error) llm.Usage {
	if err != nil && ctx.Err() != nil {
		err = fmt.Errorf("%w: %w", ctx.Err(), err)
	}
	info := c.model.Info()
	usage, frame := c.used(info)
	done := agent.CallDone{
		Purpose: agent.PurposeTurn, SessionID: t.msg.SessionID, UserID: t.msg.UserID, Price: info.Price,
		Provider: info.Provider, Model: info.ID, Persona: t.personaName, Platform: t.msg.Platform,
		Streaming: c.streaming, Usage: usage, Estimated: c.usage == nil, Frame: frame,
		Duration: t.a.k.Now().Sub(c.began), FirstToken: c.first, Err: err,
	}
	ctx, cancel := settle(ctx)
	defer cancel()
	agent.LLMCall.Emit(ctx, t.a.k, done)
	return usage
}

// used is what the call took: what the provider said last, if that can be, or our count. A call that ended before its first
// piece is taken to have cost nothing. What the provider said and cannot be is forgotten here.
func (c *call) used(info llm.Info) (llm.Usage, llm.Verdict) {
	told, frame := info.Judge(c.usage)
	if frame == llm.FrameCounted || frame == llm.FrameTrimmed {
		c.usage = &told
		return told, frame
	}
	c.usage = nil
	if !c.answered {
		if frame == llm.FrameMissing {
			frame = ""
		}
		return llm.Usage{}, frame
	}
	if frame != llm.FrameMissing {
		c.t.log().Warn("Counted a call by myself, since what the provider tells of it cannot be", "model", info.Entry(), "frame", frame)
	}
	counts := c.t.counts
	reasoning := counts.text(c.reasoning.String())
	u := llm.Usage{PromptTokens: c.promptTokens + counts.definitions(c.req.Tools), ReasoningTokens: &reasoning}
	u.CompletionTokens = counts.text(c.content.String()) + reasoning
	if len(c.toolCalls) > 0 {
		u.CompletionTokens += counts.toolCalls(c.toolCalls)
	}
	u.TotalTokens = u.PromptTokens + u.CompletionTokens
	return u, frame
}

// elapsed is the time since a call began; at least 1, because 0 means that there was none.
func (c *call) elapsed(now time.Time) time.Duration { return max(1, now.Sub(c.began)) }
