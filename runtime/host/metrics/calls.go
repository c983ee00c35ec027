// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"context"
	"errors"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/aalis-dev/aalis-operator/runtime/contract/agent"
	"github.com/aalis-dev/aalis-operator/runtime/contract/llm"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
)

// callBuckets cover a call of a model, from a cached answer to the longest reasoning, in seconds.
var callBuckets = []float64{0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300}

// calls count what calls of models took, whatever they were made for.
type calls struct {
	tokens, cost, requests, failures, frames *prometheus.CounterVec
	duration, firstToken                     *prometheus.HistogramVec

	origins, prices, models *limiter
}

func newCalls(f factory) *calls {
	return &calls{
		tokens: f.counterVec("tokens_total",
			"Tokens of finished model calls by type: prompt, cached_prompt (the part of prompt that the provider had cached), "+
				"completion, reasoning (the part of completion that nobody reads).",
			"persona", "provider", "model", "platform", "type", "estimated"),
		cost: f.counterVec("cost_total",
			"What finished model calls cost, in units of the currency, by the prices that are declared. A model without one is not counted.",
			"persona", "provider", "model", "platform", "currency"),
		requests: f.counterVec("llm_requests_total",
			"Finished model calls by outcome: success, canceled, timeout, error.",
			"persona", "provider", "model", "platform", "outcome"),
		failures: f.counterVec("llm_errors_total",
			"Model calls that failed, by what was wrong at the provider; canceled ones do not count.", "provider", "model", "cause"),
		frames: f.counterVec("usage_frames_total",
			"What became of what providers tell of the tokens of a call: counted, trimmed (counted without a part that cannot be), "+
				"missing, negative, absurd (not counted, the bot counted itself).", "provider", "model", "verdict"),
		duration: f.histogramVec("llm_request_duration_seconds", "Duration of model calls.", callBuckets, "provider", "model"),
		firstToken: f.histogramVec("llm_time_to_first_token_seconds",
			"Time from the start of a model call until the first piece of its reply.", callBuckets, "provider", "model"),
		origins: newLimiter(maxOrigins), prices: newLimiter(maxPrices), models: newLimiter(maxModels),
	}
}

func (m *calls) follow(k *kernel.Context) {
	agent.LLMCall.On(k, func(ctx context.Context, c agent.CallDone) error {
		m.done(ctx, c)
		return nil
	})
}

func (m *calls) done(ctx context.Context, c agent.CallDone) {
	origin, model := m.origins.values(c.Persona, c.Provider, c.Model, c.Platform), m.models.values(c.Provider, c.Model)
	with := func(v *prometheus.CounterVec, labels []string, more ...string) prometheus.Counter {
		return v.WithLabelValues(append(labels[:len(labels):len(labels)], more...)...)
	}
	with(m.requests, origin, outcome(c.Err)).Inc()
	observe(ctx, m.duration.WithLabelValues(model...), c.Duration)
	if c.FirstToken > 0 {
		observe(ctx, m.firstToken.WithLabelValues(model...), c.FirstToken)
	}
	if o := outcome(c.Err); o == "error" || o == "timeout" {
		with(m.failures, model, cause(c.Err)).Inc()
	}
	if c.Frame != "" {
		with(m.frames, model, oneOf(c.Frame, llm.FrameCounted, llm.FrameTrimmed, llm.FrameMissing, llm.FrameNegative, llm.FrameAbsurd)).Inc()
	}
	estimated := "false"
	if c.Estimated {
		estimated = "true"
	}
	count := func(kind string, n *int) {
		if n != nil && *n > 0 { // a counter that is told to fall panics, and other vendors' plugins tell what they like
			with(m.tokens, origin, kind, estimated).Add(float64(*n))
		}
	}
	count("prompt", &c.Usage.PromptTokens)
	count("cached_prompt", c.Usage.CachedPromptTokens)
	count("completion", &c.Usage.CompletionTokens)
	count("reasoning", c.Usage.ReasoningTokens)
	if c.Price != nil {
		priced := m.prices.values(c.Persona, c.Provider, c.Model, c.Platform, c.Price.Currency)
		m.cost.WithLabelValues(priced...).Add(float64(c.Price.Cost(c.Usage)) / llm.NanosPerUnit)
	}
}

// outcome sorts the errors of calls into few kinds. A provider that did not answer in time and a caller who had not more of it
// are the same here; cause tells them apart.
func outcome(err error) string {
	switch {
	case err == nil:
		return "success"
	case errors.Is(err, context.Canceled):
		return "canceled"
	case errors.Is(err, context.DeadlineExceeded), llm.CauseOf(err) == llm.Timeout:
		return "timeout"
	default:
		return "error"
	}
}

// cause is what was wrong at the provider, as the contract names it.
func cause(err error) string {
	if c := llm.CauseOf(err); c != "" {
		return oneOf(c, llm.Causes()...)
	}
	return other
}
