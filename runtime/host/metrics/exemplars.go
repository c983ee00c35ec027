// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/aalis-dev/aalis-operator/runtime/contract/tracing"
)

// observe takes down a duration, with the id of the trace that it is in where that is kept.
func observe(ctx context.Context, o prometheus.Observer, took time.Duration) {
	id := tracing.TraceID(ctx)
	if with, ok := o.(prometheus.ExemplarObserver); ok && id != "" {
		with.ObserveWithExemplar(took.Seconds(), prometheus.Labels{"trace_id": id})
		return
	}
	o.Observe(took.Seconds())
}
