// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"log/slog"
	"time"

	"github.com/aalis-dev/aalis-operator/runtime/contract/tracing"
	"github.com/aalis-dev/aalis-operator/runtime/host/metrics"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
	"github.com/aalis-dev/aalis-operator/runtime/kernelconfig"
	otel "github.com/aalis-dev/aalis-operator/runtime/tracing"
)

// TracingOptions are what the command line says of tracing.
type TracingOptions = otel.Options

// startTracing makes a tracer, what provides it to a kernel, and what stops it. With tracing off there is none.
func startTracing(ctx context.Context, o TracingOptions, log *slog.Logger, now func() time.Time) (
	tracer tracing.Tracer, attach []func(*kernel.Context), stop func(), err error,
) {
	if !o.On() {
		return nil, nil, func() {}, o.Check()
	}
	p, err := otel.New(o, log, now)
	if err != nil {
		return nil, nil, func() {}, err
	}
	log.Info("Tracing is on", "endpoint", o.Endpoint, "ratio", o.Ratio, "content", o.Content)
	provide := func(k *kernel.Context) { tracing.Service.Provide(k, tracing.Tracer(p)) }
	return p, []func(*kernel.Context){provide}, func() { p.Stop(ctx) }, nil
}

// applyTraced applies a config inside a span, where somebody traces.
func (r *Runner) applyTraced(ctx context.Context, d kernelconfig.Delivery, result metrics.Result, apply func(context.Context) error) error {
	if r.opts.Tracer == nil {
		return apply(ctx)
	}
	ctx, span := r.opts.Tracer.Start(ctx, tracing.SpanConfigApply, slog.String(tracing.Revision, d.Revision), slog.Int64(tracing.Sequence, d.Sequence))
	err := apply(ctx)
	if err != nil {
		result = metrics.Rejected
	}
	span.Set(slog.String(tracing.ApplyResult, string(result)))
	span.End(err)
	return err
}
