// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package llmdeepseek

import (
	"context"
	"time"

	"github.com/aalis-dev/aalis-operator/runtime/contract/llm"
	"github.com/aalis-dev/aalis-operator/runtime/llmhttp"
	"github.com/aalis-dev/aalis-operator/runtime/llmhttp/completions"
)

// The paths of the server.
const (
	pathModels = "models"
	pathChat   = "v1/chat/completions"
)

// backend speaks DeepSeek's protocol.
type backend struct {
	llmhttp.Live[*settings]

	now func() time.Time
}

// Guess implements llmhttp.Backend.
func (*backend) Guess(id string) []llm.Capability { return guess(id) }

// List implements llmhttp.Backend.
func (*backend) List(ctx context.Context, ep *llmhttp.Endpoint) ([]string, error) {
	return completions.List(ctx, ep, pathModels)
}

// Chat implements llmhttp.Backend.
func (b *backend) Chat(ctx context.Context, c llmhttp.Call, req llm.Request) (llm.Response, error) {
	out, err := completions.Chat(ctx, c, pathChat, buildRequest(c.Model, req, b.Current()))
	if err != nil {
		return out, err
	}
	text, markup := cutMarkup(out.Content)
	out.Content = text
	if len(out.ToolCalls) == 0 {
		out.ToolCalls = parseMarkup(markup, b.now())
	}
	return out, nil
}

// Stream implements llmhttp.Backend.
func (b *backend) Stream(ctx context.Context, c llmhttp.Call, req llm.Request, onChunk func(llm.Chunk) error) error {
	body := buildRequest(c.Model, req, b.Current())
	completions.Streamed(&body.ChatCompletionRequest)
	f := filter{onChunk: onChunk, now: b.now}
	return completions.Stream(ctx, c, pathChat, body, f.chunk)
}

var _ llmhttp.Configured[*settings] = (*backend)(nil)
