// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tracing

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// exporter sends spans in the JSON form of OTLP over HTTP, which every collector reads. OpenTelemetry's own exporter brings gRPC and
// the whole of protobuf along, and would make each bot a third larger for a few fields.
type exporter struct {
	url    string
	client *http.Client
}

func newExporter(url string) *exporter {
	return &exporter{url: url, client: &http.Client{Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, MaxIdleConnsPerHost: 1}, Timeout: exportTimeout}}
}

// maxAnswer bounds what is read of a collector's answer.
const maxAnswer = 64 << 10

// ExportSpans implements sdk.SpanExporter.
func (e *exporter) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	if len(spans) == 0 {
		return nil
	}
	body, err := json.Marshal(encode(spans))
	if err != nil {
		return fmt.Errorf("encoding spans: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.url, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("sending spans: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := e.client.Do(req)
	if err != nil {
		return fmt.Errorf("sending spans: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, maxAnswer)) // so that the connection can be used again
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("sending spans: the collector answers %s", resp.Status)
	}
	return nil
}

// Shutdown implements sdk.SpanExporter.
func (e *exporter) Shutdown(context.Context) error {
	e.client.CloseIdleConnections()
	return nil
}

// The parts of an ExportTraceServiceRequest that are used, as OTLP writes them in JSON: ids in hexadecimal, large numbers as
// texts.
type (
	request struct {
		ResourceSpans []resourceSpans `json:"resourceSpans"`
	}
	resourceSpans struct {
		Resource struct {
			Attributes []keyValue `json:"attributes"`
		} `json:"resource"`
		ScopeSpans []scopeSpans `json:"scopeSpans"`
	}
	scopeSpans struct {
		Scope struct {
			Name string `json:"name"`
		} `json:"scope"`
		Spans []oneSpan `json:"spans"`
	}
	oneSpan struct {
		TraceID      string     `json:"traceId"`
		SpanID       string     `json:"spanId"`
		ParentSpanID string     `json:"parentSpanId,omitempty"`
		Name         string     `json:"name"`
		Kind         int        `json:"kind"`
		Start        string     `json:"startTimeUnixNano"`
		End          string     `json:"endTimeUnixNano"`
		Attributes   []keyValue `json:"attributes,omitempty"`
		Dropped      int        `json:"droppedAttributesCount,omitempty"`
		Status       *status    `json:"status,omitempty"`
	}
	status struct {
		Code int `json:"code"`
	}
	keyValue struct {
		Key   string `json:"key"`
		Value value  `json:"value"`
	}
	value struct {
		String *string  `json:"stringValue,omitempty"`
		Int    *string  `json:"intValue,omitempty"`
		Double *float64 `json:"doubleValue,omitempty"`
		Bool   *bool    `json:"boolValue,omitempty"`
	}
)

// statusError is STATUS_CODE_ERROR.
const statusError = 2

// encode puts spans of one resource and one scope, as those of a bot are, into a request.
func encode(spans []sdk.ReadOnlySpan) request {
	var of resourceSpans
	of.Resource.Attributes = attributesOf(spans[0].Resource().Attributes())
	var in scopeSpans
	in.Scope.Name = spans[0].InstrumentationScope().Name
	for _, s := range spans {
		out := oneSpan{
			TraceID: s.SpanContext().TraceID().String(), SpanID: s.SpanContext().SpanID().String(), Name: s.Name(), Kind: kindNumber(s.SpanKind()),
			Start: strconv.FormatInt(s.StartTime().UnixNano(), 10), End: strconv.FormatInt(s.EndTime().UnixNano(), 10),
			Attributes: attributesOf(s.Attributes()), Dropped: s.DroppedAttributes(),
		}
		if parent := s.Parent().SpanID(); parent.IsValid() {
			out.ParentSpanID = parent.String()
		}
		if s.Status().Code == codes.Error {
			out.Status = &status{Code: statusError}
		}
		in.Spans = append(in.Spans, out)
	}
	of.ScopeSpans = []scopeSpans{in}
	return request{ResourceSpans: []resourceSpans{of}}
}

// kindNumber is the number of a kind in OTLP; internal unless it is said.
func kindNumber(k trace.SpanKind) int {
	if k == trace.SpanKindUnspecified {
		k = trace.SpanKindInternal
	}
	return int(k)
}

func attributesOf(list []attribute.KeyValue) []keyValue {
	out := make([]keyValue, 0, len(list))
	for _, a := range list {
		kv := keyValue{Key: string(a.Key)}
		switch a.Value.Type() {
		case attribute.INT64:
			n := strconv.FormatInt(a.Value.AsInt64(), 10)
			kv.Value.Int = &n
		case attribute.FLOAT64:
			f := a.Value.AsFloat64()
			kv.Value.Double = &f
		case attribute.BOOL:
			b := a.Value.AsBool()
			kv.Value.Bool = &b
		default:
			s := a.Value.String()
			kv.Value.String = &s
		}
		out = append(out, kv)
	}
	return out
}

var _ sdk.SpanExporter = (*exporter)(nil)
