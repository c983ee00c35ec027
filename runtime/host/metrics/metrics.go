// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package metrics counts what a bot does, for Prometheus, on a registry of its own. Package host makes it, attaches it to
// the kernel and serves it.
//
// Every label has a bounded set of values: what comes from configs and models is cut to 128 characters and limited to 64
// distinct values a label, the rest becomes "other". A session or user id is never a label.
package metrics

import (
	"context"
	"errors"
	"net/http"
	"runtime"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/aalis-dev/aalis-operator/runtime/contract/agent"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
)

const namespace = "aalis"

// Result is what became of a delivered config.
type Result string

// The results.
const (
	// Applied: the wanted revision runs.
	Applied Result = "applied"
	// Rejected: the wanted revision was refused.
	Rejected Result = "rejected"
	// FellBack: the last good revision was started in its stead.
	FellBack Result = "fell_back"
)

// Options name the bot. They become constant labels of every metric of the bot.
type Options struct {
	// Agent is the bot's name.
	Agent string
	// Namespace of the bot; empty outside a cluster.
	Namespace string
	// Version of the runtime and CatalogHash of its modules.
	Version, CatalogHash string
}

// Metrics holds the metrics of one process. Its methods may be called concurrently.
type Metrics struct {
	registry *prometheus.Registry
	plugins  *pluginCollector
	decided  *decisions

	tokens        *prometheus.CounterVec
	requests      *prometheus.CounterVec
	requestTime   *prometheus.HistogramVec
	firstToken    *prometheus.HistogramVec
	turns         *prometheus.CounterVec
	turnTime      *prometheus.HistogramVec
	recomputes    *prometheus.CounterVec
	rounds        *prometheus.CounterVec
	applies       *prometheus.CounterVec
	applyTime     *prometheus.HistogramVec
	appliedAt     prometheus.Gauge
	appliedNumber prometheus.Gauge

	personas, providers, models, platforms limiter
}

// callBuckets cover a call of a model, from a cached answer to the longest reasoning, in seconds.
var callBuckets = []float64{0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300}

// applyBuckets cover the time from a config's arrival until it runs, in seconds.
var applyBuckets = []float64{0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 30, 60}

// New makes the metrics of a bot.
func New(o Options) *Metrics {
	m := &Metrics{registry: prometheus.NewRegistry()}
	m.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	bot := prometheus.WrapRegistererWith(prometheus.Labels{"agent": o.Agent, "namespace": o.Namespace}, m.registry)
	f := factory{bot}
	m.conversation(f)
	m.kernel(f)
	m.decided = newDecisions(f)
	info := f.gaugeVec("build_info", "Always 1; the labels say what runs.", "version", "catalog_hash", "go_version")
	info.WithLabelValues(cut(o.Version), cut(o.CatalogHash), runtime.Version()).Set(1)
	m.plugins = newPluginCollector()
	bot.MustRegister(m.plugins)
	return m
}

func (m *Metrics) conversation(f factory) {
	m.tokens = f.counterVec("tokens_total",
		"Tokens of finished model calls by type: prompt, cached_prompt (the part of prompt that the provider had cached), completion.",
		"persona", "provider", "model", "platform", "type", "estimated")
	m.requests = f.counterVec("llm_requests_total",
		"Finished model calls by outcome: success, canceled, timeout, error.",
		"persona", "provider", "model", "platform", "outcome")
	m.requestTime = f.histogramVec("llm_request_duration_seconds", "Duration of model calls.", callBuckets, "provider", "model")
	m.firstToken = f.histogramVec("llm_time_to_first_token_seconds",
		"Time from the start of a model call until the first piece of its reply.", callBuckets, "provider", "model")
	m.turns = f.counterVec("turns_total", "Finished turns by outcome: replied, silent, aborted, error.", "platform", "outcome")
	m.turnTime = f.histogramVec("turn_duration_seconds", "Duration of turns by outcome.", callBuckets, "outcome")
}

