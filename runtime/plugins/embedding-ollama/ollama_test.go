// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package embeddingollama

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/aalis-dev/aalis-operator/runtime/contract/embedding"
	"github.com/aalis-dev/aalis-operator/runtime/kerneltest"
	"github.com/aalis-dev/aalis-operator/runtime/llmhttp/llmtest"
	"github.com/aalis-dev/aalis-operator/runtime/netx"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConformance(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	kerneltest.Run(t, Plugin,
		kerneltest.WithSetting(netx.Setting.Key(), netx.Policy{AllowLoopback: true}),
		kerneltest.WithConfig(map[string]any{"baseUrl": server.URL}))
}

func embedder(t *testing.T, paths map[string]http.HandlerFunc, cfg map[string]any) (embedding.Embedder, *llmtest.Server) {
	t.Helper()
	server := &llmtest.Server{Paths: paths}
	h := llmtest.Start(t, Plugin, server, cfg)
	e, ok := embedding.Service.Get(h.Root())
	if !ok {
		t.Fatalf("there is no service; log:\n%s", h.Logs)
	}
	return e, server
}

func TestEmbed(t *testing.T) {
	e, _ := embedder(t, map[string]http.HandlerFunc{
		"POST /api/embed": llmtest.Play("application/json", `{"model":"nomic-embed-text","embeddings":[[0.5,1]],"total_duration":1,"load_duration":1,"prompt_eval_count":2}`),
		"GET /api/tags":   llmtest.Play("application/json", `{"models":[{"name":"nomic-embed-text:latest"}]}`),
	}, nil)
	got, err := e.Embed(t.Context(), "hello")
	if d := cmp.Diff([]float32{0.5, 1}, got); err != nil || d != "" {
		t.Error(err, d)
	}
	models, err := e.ListModels(t.Context())
	if d := cmp.Diff([]string{"nomic-embed-text:latest"}, models); err != nil || d != "" {
		t.Error(err, d)
	}
}

func TestOldServer(t *testing.T) {
	e, server := embedder(t, map[string]http.HandlerFunc{
		"POST /api/embeddings": llmtest.Play("application/json", `{"embedding":[0.5]}`),
	}, nil)
	for range 3 {
		if got, err := e.Embed(t.Context(), "hello"); err != nil || len(got) != 1 {
			t.Fatal(got, err)
		}
	}
	if n := len(server.Bodies("POST /api/embed")); n > 2 { // ours and the one at start
		t.Errorf("the new API was asked %d times", n)
	}
}

func TestRetries(t *testing.T) {
	var calls atomic.Int32
	e, server := embedder(t, map[string]http.HandlerFunc{"POST /api/embed": func(w http.ResponseWriter, _ *http.Request) {
		if calls.Add(1)%2 == 1 {
			http.Error(w, "x", http.StatusInternalServerError)
			return
		}
		_, _ = w.Write([]byte(`{"embeddings":[[1]]}`))
	}}, map[string]any{"retries": 3})
	if _, err := e.Embed(t.Context(), "hello"); err != nil {
		t.Error(err)
	}
	_ = server
}

func TestMissingModel(t *testing.T) {
	e, server := embedder(t, map[string]http.HandlerFunc{"POST /api/embed": func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, `{"error":"model \"x\" not found, try pulling it first"}`, http.StatusNotFound)
	}}, nil)
	if _, err := e.Embed(t.Context(), "hello"); err == nil || !strings.Contains(err.Error(), "not found") || len(server.Bodies("POST /api/embeddings")) > 0 {
		t.Errorf("error is %v", err)
	}
}
