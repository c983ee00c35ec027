// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package llmopenai

import (
	"context"

	"github.com/aalis-dev/aalis-operator/runtime/contract/llm"
	"github.com/aalis-dev/aalis-operator/runtime/llmhttp"
	"github.com/aalis-dev/aalis-operator/runtime/llmhttp/completions"
)

// The paths of the protocol, below the version.
const (
	pathModels = "models"
	pathChat   = "chat/completions"
)

// backend speaks OpenAI's protocol.
type backend struct{ llmhttp.Live[*settings] }

// Guess implements llmhttp.Backend.
func (*backend) Guess(id string) []llm.Capability { return guess(id) }

// List implements llmhttp.Backend.
func (*backend) List(ctx context.Context, ep *llmhttp.Endpoint) ([]string, error) {
	return completions.List(ctx, ep, pathModels)
}

// Chat implements llmhttp.Backend.
func (b *backend) Chat(ctx context.Context, c llmhttp.Call, req llm.Request) (llm.Response, error) {
	return completions.Chat(ctx, c, pathChat, buildRequest(c.Model, req, b.Current()))
}

// Stream implements llmhttp.Backend.
func (b *backend) Stream(ctx context.Context, c llmhttp.Call, req llm.Request, onChunk func(llm.Chunk) error) error {
	body := buildRequest(c.Model, req, b.Current())
	completions.Streamed(&body)
	return completions.Stream(ctx, c, pathChat, body, onChunk)
}

var _ llmhttp.Configured[*settings] = (*backend)(nil)
