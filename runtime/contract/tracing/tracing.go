// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package tracing is the contract between plugins, which say what they do and for how long, and the host, which hands that on to
// OpenTelemetry where it is switched on. Plugins know nothing of OpenTelemetry. Where nobody traces, a span costs one look at
// the registry and nothing else.
package tracing

import (
	"context"
	"log/slog"

	"github.com/aalis-dev/aalis-operator/runtime/kernel"
)

// Service is the key of the service tracing. The host provides it where tracing is on.
var Service = kernel.NewService[Tracer]("tracing")

// Tracer makes spans. Its methods may be called concurrently.
type Tracer interface {
	// Start begins a span below that of the context, or below what WithParent put there, and gives a context that holds it. Whoever
	// begins a span ends it.
	Start(ctx context.Context, name string, attrs ...slog.Attr) (context.Context, Span)
	// Content tells whether texts of conversations may be attributes, as somebody has asked for.
	Content() bool
}

// Span is a piece of work. Its methods may not be called after End, and not concurrently.
type Span interface {
	// Set adds attributes. Values are texts, whole numbers, numbers, truth values and durations; texts are cut.
	Set(attrs ...slog.Attr)
	// End ends the span; with an error it has failed.
	End(err error)
}

// Of gives the tracer; false where nobody traces.
func Of(k *kernel.Context) (Tracer, bool) { return Service.Get(k) }

type contextKey int

const (
	parentKey contextKey = iota
	sampledKey
)

// WithParent has the next span of a context be a child of one that another process has begun, as the header traceparent of the
// W3C tells. What is no such header is ignored by the tracer.
func WithParent(ctx context.Context, traceparent string) context.Context {
	if traceparent == "" {
		return ctx
	}
	return context.WithValue(ctx, parentKey, traceparent)
}

// Parent is what WithParent put into a context.
func Parent(ctx context.Context) string {
	s, _ := ctx.Value(parentKey).(string)
	return s
}

// WithTrace notes the id of the trace that a context is in and that is kept. Tracers call it.
func WithTrace(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, sampledKey, id)
}

// TraceID is the id of the trace that a context is in, if that is kept; otherwise it is empty.
func TraceID(ctx context.Context) string {
	s, _ := ctx.Value(sampledKey).(string)
	return s
}
