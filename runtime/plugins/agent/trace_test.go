// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aalis-dev/aalis-operator/runtime/contract/llm"
	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
	"github.com/aalis-dev/aalis-operator/runtime/contract/tracing"
	"github.com/aalis-dev/aalis-operator/runtime/kerneltest"
)

// recorder is a tracer that writes spans down as they end, below each other.
type recorder struct {
	content bool

	mu    sync.Mutex
	ended []string
	attrs map[string][]slog.Attr
}

type path struct{}

type writtenSpan struct {
	r    *recorder
	path string
}

func (r *recorder) Content() bool { return r.content }

func (r *recorder) Start(ctx context.Context, name string, attrs ...slog.Attr) (context.Context, tracing.Span) {
	above, _ := ctx.Value(path{}).(string)
	s := &writtenSpan{r, strings.TrimPrefix(above+" > "+name, " > ")}
	s.Set(attrs...)
	return context.WithValue(ctx, path{}, s.path), s
}

func (s *writtenSpan) Set(attrs ...slog.Attr) {
	s.r.mu.Lock()
	defer s.r.mu.Unlock()
	if s.r.attrs == nil {
		s.r.attrs = map[string][]slog.Attr{}
	}
	s.r.attrs[s.path] = append(s.r.attrs[s.path], attrs...)
}

func (s *writtenSpan) End(err error) {
	s.r.mu.Lock()
	defer s.r.mu.Unlock()
	what := s.path
	if err != nil {
		what += " failed"
	}
	s.r.ended = append(s.r.ended, what)
}

func (r *recorder) has(span, attr string) bool {
	return slices.ContainsFunc(r.attrs[span], func(a slog.Attr) bool { return a.String() == attr })
}

func withTracer(r *recorder) kerneltest.Option {
	return kerneltest.WithService[tracing.Tracer](tracing.Service, r)
}

// TestSpanTree: a turn holds its calls and its tools, in their order, with what each took.
func TestSpanTree(t *testing.T) {
	r := &recorder{}
	model := scripted(llm.Chunk{ToolCalls: []message.ToolCall{naming("1", "f", `{"secret":"canary"}`)}, Usage: &llm.Usage{PromptTokens: 50, CompletionTokens: 5}},
		llm.Chunk{ContentDelta: "canary", Usage: &llm.Usage{PromptTokens: 60, CompletionTokens: 6}})
	b := newBot(t, model, withTracer(r), withTools(echoTool))
	b.handle(hello())
	root := "invoke_agent " + b.Root().AppName()
	want := []string{root + " > chat gpt", root + " > execute_tool f", root + " > chat gpt", root}
	if diff := cmp.Diff(want, r.ended); diff != "" {
		t.Fatal(diff)
	}
	for span, attrs := range map[string][]string{
		root:                       {"gen_ai.operation.name=invoke_agent", "aalis.platform=test", "aalis.turn.outcome=replied"},
		root + " > chat gpt":       {"gen_ai.provider.name=llm:main", "gen_ai.request.model=gpt", "gen_ai.usage.input_tokens=50", "gen_ai.usage.output_tokens=6", "aalis.call.purpose=turn"},
		root + " > execute_tool f": {"gen_ai.tool.name=f"},
	} {
		for _, attr := range attrs {
			if !r.has(span, attr) {
				t.Errorf("%s lacks %s: %v", span, attr, r.attrs[span])
			}
		}
	}
	if text := fmt.Sprint(r.attrs); strings.Contains(text, "canary") {
		t.Errorf("texts of the conversation are in the spans: %s", text)
	}
}

func TestSpanContent(t *testing.T) {
	r := &recorder{content: true}
	b := newBot(t, scripted(llm.Chunk{ToolCalls: []message.ToolCall{naming("1", "f", `{"q":"asked"}`)}}, text("answered")), withTracer(r), withTools(echoTool))
	b.handle(hello())
	for _, want := range []string{"hello", "asked", "answered"} {
		if text := fmt.Sprint(r.attrs); !strings.Contains(text, want) {
			t.Errorf("%q is missing in %s", want, text)
		}
	}
}

func TestSpansOfFailures(t *testing.T) {
	r := &recorder{}
	b := newBot(t, newModel(func(context.Context, llm.Request, func(llm.Chunk) error) error {
		return &llm.Error{Cause: llm.Unavailable, Text: "away", BeforeFirstByte: true}
	}), withTracer(r))
	b.handle(hello())
	root := "invoke_agent " + b.Root().AppName()
	if diff := cmp.Diff([]string{root + " > chat gpt failed", root + " failed"}, r.ended); diff != "" {
		t.Error(diff)
	}
}
