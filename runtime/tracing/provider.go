// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tracing

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	contract "github.com/aalis-dev/aalis-operator/runtime/contract/tracing"
)

const (
	// maxQueue, maxBatch and flushEvery bound what waits for the collector; what is more is dropped.
	maxQueue   = 1024
	maxBatch   = 128
	flushEvery = 2 * time.Second
	// exportTimeout bounds one request to the collector, and stopTimeout the last one.
	exportTimeout = 10 * time.Second
	stopTimeout   = 3 * time.Second
	// maxAttributes of a span, and maxText of a text in it, in characters; maxContent of a text of a conversation.
	maxAttributes = 48
	maxText       = 256
	maxContent    = 16_384
	// complainEvery is how often a collector that is away is told of.
	complainEvery = 5 * time.Minute
)

// Provider makes spans and sends them. It is stopped once.
type Provider struct {
	provider *sdk.TracerProvider
	tracer   trace.Tracer
	content  bool
}

// New makes a Provider. It connects to nothing yet: a collector that is away is no error.
func New(o Options, log *slog.Logger, now func() time.Time) (*Provider, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	return newProvider(&complaining{SpanExporter: newExporter(o.Address()), log: log, now: now}, o), nil
}

func newProvider(exporter sdk.SpanExporter, o Options) *Provider {
	limits := sdk.NewSpanLimits()
	limits.AttributeCountLimit = maxAttributes
	p := sdk.NewTracerProvider(
		sdk.WithBatcher(exporter, sdk.WithMaxQueueSize(maxQueue), sdk.WithMaxExportBatchSize(maxBatch), sdk.WithBatchTimeout(flushEvery),
			sdk.WithExportTimeout(exportTimeout)),
		sdk.WithSampler(sdk.ParentBased(sdk.TraceIDRatioBased(o.Ratio))),
		sdk.WithRawSpanLimits(limits),
		sdk.WithResource(resource.NewSchemaless(
			attribute.String("service.name", "aalis"), attribute.String("service.version", o.Version),
			attribute.String("service.instance.id", o.Pod), attribute.String("k8s.namespace.name", o.Namespace),
			attribute.String("k8s.pod.name", o.Pod), attribute.String(contract.AgentName, o.Agent),
		)),
	)
	return &Provider{provider: p, tracer: p.Tracer("github.com/aalis-dev/aalis-operator"), content: o.Content}
}

// Stop sends what waits, for a short while, and ends the work in the background.
func (p *Provider) Stop(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
	defer cancel()
	_ = p.provider.Shutdown(ctx) // what the collector did not take is lost, as it would be without a stop
}

// Content implements contract.Tracer.
func (p *Provider) Content() bool { return p.content }

// Start implements contract.Tracer.
func (p *Provider) Start(ctx context.Context, name string, attrs ...slog.Attr) (context.Context, contract.Span) {
	if parent := contract.Parent(ctx); parent != "" && !trace.SpanContextFromContext(ctx).IsValid() {
		ctx = propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{"traceparent": parent})
	}
	ctx, s := p.tracer.Start(ctx, cut(name, maxText), trace.WithAttributes(p.attributes(attrs)...))
	if sc := s.SpanContext(); sc.IsSampled() && contract.TraceID(ctx) != sc.TraceID().String() {
		ctx = contract.WithTrace(ctx, sc.TraceID().String())
	}
	return ctx, &span{p, s}
}

// contentNames are the attributes that hold texts of conversations, or say whose they are.
var contentNames = map[string]bool{
	contract.InputMessages: true, contract.OutputMessages: true, contract.ToolArguments: true, contract.ToolResult: true,
	contract.Conversation: true,
}

// attributes leaves content out unless it was asked for: that a plugin forgets to look is no reason to let it out.
func (p *Provider) attributes(attrs []slog.Attr) []attribute.KeyValue {
	out := make([]attribute.KeyValue, 0, len(attrs))
	for _, a := range attrs {
		limit := maxText
		if contentNames[a.Key] {
			if limit = maxContent; !p.content {
				continue
			}
		}
		switch v := a.Value.Resolve(); v.Kind() {
		case slog.KindInt64:
			out = append(out, attribute.Int64(a.Key, v.Int64()))
		case slog.KindFloat64:
			out = append(out, attribute.Float64(a.Key, v.Float64()))
		case slog.KindBool:
			out = append(out, attribute.Bool(a.Key, v.Bool()))
		case slog.KindDuration:
			out = append(out, attribute.Float64(a.Key, v.Duration().Seconds()))
		default:
			out = append(out, attribute.String(a.Key, cut(v.String(), limit)))
		}
	}
	return out
}

// span implements contract.Span.
type span struct {
	p *Provider
	s trace.Span
}

// Set implements contract.Span.
func (s *span) Set(attrs ...slog.Attr) {
	if s.s.IsRecording() {
		s.s.SetAttributes(s.p.attributes(attrs)...)
	}
}

// End implements contract.Span. What an error says may hold texts of people, so that only its kind is kept.
func (s *span) End(err error) {
	if err != nil {
		s.s.SetStatus(codes.Error, "")
		s.s.SetAttributes(attribute.String(contract.ErrorType, kindOf(err)))
	}
	s.s.End()
}

// cut repairs and shortens a text to a number of characters, never inside one.
func cut(s string, limit int) string {
	if len(s) > limit {
		n := 0
		for i := range s {
			if n++; n > limit {
				s = s[:i]
				break
			}
		}
	}
	if !utf8.ValidString(s) {
		return string([]rune(s))
	}
	return s
}

// complaining tells of a collector that cannot be reached, not more often than somebody reads.
type complaining struct {
	sdk.SpanExporter

	log  *slog.Logger
	now  func() time.Time
	last atomic.Int64 // in seconds since the epoch
}

// ExportSpans implements sdk.SpanExporter. It hides the error, which the SDK would print by itself.
func (c *complaining) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	err := c.SpanExporter.ExportSpans(ctx, spans)
	if err == nil {
		return nil
	}
	now := c.now()
	if last := c.last.Load(); now.Unix()-last >= int64(complainEvery/time.Second) && c.last.CompareAndSwap(last, now.Unix()) {
		c.log.Warn("Dropped spans that the collector did not take", "count", len(spans), "error", err)
	}
	return nil
}

var (
	_ contract.Tracer = (*Provider)(nil)
	_ contract.Span   = (*span)(nil)
)
