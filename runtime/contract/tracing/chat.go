// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tracing

import (
	"context"
	"log/slog"

	"github.com/aalis-dev/aalis-operator/runtime/contract/llm"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
)

// Chat begins the span of a call of a model that is made beside a conversation, such as for a summary, and gives what ends it. Where
// nobody traces both do nothing.
func Chat(ctx context.Context, k *kernel.Context, info llm.Info, purpose string) (context.Context, func(llm.Usage, error)) {
	tracer, ok := Of(k)
	if !ok {
		return ctx, func(llm.Usage, error) {}
	}
	ctx, span := tracer.Start(ctx, SpanChat+" "+info.ID, slog.String(Operation, SpanChat), slog.String(Provider, info.Provider),
		slog.String(RequestModel, info.ID), slog.String(Purpose, purpose))
	return ctx, func(used llm.Usage, err error) {
		span.Set(slog.Int(InputTokens, used.PromptTokens), slog.Int(OutputTokens, used.CompletionTokens))
		span.End(err)
	}
}
