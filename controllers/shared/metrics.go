// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package shared

import (
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics of the operator beside those of controller-runtime. Every label has a small fixed set of values: kinds,
// outcomes and the reasons of api/v1alpha1.
type Metrics struct {
	children  *prometheus.CounterVec
	statuses  *prometheus.CounterVec
	events    *prometheus.CounterVec
	composed  *prometheus.CounterVec
	recompute *prometheus.CounterVec
	states    *prometheus.CounterVec
	putOff    *prometheus.CounterVec
	applied   prometheus.Histogram
}

// applyBuckets cover the time until an edit is live, in seconds: the objective is about one.
var applyBuckets = []float64{0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 120}

// NewMetrics makes the metrics and registers them.
func NewMetrics(registry prometheus.Registerer) (*Metrics, error) {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "aalis_operator", Name: name, Help: help}, labels)
	}
	m := &Metrics{
		children: counter("child_writes_total", "Child objects written, by kind and outcome.", "kind", "outcome"),
		statuses: counter("status_writes_total", "Statuses written, by kind.", "kind"),
		events:   counter("events_total", "Kubernetes events sent, by type and reason.", "type", "reason"),
		composed: counter("deliveries_total", "Composed configs, by result: Delivered or the reason of the refusal.", "result"),
	}
	m.recompute = counter("recompute_total", "Runs of kernels' state machines that changed something and that a written status names, by reason.", "reason")
	m.states = counter("state_changes_total", "Changes of state that were written, by kind and new state.", "kind", "state")
	m.putOff = counter("reconciles_put_off_total", "Passes over an object that was reconciled too often, by kind.", "kind")
	m.applied = prometheus.NewHistogram(prometheus.HistogramOpts{
		Namespace: "aalis_operator", Name: "apply_duration_seconds", Buckets: applyBuckets,
		Help: "Time from the pass that found a running bot's config changed until the operator saw the kernel's acknowledgement.",
	})
	for _, c := range []prometheus.Collector{m.applied, m.children, m.statuses, m.events, m.composed, m.recompute, m.states, m.putOff} {
		if err := registry.Register(c); err != nil {
			return nil, fmt.Errorf("registering the operator's metrics: %w", err)
		}
	}
	return m, nil
}

func (m *Metrics) childWritten(kind string, outcome Outcome) {
	m.children.WithLabelValues(kind, string(outcome)).Inc()
}

func (m *Metrics) eventSent(kind, reason string) { m.events.WithLabelValues(kind, reason).Inc() }

// StatusWritten counts a status patch of an object of the kind.
func (m *Metrics) StatusWritten(kind string) { m.statuses.WithLabelValues(kind).Inc() }

// Recomputed counts a run of a kernel's state machine. Its reason is one of the four that admission allows.
func (m *Metrics) Recomputed(reason string) { m.recompute.WithLabelValues(reason).Inc() }

// StateChanged counts a change of state of an object of the kind.
func (m *Metrics) StateChanged(kind, state string) { m.states.WithLabelValues(kind, state).Inc() }

// Delivered counts a config that was delivered, or one that was refused for the reason.
func (m *Metrics) Delivered(result string) { m.composed.WithLabelValues(result).Inc() }

// Applied counts how long a running bot's kernel took to acknowledge a config.
func (m *Metrics) Applied(took time.Duration) { m.applied.Observe(max(0, took.Seconds())) }

// PutOff counts a pass over an object of the kind that was put off.
func (m *Metrics) PutOff(kind string) { m.putOff.WithLabelValues(kind).Inc() }
