// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package llmollama

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"github.com/aalis-dev/aalis-operator/runtime/contract/llm"
	"github.com/aalis-dev/aalis-operator/runtime/llmhttp"
	"github.com/aalis-dev/aalis-operator/runtime/llmhttp/completions"
)

// The paths of the server.
const (
	pathTags        = "api/tags"
	pathShow        = "api/show"
	pathChat        = "api/chat"
	pathCompletions = "v1/chat/completions"
)

// backend speaks Ollama's protocol.
type backend struct {
	llmhttp.Live[*settings]

	known atomic.Pointer[map[string]shown] // by model id; replaced, never changed
	now   func() time.Time
	media *fetcher
}

// Guess implements llmhttp.Backend: it is what the server said, else what the name suggests.
func (b *backend) Guess(id string) []llm.Capability {
	if known := b.known.Load(); known != nil {
		if s, ok := (*known)[id]; ok && len(s.caps) > 0 {
			return s.caps
		}
	}
	return guess(id)
}

// think decides whether a model thinks: as the request says, else as the config does, if it can at all. The server
// refuses the whole request otherwise.
func (b *backend) think(id string, asked *bool, set *settings) bool {
	want := set.thinking
	if asked != nil {
		want = *asked
	}
	return want && slices.Contains(set.Models.Can(id, b.Guess), llm.CapThinking)
}

// Chat implements llmhttp.Backend.
func (b *backend) Chat(ctx context.Context, c llmhttp.Call, req llm.Request) (llm.Response, error) {
	if hasAudio(req.Messages) {
		return b.chatAudio(ctx, c, req)
	}
	body, err := b.buildRequest(ctx, c, req)
	if err != nil {
		return llm.Response{}, err
	}
	quiet := c.AwaitHeader()
	defer quiet()
	var line frame
	if err := c.Endpoint.PostJSON(ctx, pathChat, body, &line); err != nil {
		return llm.Response{}, err
	}
	switch {
	case line.Error != "":
		return llm.Response{}, c.Endpoint.StreamError(line.Error)
	case line.Message == nil:
		return llm.Response{}, llmhttp.ErrNonsense
	}
	content, reasoning := splitThinking(line.Message.Content)
	var calls toolCalls
	calls.add(line.Message.ToolCalls)
	return llm.Response{
		Content: content, ReasoningContent: line.Message.Thinking + reasoning, ToolCalls: calls.finish(b.now()),
		Usage: line.usage(),
	}, nil
}

// Stream implements llmhttp.Backend.
func (b *backend) Stream(ctx context.Context, c llmhttp.Call, req llm.Request, onChunk func(llm.Chunk) error) error {
	if hasAudio(req.Messages) {
		out, err := b.chatAudio(ctx, c, req)
		if err != nil {
			return err
		}
		return onChunk(completions.Chunk(out))
	}
	body, err := b.buildRequest(ctx, c, req)
	if err != nil {
		return err
	}
	body.Stream = true
	quiet := c.AwaitHeader()
	resp, err := c.Endpoint.Post(ctx, pathChat, body, llmhttp.AcceptLines)
	quiet()
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	s := stream{call: c, onChunk: onChunk, now: b.now}
	return s.read(llmhttp.Lines(resp.Body))
}

var _ llmhttp.Configured[*settings] = (*backend)(nil)
