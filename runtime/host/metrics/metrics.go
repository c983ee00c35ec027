// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package metrics counts what a bot does, for Prometheus, on a registry of its own. Package host makes it, attaches it to
// the kernel and serves it.
//
// Every label has a bounded set of values: what comes from configs and models is cut to 128 characters, and the
// combinations of labels are bounded too, so that a pod never serves more than MaxSeries series of its own. A session or user
// id is never a label.
package metrics

import (
	"net/http"
	"runtime"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

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
	calls    *calls
	turns    *turns
	budgets  *budgets

	recomputes    *prometheus.CounterVec
	rounds        *prometheus.CounterVec
	applies       *prometheus.CounterVec
	applyTime     *prometheus.HistogramVec
	appliedAt     prometheus.Gauge
	appliedNumber prometheus.Gauge
	reasons       *limiter
}

// applyBuckets cover the time from a config's arrival until it runs, in seconds.
var applyBuckets = []float64{0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 30, 60}

// New makes the metrics of a bot.
func New(o Options) *Metrics {
	m := &Metrics{registry: prometheus.NewRegistry(), reasons: newLimiter(maxReasons)}
	m.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	f := factory{m.registry, prometheus.Labels{"agent": cut(o.Agent), "namespace": cut(o.Namespace)}}
	m.calls, m.turns, m.decided, m.plugins = newCalls(f), newTurns(f), newDecisions(f), newPluginCollector(f)
	m.budgets = newBudgets(f)
	m.kernel(f)
	info := f.gaugeVec("build_info", "Always 1; the labels say what runs.", "version", "catalog_hash", "go_version")
	info.WithLabelValues(cut(o.Version), cut(o.CatalogHash), runtime.Version()).Set(1)
	return m
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
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{
		MaxRequestsInFlight: 4, Timeout: 10 * time.Second, EnableOpenMetrics: true, // exemplars need that form
	})
}

// Attach makes the metrics follow a kernel. Its context is the kernel's root.
func (m *Metrics) Attach(k *kernel.Context) {
	m.calls.follow(k)
	m.turns.follow(k)
	m.budgets.follow(k)
	m.decided.follow(k)
	if p, ok := kernel.ServicePlugins.Get(k); ok {
		m.plugins.follow(p)
	}
}

// Recomputed counts a run of the state machine.
func (m *Metrics) Recomputed(info kernel.RecomputeInfo) {
	reason := m.reasons.values(string(info.Reason.Kind))[0]
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
