// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"

	"github.com/aalis-dev/aalis-operator/runtime/contract/agent"
	"github.com/aalis-dev/aalis-operator/runtime/contract/llm"
	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
	"github.com/aalis-dev/aalis-operator/runtime/contract/tools"
	"github.com/aalis-dev/aalis-operator/runtime/contract/tracing"
)

// What failed, where a span knows no more.
var (
	errFailed = errors.New("the turn failed")
	errTool   = errors.New("the tool failed")
)

// traced runs a turn inside a span, where somebody traces.
func (t *turn) traced(ctx context.Context, run func(context.Context)) {
	tracer, ok := tracing.Of(t.a.k)
	if !ok {
		run(ctx)
		return
	}
	ctx, span := tracer.Start(ctx, tracing.SpanTurn+" "+t.a.k.AppName(),
		slog.String(tracing.Operation, tracing.SpanTurn), slog.String(tracing.Platform, t.msg.Platform), slog.String(tracing.Conversation, t.msg.SessionID))
	run(ctx)
	span.Set(slog.String(tracing.PersonaName, t.personaName), slog.String(tracing.Outcome, string(t.outcome)))
	var err error
	if t.outcome == agent.Failed {
		if err = t.failure; err == nil {
			err = errFailed
		}
	}
	span.End(err)
}

// chat makes a call inside a span, where somebody traces, and gives what it took.
func (c *call) chat(ctx context.Context) (llm.Usage, error) {
	tracer, ok := tracing.Of(c.t.a.k)
	if !ok {
		err := c.run(ctx)
		return c.t.tellCall(ctx, c, err), err
	}
	info := c.model.Info()
	ctx, span := tracer.Start(ctx, tracing.SpanChat+" "+info.ID,
		slog.String(tracing.Operation, tracing.SpanChat), slog.String(tracing.Provider, info.Provider), slog.String(tracing.RequestModel, info.ID),
		slog.String(tracing.Purpose, string(agent.PurposeTurn)), slog.Int(tracing.RequestMax, c.req.MaxTokens))
	if tracer.Content() {
		span.Set(slog.String(tracing.InputMessages, asJSON(c.req.Messages)))
	}
	err := c.run(ctx)
	usage := c.t.tellCall(ctx, c, err)
	span.Set(slog.Int(tracing.InputTokens, usage.PromptTokens), slog.Int(tracing.OutputTokens, usage.CompletionTokens),
		slog.Bool(tracing.Estimated, c.usage == nil), slog.Duration(tracing.FirstToken, c.first))
	if cached := usage.CachedPromptTokens; cached != nil {
		span.Set(slog.Int(tracing.CachedTokens, *cached))
	}
	if tracer.Content() {
		span.Set(slog.String(tracing.OutputMessages, asJSON([]message.Message{{
			Role: message.RoleAssistant, Content: c.content.String(), ReasoningContent: c.reasoning.String(), ToolCalls: c.toolCalls,
		}})))
	}
	span.End(err)
	return usage, err
}

// execute runs a tool inside a span, where somebody traces.
func (t *turn) execute(ctx context.Context, name string, args map[string]any) string {
	tracer, ok := tracing.Of(t.a.k)
	if !ok {
		return t.callTool(ctx, name, args)
	}
	ctx, span := tracer.Start(ctx, tracing.SpanTool+" "+name,
		slog.String(tracing.Operation, tracing.SpanTool), slog.String(tracing.ToolName, name))
	if tracer.Content() {
		span.Set(slog.String(tracing.ToolArguments, asJSON(args)))
	}
	result := t.callTool(ctx, name, args)
	if tracer.Content() {
		span.Set(slog.String(tracing.ToolResult, result))
	}
	var err error
	if tools.IsErrorResult(result) {
		err = errTool
	}
	span.End(err)
	return result
}

func asJSON(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return string(data)
}