func (m *Metrics) kernel(f factory) {
	m.recomputes = f.counterVec("recomputes_total", "Runs of the plugin state machine by reason.", "reason")
	m.rounds = f.counterVec("recompute_rounds_total", "Rounds that the runs of the plugin state machine took, by reason.", "reason")
	m.applies = f.counterVec("config_applies_total",
		"Delivered configs by result: applied, rejected, fell_back (the last good one was started in its stead).", "result")
	m.applyTime = f.histogramVec("config_apply_duration_seconds",
		"Time from the arrival of a config at the kernel until its result.", applyBuckets, "result")
	m.appliedAt = f.gauge("config_applied_timestamp_seconds", "When the config that runs had been applied, in seconds since the epoch.")
	m.appliedNumber = f.gauge("config_applied_sequence", "Sequence number of the config that runs.")
}

// Handler serves the metrics.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4, Timeout: 10 * time.Second})
}

// Attach makes the metrics follow a kernel. Its context is the kernel's root.
func (m *Metrics) Attach(k *kernel.Context) {
	agent.LLMCall.On(k, func(_ context.Context, c agent.CallDone) error {
		m.call(c)
		return nil
	})
	agent.TurnAfter.Use(k, func(ctx context.Context, d *agent.TurnData, next kernel.Next) error {
		m.turn(*d)
		return next(ctx)
	})
	m.decided.follow(k)
	if p, ok := kernel.ServicePlugins.Get(k); ok {
		m.plugins.follow(p)
	}
}

func (m *Metrics) call(c agent.CallDone) {
	persona, platform := m.personas.value(c.Persona), m.platforms.value(c.Platform)
	provider, model := m.providers.value(c.Provider), m.models.value(c.Model)
	m.requests.WithLabelValues(persona, provider, model, platform, outcome(c.Err)).Inc()
	m.requestTime.WithLabelValues(provider, model).Observe(c.Duration.Seconds())
	if c.FirstToken > 0 {
		m.firstToken.WithLabelValues(provider, model).Observe(c.FirstToken.Seconds())
	}
	estimated := "false"
	if c.Estimated {
		estimated = "true"
	}
	count := func(kind string, n int) {
		if n > 0 {
			m.tokens.WithLabelValues(persona, provider, model, platform, kind, estimated).Add(float64(n))
		}
	}
	count("prompt", c.Usage.PromptTokens)
	count("completion", c.Usage.CompletionTokens)
	if c.Usage.CachedPromptTokens != nil {
		count("cached_prompt", *c.Usage.CachedPromptTokens)
	}
}

// outcome sorts the errors of calls into few kinds.
func outcome(err error) string {
	switch {
	case err == nil:
		return "success"
	case errors.Is(err, context.Canceled):
		return "canceled"
	case errors.Is(err, context.DeadlineExceeded):
		return "timeout"
	default:
		return "error"
	}
}

func (m *Metrics) turn(d agent.TurnData) {
	result := string(d.Outcome)
	switch d.Outcome {
	case agent.Replied, agent.Silent, agent.Aborted, agent.Failed:
	default:
		result = other
	}
	m.turns.WithLabelValues(m.platforms.value(d.Message.Platform), result).Inc()
	m.turnTime.WithLabelValues(result).Observe(d.Duration.Seconds())
}

// Recomputed counts a run of the state machine.
func (m *Metrics) Recomputed(info kernel.RecomputeInfo) {
	reason := cut(string(info.Reason.Kind))
	m.recomputes.WithLabelValues(reason).Inc()
	m.rounds.WithLabelValues(reason).Add(float64(info.Rounds))
}

// ConfigApplied counts a delivery. Took is the time since it arrived. The sequence and time of a rejected one are not
// kept: what ran goes on running.
func (m *Metrics) ConfigApplied(result Result, sequence int64, at time.Time, took time.Duration) {
	m.applies.WithLabelValues(string(result)).Inc()
	m.applyTime.WithLabelValues(string(result)).Observe(max(0, took.Seconds()))
	if result == Rejected {
		return
	}
	m.appliedAt.Set(float64(at.UnixMilli()) / 1000)
	m.appliedNumber.Set(float64(sequence))
}
