// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package vectors is what the plugins that make embeddings over HTTP have in common: the service, a look at start whether
// the server answers, deadlines and retries.
//
// A plugin gives a Backend, which knows the vendor's protocol, and starts it. The service is there at once and stays, whether
// the server answers or not. The package keeps nothing of what is embedded.
package vectors

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/aalis-dev/aalis-operator/runtime/contract/agent"
	"github.com/aalis-dev/aalis-operator/runtime/contract/budget"
	"github.com/aalis-dev/aalis-operator/runtime/contract/embedding"
	"github.com/aalis-dev/aalis-operator/runtime/contract/llm"
	"github.com/aalis-dev/aalis-operator/runtime/contract/tokens"
	"github.com/aalis-dev/aalis-operator/runtime/contract/tracing"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
	"github.com/aalis-dev/aalis-operator/runtime/llmhttp"
)

// Times of the calls.
const (
	listTimeout = 15 * time.Second
	retryWait   = 500 * time.Millisecond
)

// Backend is what differs between vendors. Its methods make one attempt and may be called concurrently.
type Backend interface {
	// Embed makes the vector of a text, and gives what the server says that it took; nil if it says nothing.
	Embed(ctx context.Context, ep *llmhttp.Endpoint, model, text string) ([]float32, *llm.Usage, error)
	// List asks for the models of the server.
	List(ctx context.Context, ep *llmhttp.Endpoint) ([]string, error)
}

// Options of a service.
type Options struct {
	// Model that makes the vectors.
	Model string
	// Price of the model; nil if none is declared.
	Price *llm.Price
	// Timeout of one attempt.
	Timeout time.Duration
	// Retries after a failure that may pass: of the connection, or of the server.
	Retries int
	// Wait blocks between attempts: for d or until ctx ends, and then returns ctx's error.
	Wait func(ctx context.Context, d time.Duration) error
}

// embedder is the service.
type embedder struct {
	k       *kernel.Context
	ep      *llmhttp.Endpoint
	backend Backend
	opts    Options
	price   atomic.Pointer[llm.Price]
}

// Start provides the service embedding in a plugin's context until that is torn down, and looks in the background whether
// the server answers. If it does not, there is a warning and nothing else. What it gives changes the price from the next call
// on.
func Start(k *kernel.Context, ep *llmhttp.Endpoint, backend Backend, opts Options) (reprice func(*llm.Price)) {
	e := &embedder{k: k, ep: ep, backend: backend, opts: opts}
	e.price.Store(opts.Price)
	embedding.Service.Provide(k, embedding.Embedder(e))
	k.Go("probe", e.probe)
	return func(price *llm.Price) { e.price.Store(price) }
}

func (e *embedder) probe(ctx context.Context) {
	vector, err := e.Embed(ctx, "ping")
	switch {
	case ctx.Err() != nil:
	case err != nil:
		e.k.Logger().Warn("Embedding server does not answer yet", "host", e.ep.Host, "model", e.opts.Model, "error", err)
	default:
		e.k.Logger().Info("Embedding server answered", "host", e.ep.Host, "model", e.opts.Model, "dimensions", len(vector))
	}
}

// Model implements embedding.Embedder.
func (e *embedder) Model() string { return e.opts.Model }

// Embed implements embedding.Embedder.
func (e *embedder) Embed(ctx context.Context, text string) ([]float32, error) {
	counted := tokens.For(e.k, e.k.ID(), e.opts.Model).Count(text)
	info := llm.Info{ID: e.opts.Model, Provider: e.k.ID(), Price: e.price.Load()}
	grant, err := budget.Reserve(ctx, e.k, budget.Call{Model: info, PromptTokens: counted})
	if err != nil {
		return nil, fmt.Errorf("making an embedding: %w", err)
	}
	var span tracing.Span
	if tracer, ok := tracing.Of(e.k); ok {
		ctx, span = tracer.Start(ctx, tracing.SpanEmbeddings+" "+info.ID, slog.String(tracing.Operation, tracing.SpanEmbeddings),
			slog.String(tracing.Provider, info.Provider), slog.String(tracing.RequestModel, info.ID))
	}
	var out []float32
	var told *llm.Usage
	begun := e.k.Now()
	err = e.call(ctx, e.opts.Timeout, func(ctx context.Context) (err error) {
		out, told, err = e.backend.Embed(ctx, e.ep, e.opts.Model, text)
		if err == nil && len(out) == 0 {
			err = llmhttp.ErrNonsense
		}
		return err
	})
	usage := e.tell(ctx, info, counted, told, e.k.Now().Sub(begun), err)
	grant.Settle(usage)
	if span != nil {
		span.Set(slog.Int(tracing.InputTokens, usage.PromptTokens))
		span.End(err)
	}
	return out, err
}

// tell emits agent:llm:call for one finished call, all its tries together, and gives what it took. What the server does not
// count we do.
func (e *embedder) tell(ctx context.Context, info llm.Info, counted int, told *llm.Usage, took time.Duration, err error) llm.Usage {
	done := agent.CallDone{
		Purpose: agent.PurposeEmbedding, Provider: info.Provider, Model: info.ID, Price: info.Price, Duration: took, Err: err,
	}
	if told != nil || err == nil {
		if done.Usage, done.Frame = (llm.Info{}).Judge(told); done.Usage == (llm.Usage{}) && err == nil {
			done.Usage, done.Estimated = llm.Usage{PromptTokens: counted, TotalTokens: counted}, true
		}
	}
	agent.LLMCall.Emit(context.WithoutCancel(ctx), e.k, done)
	return done.Usage
}

// ListModels implements embedding.Embedder.
func (e *embedder) ListModels(ctx context.Context) ([]string, error) {
	var out []string
	err := e.call(ctx, listTimeout, func(ctx context.Context) (err error) {
		out, err = e.backend.List(ctx, e.ep)
		return err
	})
	return out, err
}

// call makes attempts until one succeeds or there is no point. Its errors do not show the key.
func (e *embedder) call(parent context.Context, timeout time.Duration, attempt func(context.Context) error) error {
	ctx, done := e.ep.Begin(parent, 0)
	defer done()
	for n := 0; ; n++ {
		err := e.once(ctx, timeout, attempt)
		switch {
		case err == nil:
			return nil
		case parent.Err() != nil:
			return fmt.Errorf("making an embedding: %w", parent.Err())
		case ctx.Err() != nil:
			return errors.New("making an embedding: the plugin is being stopped")
		case n >= e.opts.Retries || !llmhttp.MayPass(err):
			return fmt.Errorf("making an embedding: %s", e.ep.ForLog(err))
		}
		if e.opts.Wait(ctx, retryWait) != nil {
			return fmt.Errorf("making an embedding: %s", e.ep.ForLog(err))
		}
	}
}

func (e *embedder) once(ctx context.Context, timeout time.Duration, attempt func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return attempt(ctx)
}

var _ embedding.Embedder = (*embedder)(nil)
