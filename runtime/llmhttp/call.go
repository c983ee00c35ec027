// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package llmhttp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

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

// Call is one attempt at a reply, as a Backend sees it.
type Call struct {
	// Model is the id of the model at the server.
	Model string
	// Endpoint is the server.
	Endpoint *Endpoint
	// Log is the plugin's, with the model's id.
	Log *slog.Logger
}

// AwaitHeader logs a warning unless the returned function is called before long.
func (c Call) AwaitHeader() (quiet func()) {
	return c.warnAfter(slowHeader, "Server has sent no answer yet")
}

// AwaitFrame logs a warning unless the returned function is called before long.
func (c Call) AwaitFrame() (quiet func()) {
	return c.warnAfter(slowFrame, "Server has sent no part of its answer yet")
}

func (c Call) warnAfter(d time.Duration, msg string) (quiet func()) {
	t := time.AfterFunc(d, func() { c.Log.Warn(msg, "host", c.Endpoint.Host, "after", d) })
	return func() { t.Stop() }
}

// model is one entry of the service llm.
type model struct {
	p    *Provider
	id   string
	info atomic.Pointer[llm.Info]
}

// Info implements llm.Model.
func (m *model) Info() llm.Info { return *m.info.Load() }

// Chat implements llm.Model.
func (m *model) Chat(ctx context.Context, req llm.Request) (llm.Response, error) {
	var out llm.Response
	err := m.try(ctx, func(ctx context.Context) (_ bool, err error) {
		out, err = m.p.backend.Chat(ctx, m.call(), req)
		return false, err
	})
	return out, err
}

// ChatStream implements llm.Model.
func (m *model) ChatStream(ctx context.Context, req llm.Request, onChunk func(llm.Chunk) error) error {
	return m.try(ctx, func(ctx context.Context) (handedOn bool, err error) {
		err = m.p.backend.Stream(ctx, m.call(), req, func(c llm.Chunk) error {
			handedOn = true
			if err := onChunk(c); err != nil {
				return &consumerError{err: err}
			}
			return nil
		})
		return handedOn, err
	})
}

// Refresh implements llm.Refresher.
func (m *model) Refresh(ctx context.Context) (llm.Refreshed, error) { return m.p.Refresh(ctx) }

func (m *model) call() Call {
	return Call{Model: m.id, Endpoint: m.p.ep, Log: m.p.k.Logger().With("model", m.id)}
}

// try makes a call, again if that may help and nothing of the reply has been handed on. The error is an llm.Error, one of
// the receiver of chunks, or the caller's own context's.
func (m *model) try(parent context.Context, call func(ctx context.Context) (handedOn bool, err error)) error {
	p := m.p
	ctx, done := p.ep.Begin(parent, p.backend.Common().Timeout)
	defer done()
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
		failed, kind := p.explain(ctx, m.id, handedOn, err)
		wait := p.retryWait(n, failed.RetryAfter)
		if handedOn || !kind.temporary() || n == maxTries || wait > left {
			p.k.Logger().Warn("Model call failed", "model", m.id, "tries", n, "kind", kind, "error", p.ep.ForLog(err))
			return failed
		}
		p.k.Logger().Info("Model call failed, trying again", "model", m.id, "tries", n, "kind", kind,
			"error", p.ep.ForLog(err), "wait", wait)
		left -= wait
		if p.tools.Wait(ctx, wait) != nil {
			if parent.Err() != nil {
				return fmt.Errorf("asking the model: %w", parent.Err())
			}
			failed, _ := p.explain(ctx, m.id, false, err)
			return failed
		}
	}
}

// retryWait is how long to wait before the next try: what the server asked for, else a time that doubles; with some more
// at random, so that those who were refused together do not come back together.
func (p *Provider) retryWait(tries int, retryAfter time.Duration) time.Duration {
	wait := retryFirst << (tries - 1)
	if retryAfter > 0 {
		wait = retryAfter
	}
	extra := time.Duration(float64(min(wait, time.Second)) / 2 * p.tools.Jitter())
	if retryAfter > 0 && wait <= maxWaiting {
		return min(wait+extra, maxWaiting)
	}
	return wait + extra
}

var (
	_ llm.Model     = (*model)(nil)
	_ llm.Refresher = (*model)(nil)
)
