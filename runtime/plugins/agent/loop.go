// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"fmt"
	"slices"

	"github.com/aalis-dev/aalis-operator/runtime/contract/archive"
	"github.com/aalis-dev/aalis-operator/runtime/contract/llm"
	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
)

// converse asks the model until it answers without asking for tools, or has asked for them too often: then what it said
// last is the answer and the calls that came with it are not made.
func (t *turn) converse(ctx context.Context) (llm.Response, error) {
	r, err := t.ask(ctx, true)
	for iterations := 0; err == nil && len(r.ToolCalls) > 0; iterations++ {
		if iterations >= t.cfg.MaxToolIterations {
			t.log().Warn("Left tool calls of the model alone", "count", len(r.ToolCalls), "limit", t.cfg.MaxToolIterations)
			t.toolLimitReached = true
			return r, nil
		}
		if ctx.Err() != nil {
			return llm.Response{}, context.Cause(ctx)
		}
		if err = t.useTools(ctx, r); err != nil {
			return llm.Response{}, err
		}
		r, err = t.ask(ctx, false)
	}
	return r, err
}

// useTools makes the calls of a response, and adds them with their results to the conversation and to the store.
func (t *turn) useTools(ctx context.Context, r llm.Response) error {
	calls, dropped := fitCalls(r.ToolCalls, t.a.k.Now().UnixMilli())
	if dropped > 0 {
		t.log().Warn("Left tool calls out because there are too many at once", "count", dropped, "limit", maxCallsAtOnce)
	}
	runs, err := t.runTools(ctx, calls, r.ToolCalls)
	if err != nil {
		return err
	}
	if dropped > 0 {
		last := &runs[len(runs)-1]
		last.result += fmt.Sprintf(tooManyCalls, maxCallsAtOnce, len(r.ToolCalls))
	}
	group := make([]message.Message, 0, len(runs)+1)
	group = append(group, message.Message{
		Role: message.RoleAssistant, Content: r.Content, ReasoningContent: r.ReasoningContent, ToolCalls: calls,
		Timestamp: t.stamp(), Metadata: t.assistantMetadata(),
	})
	for i, run := range runs {
		group = append(group, message.Message{
			Role: message.RoleTool, Content: run.result, ToolCallID: calls[i].ID, Timestamp: t.stamp(),
		})
		t.segments = append(t.segments, message.Segment{
			Type: message.SegmentToolCall, Name: run.name, Args: run.args, Result: run.result,
			StartTime: run.began, EndTime: run.ended,
		})
	}
	t.list = append(slices.Clip(t.list), group...)
	t.saveGroup(ctx, group)
	return nil
}

// saveGroup stores a call of tools with all its results, or nothing of it: a model refuses half a group. It is stored
// whether or not the turn was aborted meanwhile, so that the model knows what it did.
func (t *turn) saveGroup(ctx context.Context, group []message.Message) {
	a, ok := archive.Service.Get(t.a.k)
	if !ok {
		return
	}
	ctx, cancel := settle(ctx)
	defer cancel()
	if err := a.SaveMessages(ctx, t.msg.SessionID, group); err != nil {
		t.log().Warn("Failed to save tool calls", "error", err)
	}
}

// stamp is the time of the next message that the turn stores, in milliseconds: no two have the same, so that their order
// survives in any store.
func (t *turn) stamp() int64 {
	t.lastStamp = max(t.a.k.Now().UnixMilli(), t.lastStamp+1)
	return t.lastStamp
}
