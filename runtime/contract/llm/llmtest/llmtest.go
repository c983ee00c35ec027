// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package llmtest has a chat model that answers by a script, for the tests of whatever uses models. It belongs to the
// contract and not to kerneltest, because kerneltest knows no services.
//
// Only tests import it. It never talks to a network and never waits, except where the script says so.
package llmtest

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/aalis-dev/aalis-operator/runtime/contract/llm"
	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
)

// ErrOver is what a model returns that is asked more often than its script has steps.
var ErrOver = errors.New("the script is over")

// Step answers one request. It hands its chunks to onChunk and must return that function's error.
type Step func(ctx context.Context, req llm.Request, onChunk func(llm.Chunk) error) error

// Say answers with chunks as they are.
func Say(chunks ...llm.Chunk) Step {
	return func(_ context.Context, _ llm.Request, onChunk func(llm.Chunk) error) error {
		for _, c := range chunks {
			if err := onChunk(c); err != nil {
				return err
			}
		}
		return nil
	}
}

// Text answers with a text in pieces and says that the call took 10 and 2 tokens.
func Text(pieces ...string) Step {
	chunks := make([]llm.Chunk, 0, len(pieces)+1)
	for _, p := range pieces {
		chunks = append(chunks, llm.Chunk{ContentDelta: p})
	}
	usage := &llm.Usage{PromptTokens: 10, CompletionTokens: 2, TotalTokens: 12}
	return Say(append(chunks, llm.Chunk{Done: true, Usage: usage})...)
}

// Call answers with calls of tools.
func Call(calls ...message.ToolCall) Step { return Say(llm.Chunk{ToolCalls: calls, Done: true}) }

// Fail hands out chunks (none are fine) and then fails.
func Fail(err error, chunks ...llm.Chunk) Step {
	return func(ctx context.Context, req llm.Request, onChunk func(llm.Chunk) error) error {
		if err := Say(chunks...)(ctx, req, onChunk); err != nil {
			return err
		}
		return err
	}
}

// Hang hands out chunks, closes started (may be nil) and returns only when the request is cancelled, with its cause.
func Hang(started chan<- struct{}, chunks ...llm.Chunk) Step {
	return func(ctx context.Context, req llm.Request, onChunk func(llm.Chunk) error) error {
		if err := Say(chunks...)(ctx, req, onChunk); err != nil {
			return err
		}
		if started != nil {
			close(started)
		}
		<-ctx.Done()
		return context.Cause(ctx)
	}
}

// Model is a model that answers its first request by the first step of its script, and so on. It may be used by several
// goroutines; which step each gets is then decided by who comes first.
type Model struct {
	info llm.Info

	mu       sync.Mutex
	steps    []Step
	forever  Step
	requests []llm.Request
}

var _ llm.Model = (*Model)(nil)

// New returns a model. Empty parts of info become those of "script/model", with 4096 tokens of context, streaming and
// tool calls.
func New(info llm.Info, steps ...Step) *Model {
	if info.ID == "" {
		info.ID = "model"
	}
	if info.Provider == "" {
		info.Provider = "script"
	}
	if info.ContextLength == 0 {
		info.ContextLength = 4096
	}
	if info.Capabilities == nil {
		info.Capabilities = []llm.Capability{llm.CapChat, llm.CapStreaming, llm.CapToolCalling}
	}
	return &Model{info: info, steps: steps}
}

// Then appends steps to the script.
func (m *Model) Then(steps ...Step) *Model {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.steps = append(m.steps, steps...)
	return m
}

// Always answers every request after the script's end in one way, instead of with [ErrOver].
func (m *Model) Always(step Step) *Model {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.forever = step
	return m
}

// Provide registers the model as a plugin would, until off is called or the context is torn down.
func (m *Model) Provide(k *kernel.Context, opts ...kernel.ProvideOption) (off func()) {
	return llm.Service.Provide(k, m, append([]kernel.ProvideOption{kernel.WithEntryID(m.info.Entry())}, opts...)...)
}

// Requests returns the requests so far, in order.
func (m *Model) Requests() []llm.Request {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.requests)
}

// Info implements llm.Model.
func (m *Model) Info() llm.Info { return m.info }

// Chat implements llm.Model: it puts the step's chunks together.
func (m *Model) Chat(ctx context.Context, req llm.Request) (llm.Response, error) {
	var r llm.Response
	err := m.ChatStream(ctx, req, func(c llm.Chunk) error {
		r.Content += c.ContentDelta
		r.ReasoningContent += c.ReasoningDelta
		r.ToolCalls = append(r.ToolCalls, c.ToolCalls...)
		if c.Usage != nil {
			r.Usage = c.Usage
		}
		return nil
	})
	if err != nil {
		return llm.Response{}, err
	}
	return r, nil
}

// ChatStream implements llm.Model.
func (m *Model) ChatStream(ctx context.Context, req llm.Request, onChunk func(llm.Chunk) error) error {
	step := m.step(req)
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	return step(ctx, req, onChunk)
}

// step notes a request and returns what answers it.
func (m *Model) step(req llm.Request) Step {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.requests = append(m.requests, req)
	if len(m.steps) > 0 {
		step := m.steps[0]
		m.steps = m.steps[1:]
		return step
	}
	if m.forever != nil {
		return m.forever
	}
	return Fail(ErrOver)
}
