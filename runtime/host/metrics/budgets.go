// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"context"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/aalis-dev/aalis-operator/runtime/contract/budget"
	"github.com/aalis-dev/aalis-operator/runtime/contract/llm"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
)

// budgets show how the budgets stand when they are asked, and count what was refused.
type budgets struct {
	limit, used, end *prometheus.Desc
	refusals         *prometheus.CounterVec
	names            *limiter
	kernel           atomic.Pointer[kernel.Context]
}

func newBudgets(f factory) *budgets {
	b := &budgets{
		limit: f.desc("budget_limit", "Limit of a budget, in tokens or in units of its currency.", "budget", "scope", "unit"),
		used: f.desc("budget_used",
			"What is used and reserved of a budget in the present window; of one that people or conversations have each, by whoever used most.",
			"budget", "scope", "unit"),
		end: f.desc("budget_window_end_timestamp_seconds", "When the present window of a budget ends, in seconds since the epoch.", "budget", "scope", "unit"),
		refusals: f.counterVec("budget_refusals_total",
			"Calls of models that were not made, by reason: Spent, NoPrice, NotReady.", "budget", "reason"),
		names: newLimiter(maxRefusals),
	}
	f.reg.MustRegister(b)
	return b
}

func (b *budgets) follow(k *kernel.Context) {
	b.kernel.Store(k)
	budget.Refused.On(k, func(_ context.Context, r budget.RefusedError) error {
		b.refused(r)
		return nil
	})
}

func (b *budgets) refused(r budget.RefusedError) {
	b.refusals.WithLabelValues(b.names.values(r.Budget, oneOf(r.Reason, budget.Spent, budget.NoPrice, budget.NotReady))...).Inc()
}

// Describe implements prometheus.Collector.
func (b *budgets) Describe(out chan<- *prometheus.Desc) {
	out <- b.limit
	out <- b.used
	out <- b.end
}

// Collect implements prometheus.Collector.
func (b *budgets) Collect(out chan<- prometheus.Metric) {
	k := b.kernel.Load()
	if k == nil {
		return
	}
	keeper, ok := budget.Service.Get(k)
	if !ok {
		return
	}
	seen := map[[3]string]bool{}
	for _, s := range keeper.Standings() {
		labels := [3]string{cut(s.Name), cut(s.Scope), cut(s.Unit)}
		if len(seen) == maxBudgets || seen[labels] {
			continue
		}
		seen[labels] = true
		// A counter that begins with its first refusal would hide that from increase().
		for _, reason := range []budget.Reason{budget.Spent, budget.NoPrice} {
			b.refusals.WithLabelValues(b.names.values(s.Name, string(reason))...)
		}
		// That nothing is known yet is no budget's own.
		b.refusals.WithLabelValues(b.names.values("", string(budget.NotReady))...)
		unit := func(n int64) float64 {
			if s.Unit == budget.Tokens {
				return float64(n)
			}
			return float64(n) / llm.NanosPerUnit
		}
		out <- prometheus.MustNewConstMetric(b.limit, prometheus.GaugeValue, unit(s.Limit), labels[:]...)
		out <- prometheus.MustNewConstMetric(b.used, prometheus.GaugeValue, unit(s.Used)+unit(s.Reserved), labels[:]...)
		out <- prometheus.MustNewConstMetric(b.end, prometheus.GaugeValue, float64(s.Until.Unix()), labels[:]...)
	}
}

var _ prometheus.Collector = (*budgets)(nil)
