// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package llmopenai

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	openai "github.com/sashabaranov/go-openai"

	"github.com/aalis-dev/aalis-operator/runtime/contract/llm"
)

// How often and how long a call is tried.
const (
	maxTries   = 3
	maxWaiting = 20 * time.Second // sum of all waits of one call
	retryFirst = 500 * time.Millisecond
	slowHeader = 15 * time.Second // without an answer: a warning
	slowFrame  = 30 * time.Second // without a first frame: a warning
)

// model is one entry of the service llm.
type model struct {
	p    *provider
	id   string
	info atomic.Pointer[llm.Info]
}

// Info implements llm.Model.
func (m *model) Info() llm.Info { return *m.info.Load() }

// Chat implements llm.Model.
func (m *model) Chat(ctx context.Context, req llm.Request) (llm.Response, error) {
	var out llm.Response
	err := m.try(ctx, func(ctx context.Context) (bool, error) {
		quiet := m.warnAfter(slowHeader, "Server has sent no answer yet")
		defer quiet()
		resp, err := m.p.ep.client.CreateChatCompletion(ctx, buildRequest(m.id, req, m.p.set.Load()))
		if err != nil {
			return false, err
		}
		out, err = readReply(&resp)
		return false, err
	})
	return out, err
}

// ChatStream implements llm.Model.
func (m *model) ChatStream(ctx context.Context, req llm.Request, onChunk func(llm.Chunk) error) error {
	return m.try(ctx, func(ctx context.Context) (bool, error) {
		wire := buildRequest(m.id, req, m.p.set.Load())
		wire.StreamOptions = &openai.StreamOptions{IncludeUsage: true}
		s := stream{m: m, onChunk: onChunk}
		err := s.run(ctx, wire)
		return s.handedOn, err
	})
}

// try makes a call, again if that may help and nothing of the reply has been handed on. The error is a CallError, one of
// the receiver of chunks, or the caller's own context's.
func (m *model) try(parent context.Context, call func(ctx context.Context) (handedOn bool, err error)) error {
	p := m.p
	p.calls.Enter()
	defer p.calls.Leave()
	ctx, cancel := p.callContext(parent)
	defer cancel()
	left := maxWaiting
	for n := 1; ; n++ {
		handedOn, err := call(ctx)
		if err == nil {
			return nil
		}
		if c, ok := errors.AsType[*consumerError](err); ok {
			return c.err
		}
		if parent.Err() != nil {
			return fmt.Errorf("asking the model: %w", parent.Err())
		}
		failed := p.explain(ctx, m.id, err)
		wait := p.retryWait(n, failed)
		if handedOn || !failed.temporary() || n == maxTries || wait > left {
			p.k.Logger().Warn("Model call failed", "model", m.id, "tries", n, "kind", failed.kind, "error", p.forLog(err))
			return failed
		}
		p.k.Logger().Info("Model call failed, trying again", "model", m.id, "tries", n, "kind", failed.kind,
			"error", p.forLog(err), "wait", wait)
		left -= wait
		if p.tools.wait(ctx, wait) != nil {
			if parent.Err() != nil {
				return fmt.Errorf("asking the model: %w", parent.Err())
			}
			return p.explain(ctx, m.id, err)
		}
	}
}

// callContext ends with the caller's, after the configured time, and when the plugin is torn down.
func (p *provider) callContext(parent context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(parent)
	stop := context.AfterFunc(p.k.Lifetime(), func() { cancel(errStopping) })
	done := func() { stop(); cancel(nil) }
	timeout := p.set.Load().timeout
	if timeout <= 0 {
		return ctx, done
	}
	ctx, release := context.WithTimeoutCause(ctx, timeout, errTimedOut)
	return ctx, func() { release(); done() }
}

// retryWait is how long to wait before the next try: what the server asked for, else a time that doubles; with some more
// at random, so that those who were refused together do not come back together.
func (p *provider) retryWait(tries int, e *CallError) time.Duration {
	wait := retryFirst << (tries - 1)
	if e.retryAfter > 0 {
		wait = e.retryAfter
	}
	extra := time.Duration(float64(min(wait, time.Second)) / 2 * p.tools.jitter())
	if e.retryAfter > 0 && wait <= maxWaiting {
		return min(wait+extra, maxWaiting)
	}
	return wait + extra
}

// warnAfter logs a warning unless the returned function is called within d.
func (m *model) warnAfter(d time.Duration, msg string) (quiet func()) {
	t := time.AfterFunc(d, func() { m.p.k.Logger().Warn(msg, "model", m.id, "host", m.p.ep.host, "after", d) })
	return func() { t.Stop() }
}

// readReply takes a whole reply apart.
func readReply(resp *openai.ChatCompletionResponse) (llm.Response, error) {
	if len(resp.Choices) == 0 {
		return llm.Response{}, errNonsense
	}
	choice := &resp.Choices[0]
	msg := &choice.Message
	out := llm.Response{Content: msg.Content, ReasoningContent: msg.ReasoningContent}
	if out.Content == "" {
		out.Content = msg.Refusal
	}
	var calls callBuffers
	for i := range msg.ToolCalls {
		c := &msg.ToolCalls[i]
		calls.add(toolDelta{Index: &i, ID: c.ID, Function: functionDelta{Name: c.Function.Name, Arguments: c.Function.Arguments}})
	}
	out.ToolCalls = calls.finish()
	if out.Content == "" && len(out.ToolCalls) == 0 && choice.FinishReason == openai.FinishReasonContentFilter {
		return llm.Response{}, errFiltered
	}
	if u := resp.Usage; u.PromptTokens != 0 || u.CompletionTokens != 0 {
		out.Usage = &llm.Usage{
			PromptTokens: u.PromptTokens, CompletionTokens: u.CompletionTokens, TotalTokens: u.PromptTokens + u.CompletionTokens,
		}
		if d := u.PromptTokensDetails; d != nil {
			out.Usage.CachedPromptTokens = &d.CachedTokens
		}
	}
	return out, nil
}

var _ llm.Model = (*model)(nil)
