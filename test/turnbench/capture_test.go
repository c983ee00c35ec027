// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package turnbench

import (
	"context"

	openai "github.com/sashabaranov/go-openai"

	"github.com/aalis-dev/aalis-operator/runtime/contract/agent"
	"github.com/aalis-dev/aalis-operator/runtime/contract/llm"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
)

// llmCapture keeps the next request of the bot in the form of the bare client, until off is called.
func llmCapture(b *bot, req *openai.ChatCompletionRequest) (off func()) {
	return agent.LLMAfter.Use(b.Root(), func(ctx context.Context, d *agent.LLMAfterData, next kernel.Next) error {
		out := openai.ChatCompletionRequest{
			Model: model, MaxCompletionTokens: 4096, Temperature: 0.7, Stream: true,
			StreamOptions: &openai.StreamOptions{IncludeUsage: true},
		}
		for _, m := range llm.Prepare(d.Messages) {
			out.Messages = append(out.Messages, openai.ChatCompletionMessage{Role: string(m.Role), Content: m.Content})
		}
		*req = out
		return next(ctx)
	})
}
