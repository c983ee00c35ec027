// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package embeddingopenai

import (
	"net/http"
	"net/http/httptest"
	"strings"
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
		kerneltest.WithConfig(map[string]any{"baseUrl": server.URL, "apiKey": "canary-key"}))
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
	e, server := embedder(t, map[string]http.HandlerFunc{
		"POST /v1/embeddings": llmtest.Play("application/json", `{"object":"list","data":[{"object":"embedding","index":0,"embedding":[0.25,-1]}],"model":"m","usage":{"prompt_tokens":1,"total_tokens":1}}`),
		"GET /v1/models":      llmtest.Play("application/json", `{"data":[{"id":"m"},{"id":"n"}]}`),
	}, map[string]any{"model": "m", "apiKey": "sk-canary"})
	got, err := e.Embed(t.Context(), "hello")
	if d := cmp.Diff([]float32{0.25, -1}, got); err != nil || d != "" || e.Model() != "m" {
		t.Error(err, d, e.Model())
	}
	models, err := e.ListModels(t.Context())
	if d := cmp.Diff([]string{"m", "n"}, models); err != nil || d != "" {
		t.Error(err, d)
	}
	bodies := server.Bodies("POST /v1/embeddings")
	if !cmp.Equal(bodies[len(bodies)-1]["model"], "m") {
		t.Errorf("requests are %v", bodies)
	}
}

func TestFailures(t *testing.T) {
	for answer, want := range map[string]string{`{"data":[]}`: "makes no sense", `{"data":[{"embedding":[]}]}`: "makes no sense", "x": "makes no sense"} {
		t.Run(answer, func(t *testing.T) {
			e, _ := embedder(t, map[string]http.HandlerFunc{"POST /v1/embeddings": llmtest.Play("application/json", answer)}, map[string]any{"apiKey": "sk-canary"})
			if _, err := e.Embed(t.Context(), "hello"); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v", answer, err)
			}
		})
	}
}

func TestKeyIsNotShown(t *testing.T) {
	e, _ := embedder(t, map[string]http.HandlerFunc{"POST /v1/embeddings": func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "bad sk-canary", http.StatusUnauthorized)
	}}, map[string]any{"apiKey": "sk-canary"})
	if _, err := e.Embed(t.Context(), "hello"); err == nil || strings.Contains(err.Error(), "sk-canary") || !strings.Contains(err.Error(), "401") {
		t.Errorf("error is %v", err)
	}
}
