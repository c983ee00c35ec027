// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"context"
	"sync/atomic"

	"github.com/aalis-dev/aalis-operator/runtime/contract/gateway"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
)

// telemetryBuffer is the number of ended phases that may wait for slow listeners of gateway:phase:done.
const telemetryBuffer = 1024

// telemetry tells of ended phases, in order and without holding up the messages. If its listeners cannot keep up for
// more than telemetryBuffer phases, the newest ones are left out and the log says how many.
type telemetry struct {
	k       *kernel.Context
	queue   chan gateway.PhaseDone
	dropped atomic.Int64
}

func newTelemetry(k *kernel.Context) *telemetry {
	return &telemetry{k: k, queue: make(chan gateway.PhaseDone, telemetryBuffer)}
}

func (t *telemetry) tell(p gateway.PhaseDone) {
	select {
	case t.queue <- p:
	default:
		t.dropped.Add(1)
	}
}

// run emits until ctx ends, and then what is left in the queue.
func (t *telemetry) run(ctx context.Context) {
	for {
		select {
		case p := <-t.queue:
			t.emit(ctx, p)
		case <-ctx.Done():
			t.flush(context.WithoutCancel(ctx))
			return
		}
	}
}

func (t *telemetry) flush(ctx context.Context) {
	for {
		select {
		case p := <-t.queue:
			t.emit(ctx, p)
		default:
			return
		}
	}
}

func (t *telemetry) emit(ctx context.Context, p gateway.PhaseDone) {
	gateway.Done.Emit(ctx, t.k, p)
	if n := t.dropped.Swap(0); n > 0 {
		t.k.Logger().Warn("Dropped phase telemetry because its listeners are slow", "count", n)
	}
}
