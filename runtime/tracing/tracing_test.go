// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tracing

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"go.opentelemetry.io/otel/codes"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/encoding/protojson"

	contract "github.com/aalis-dev/aalis-operator/runtime/contract/tracing"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// spans runs some work and gives its spans by name.
func spans(t *testing.T, o Options, work func(p *Provider)) map[string]tracetest.SpanStub {
	t.Helper()
	kept := &keeping{InMemoryExporter: tracetest.NewInMemoryExporter()}
	p := newProvider(kept, o)
	work(p)
	p.Stop(t.Context())
	out := map[string]tracetest.SpanStub{}
	for _, s := range kept.GetSpans() {
		out[s.Name] = s
	}
	return out
}

// keeping keeps what it was given when it is shut down.
type keeping struct{ *tracetest.InMemoryExporter }

func (k *keeping) Shutdown(context.Context) error { return nil }

func TestSpans(t *testing.T) {
	t.Parallel()
	const remote = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	long := strings.Repeat("好", maxText+50)
	id := ""
	got := spans(t, Options{Ratio: 0, Agent: "hello", Namespace: "team-a", Pod: "aalis-hello-0"}, func(p *Provider) {
		ctx, outer := p.Start(contract.WithParent(t.Context(), remote), "outer", slog.String("text", long), slog.Int("n", 3),
			slog.Bool("b", true), slog.Float64("f", 1.5), slog.Duration("d", 1500*time.Millisecond), slog.String("broken", "a\xff"))
		id = contract.TraceID(ctx)
		_, inner := p.Start(ctx, "inner")
		inner.End(fmt.Errorf("canary: %w", context.DeadlineExceeded))
		outer.End(nil)
		_, alone := p.Start(t.Context(), "not kept")
		alone.End(nil)
		_, bad := p.Start(contract.WithParent(t.Context(), "nonsense"), "bad parent")
		bad.End(nil)
	})
	outer, inner := got["outer"], got["inner"]
	if len(got) != 2 || id != "0af7651916cd43dd8448eb211c80319c" || outer.SpanContext.TraceID().String() != id ||
		outer.Parent.SpanID().String() != "b7ad6b7169203331" || inner.Parent.SpanID() != outer.SpanContext.SpanID() {
		t.Fatalf("trace %s: %+v", id, got)
	}
	attrs := map[string]string{}
	for _, a := range outer.Attributes {
		attrs[string(a.Key)] = a.Value.String()
	}
	if n := utf8.RuneCountInString(attrs["text"]); n != maxText || attrs["n"] != "3" || attrs["b"] != "true" || attrs["f"] != "1.5" || attrs["d"] != "1.5" || attrs["broken"] != "a\uFFFD" {
		t.Errorf("attributes %v", attrs)
	}
	if inner.Status.Code != codes.Error || inner.Status.Description != "" || strings.Contains(fmt.Sprint(inner), "canary") {
		t.Errorf("%+v: what an error says is in the span", inner)
	}
	if text := fmt.Sprint(outer.Resource.Attributes()); !strings.Contains(text, "hello") || !strings.Contains(text, "team-a") {
		t.Errorf("resource %s", text)
	}
}

// TestContent: texts of conversations, and whose they are, leave the bot only if somebody asked for it, even if a plugin hands
// them over unasked.
func TestContent(t *testing.T) {
	t.Parallel()
	for _, asked := range []bool{false, true} {
		got := spans(t, Options{Ratio: 1, Content: asked}, func(p *Provider) {
			_, s := p.Start(t.Context(), "call", slog.String(contract.Conversation, "canary-1"))
			for name := range contentNames {
				s.Set(slog.String(name, "canary-2 "+strings.Repeat("x", 2*maxContent)))
			}
			s.End(nil)
		})
		text := fmt.Sprint(got["call"].Attributes)
		if has := strings.Contains(text, "canary"); has != asked || asked && len(text) > len(contentNames)*(maxContent+100) {
			t.Errorf("asked for %t, there %t, %d bytes", asked, has, len(text))
		}
	}
}

// TestCollector: spans reach a real receiver of OTLP over HTTP.
func TestCollector(t *testing.T) {
	var mu sync.Mutex
	var names []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var req collector.ExportTraceServiceRequest
		if err := (protojson.UnmarshalOptions{}).Unmarshal(body, &req); err != nil || r.URL.Path != "/base/v1/traces" {
			t.Errorf("%s: %v", r.URL.Path, err)
		}
		mu.Lock()
		defer mu.Unlock()
		for _, rs := range req.GetResourceSpans() {
			for _, ss := range rs.GetScopeSpans() {
				for _, s := range ss.GetSpans() {
					if s.GetStartTimeUnixNano() == 0 || s.GetEndTimeUnixNano() < s.GetStartTimeUnixNano() || len(s.GetAttributes()) != 4 || s.GetStatus().GetCode() != 2 {
						t.Errorf("span %+v", s)
					}
					names = append(names, s.GetName())
				}
			}
		}
		if strings.Contains(string(body), "canary") || !strings.Contains(string(body), `"intValue":"-5"`) {
			t.Errorf("sent %s", body)
		}
	}))
	defer server.Close()
	defer http.DefaultClient.CloseIdleConnections()
	p, err := New(Options{Endpoint: server.URL + "/base/", Ratio: 1}, slog.New(slog.DiscardHandler), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	_, s := p.Start(t.Context(), "hello", slog.Int("n", -5), slog.Float64("f", 0.5), slog.Bool("b", false))
	s.End(errors.New("canary"))
	p.Stop(t.Context())
	mu.Lock()
	defer mu.Unlock()
	if len(names) != 1 || names[0] != "hello" {
		t.Errorf("received %v", names)
	}
}

// TestCollectorIsAway: work goes on, stopping takes no long time, and the log says it once.
func TestCollectorIsAway(t *testing.T) {
	var log bytes.Buffer
	away := &complaining{SpanExporter: failing{}, log: slog.New(slog.NewTextHandler(&log, nil)), now: time.Now}
	p := newProvider(away, Options{Ratio: 1})
	for i := range 3 * maxQueue {
		_, s := p.Start(t.Context(), fmt.Sprint("span ", i))
		s.End(nil)
	}
	p.Stop(t.Context())
	if n := strings.Count(log.String(), "Dropped spans"); n != 1 {
		t.Errorf("told %d times:\n%s", n, log.String())
	}
}

type failing struct{ keeping }

func (failing) ExportSpans(context.Context, []sdk.ReadOnlySpan) error {
	return errors.New("nobody there")
}
func (failing) Shutdown(context.Context) error { return nil }
