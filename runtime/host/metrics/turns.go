// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/aalis-dev/aalis-operator/runtime/contract/agent"
	"github.com/aalis-dev/aalis-operator/runtime/contract/gateway"
	"github.com/aalis-dev/aalis-operator/runtime/contract/tools"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
)

// The buckets of the durations of tools and phases, in seconds, and of how full the context is.
var (
	toolBuckets  = []float64{0.01, 0.1, 1, 5, 30, 120}
	phaseBuckets = []float64{0.0001, 0.001, 0.01, 0.1, 1, 10, 60, 300}
	fillBuckets  = []float64{0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95}
)

// turns count what happens from a message's arrival to its answer: phases, turns, tools and what fills the context.
type turns struct {
	count, tools, swallowed       *prometheus.CounterVec
	duration, toolTime, phaseTime *prometheus.HistogramVec
	context                       *prometheus.GaugeVec
	window                        prometheus.Gauge
	fill                          prometheus.Histogram

	platforms, names *limiter
}

func newTurns(f factory) *turns {
	return &turns{
		count:    f.counterVec("turns_total", "Finished turns by outcome: replied, silent, aborted, error.", "platform", "outcome"),
		duration: f.histogramVec("turn_duration_seconds", "Duration of turns by outcome.", callBuckets, "outcome"),
		tools:    f.counterVec("tool_calls_total", "Finished calls of tools by outcome: success, error.", "tool", "outcome"),
		toolTime: f.histogramVec("tool_call_duration_seconds", "Duration of calls of tools.", toolBuckets, "tool"),
		phaseTime: f.histogramVec("gateway_phase_duration_seconds",
			"Duration of the phases that an incoming message goes through; inbound:dispatch holds the turn.", phaseBuckets, "phase"),
		swallowed: f.counterVec("gateway_swallowed_total",
			"Messages that ended in a phase of the gateway: a confirmation, a command, or one that needs no answer.", "phase"),
		context: f.gaugeVec("context_tokens",
			"What filled the context window of the last model call of a turn, by part, in tokens.", "part"),
		window: f.gauge("context_window_tokens", "Context window of the model of the last call of a turn, in tokens."),
		fill: f.histogram("context_fill_ratio",
			"How much of the context window the calls of turns filled, from 0 to 1.", fillBuckets),
		platforms: newLimiter(maxPlatforms), names: newLimiter(maxTools),
	}
}

func (m *turns) follow(k *kernel.Context) {
	agent.TurnAfter.Use(k, func(ctx context.Context, d *agent.TurnData, next kernel.Next) error {
		m.done(ctx, *d)
		return next(ctx)
	})
	agent.Usage.On(k, func(_ context.Context, u agent.TokenUsage) error {
		m.fills(u)
		return nil
	})
	tools.Execute.On(k, func(_ context.Context, e tools.Executed) error {
		m.tool(e)
		return nil
	})
	gateway.Done.On(k, func(_ context.Context, p gateway.PhaseDone) error {
		m.phase(p)
		return nil
	})
}

func (m *turns) done(ctx context.Context, d agent.TurnData) {
	result := oneOf(d.Outcome, agent.Replied, agent.Silent, agent.Aborted, agent.Failed)
	m.count.WithLabelValues(m.platforms.values(d.Message.Platform)[0], result).Inc()
	observe(ctx, m.duration.WithLabelValues(result), d.Duration)
}

func (m *turns) tool(e tools.Executed) {
	if !e.End {
		return
	}
	name, result := m.names.values(e.Name)[0], "success"
	if e.Failed {
		result = "error"
	}
	m.tools.WithLabelValues(name, result).Inc()
	m.toolTime.WithLabelValues(name).Observe(e.Duration.Seconds())
}

func (m *turns) phase(p gateway.PhaseDone) {
	phase := oneOf(p.Phase, gateway.PhaseConfirm, gateway.PhaseCommand, gateway.PhaseFlow, gateway.PhaseTrigger, gateway.PhaseDispatch)
	m.phaseTime.WithLabelValues(phase).Observe(p.Duration.Seconds())
	if !p.ReachedEnd && p.Phase != gateway.PhaseDispatch {
		m.swallowed.WithLabelValues(phase).Inc()
	}
}

// fills shows a breakdown. Its parts do not overlap: system is told as what it consists of.
func (m *turns) fills(u agent.TokenUsage) {
	b := u.Breakdown
	for part, n := range map[string]int{
		"persona": b.Persona, "memory_summary": b.MemorySummary, "memory_vector": b.MemoryVector, "skills": b.Skills,
		"platform": b.Platform, "subtask": b.Subtask, "system_other": b.SystemOther, "history": b.History,
		"tool_results": b.ToolResults, "tool_definitions": b.ToolDefs, "reserved_for_reply": b.ReservedForReply,
	} {
		m.context.WithLabelValues(part).Set(float64(n))
	}
	m.window.Set(float64(u.ContextWindow))
	if u.ContextWindow > 0 {
		m.fill.Observe(u.UsageRatio)
	}
}
