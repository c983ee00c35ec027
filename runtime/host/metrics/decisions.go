// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/aalis-dev/aalis-operator/runtime/contract/access"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
)

// decisions count who may do what. Every label comes from code and not from people; should a plugin of another vendor bring
// words of its own, the limiter bounds them.
type decisions struct {
	count *prometheus.CounterVec
	words *limiter
}

func newDecisions(f factory) *decisions {
	return &decisions{words: newLimiter(maxDecisions), count: f.counterVec("authority_decisions_total",
		"Decisions about who may do what that deny, ask or allow something of risk, by kind (tool, command, action, network), "+
			"outcome (allow, confirm, confirmed, cancelled, deny) and the rule that decided.", "kind", "outcome", "rule")}
}

func (d *decisions) follow(k *kernel.Context) {
	access.Decided.On(k, func(_ context.Context, a access.Audit) error {
		d.done(a)
		return nil
	})
}

func (d *decisions) done(a access.Audit) {
	d.count.WithLabelValues(d.words.values(a.Kind, a.Outcome, a.Rule)...).Inc()
}
