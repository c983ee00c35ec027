// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package llmtest helps to test the plugins that are built on llmhttp: it runs one against a server that plays back what a
// vendor sent, and puts streamed replies together. Only tests import it.
package llmtest

import (
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/aalis-dev/aalis-operator/runtime/contract/llm"
	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
	"github.com/aalis-dev/aalis-operator/runtime/kerneltest"
	"github.com/aalis-dev/aalis-operator/runtime/llmhttp"
	"github.com/aalis-dev/aalis-operator/runtime/netx"
)

// Tools wait for nothing between the tries of a call, and for ever between those of the discovery.
func Tools() llmhttp.Tools {
	return llmhttp.Tools{
		Wait:   func(ctx context.Context, _ time.Duration) error { return ctx.Err() },
		Rest:   func(ctx context.Context, _ time.Duration) error { <-ctx.Done(); return ctx.Err() },
		Jitter: func() float64 { return 0 },
	}
}

// Server plays the part of a vendor: each path has a handler, and bodies are kept. Unknown paths are not found.
type Server struct {
	// Paths by method and path, as in "POST /api/chat".
	Paths map[string]http.HandlerFunc

	mu     sync.Mutex
	bodies map[string][]map[string]any
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	key := q.Method + " " + q.URL.Path
	raw, _ := io.ReadAll(q.Body)
	var body map[string]any
	_ = json.Unmarshal(raw, &body)
	s.mu.Lock()
	if s.bodies == nil {
		s.bodies = map[string][]map[string]any{}
	}
	s.bodies[key] = append(s.bodies[key], body)
	handler := s.Paths[key]
	s.mu.Unlock()
	if handler == nil {
		http.NotFound(w, q)
		return
	}
	handler(w, q)
}

// Bodies gives what was sent to a path so far.
func (s *Server) Bodies(key string) []map[string]any {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]map[string]any(nil), s.bodies[key]...)
}

// Play answers with a text.
func Play(contentType, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		_, _ = io.WriteString(w, body)
	}
}

// Start runs a module against a handler. The address of the server is added to its config.
func Start(tb testing.TB, m kernel.Module, handler http.Handler, cfg map[string]any, opts ...kerneltest.Option) *kerneltest.Harness {
	tb.Helper()
	kerneltest.NoLeaks(tb)
	server := httptest.NewServer(handler)
	tb.Cleanup(server.Close)
	full := map[string]any{"baseUrl": server.URL}
	maps.Copy(full, cfg)
	return kerneltest.New(tb, append([]kerneltest.Option{
		kerneltest.WithSetting(netx.Setting.Key(), netx.Policy{AllowLoopback: true}),
		kerneltest.WithPlugin(m, m.Name+":main", full),
	}, opts...)...)
}

// Model finds a model of a running module.
func Model(tb testing.TB, h *kerneltest.Harness, id string) llm.Model {
	tb.Helper()
	m, ok := llm.Resolve(h.Root(), llm.Ref{ID: id})
	if !ok {
		tb.Fatalf("there is no model %s; log:\n%s", id, h.Logs)
	}
	return m
}

// User is a request that says one thing.
func User(text string) llm.Request {
	return llm.Request{Messages: []message.Message{{Role: message.RoleUser, Content: text}}}
}

// Reply is a streamed reply put together.
type Reply struct {
	llm.Response
	// Chunks are the pieces as they came.
	Chunks []llm.Chunk
}

// Collect asks for a streamed reply.
func Collect(ctx context.Context, m llm.Model, req llm.Request) (Reply, error) {
	var out Reply
	err := m.ChatStream(ctx, req, func(c llm.Chunk) error {
		out.Chunks = append(out.Chunks, c)
		out.Content += c.ContentDelta
		out.ReasoningContent += c.ReasoningDelta
		if c.Usage != nil {
			out.Usage = c.Usage
		}
		if c.Done {
			out.ToolCalls = c.ToolCalls
		}
		return nil
	})
	return out, err
}
