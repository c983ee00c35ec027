// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package llmopenai

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aalis-dev/aalis-operator/hack/fakellm/fakellm"
	"github.com/aalis-dev/aalis-operator/runtime/contract/llm"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
	"github.com/aalis-dev/aalis-operator/runtime/kerneltest"
	"github.com/aalis-dev/aalis-operator/runtime/netx"
	"github.com/aalis-dev/aalis-operator/runtime/recompute"
)

func TestConformance(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	kerneltest.Run(t, Plugin,
		kerneltest.WithSetting(netx.Setting.Key(), netx.Policy{AllowLoopback: true}),
		kerneltest.WithConfig(map[string]any{"baseUrl": server.URL, "apiKey": testKey}))
}

func TestBadConfig(t *testing.T) {
	tests := []struct {
		name string
		cfg  map[string]any
		want string
	}{
		{"official server without a key", nil, "config.apiKey: must be given from a Secret"},
		{"key with a line break", map[string]any{"apiKey": "sk-abc\ndef"}, "config.apiKey: may hold only visible ASCII"},
		{"no scheme", map[string]any{"baseUrl": "llm.example"}, "config.baseUrl: must begin with http:// or https://"},
		{"credentials", map[string]any{"baseUrl": "https://me:s3cr3t@llm.example"}, "config.baseUrl: may not hold a user name"},
		{"loopback", map[string]any{"baseUrl": "http://127.0.0.1:1234"}, "config.baseUrl: may not point to 127.0.0.1"},
		{"metadata", map[string]any{"baseUrl": "http://169.254.169.254"}, "config.baseUrl: may not point to 169.254.169.254"},
		{"models", map[string]any{"baseUrl": "http://llm.example", "customModels": "a\nb c"}, "config.customModels: line 2"},
		{
			"capabilities", map[string]any{"baseUrl": "http://llm.example", "modelCapabilities": "m: flying"},
			"config.modelCapabilities: line 1: a capability must be one of",
		},
		{
			"all models", map[string]any{"baseUrl": "http://llm.example", "providerCapabilities": "swim"},
			"config.providerCapabilities: a capability must be one of",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			kerneltest.NoLeaks(t)
			h := kerneltest.New(t, kerneltest.WithPlugin(Plugin, instance, tt.cfg))
			h.WantState(instance, recompute.Error)
			if got := h.Plugin(instance).Error; !strings.Contains(got, tt.want) || strings.Contains(got, "s3cr3t") {
				t.Errorf("error is %q, want it to contain %q and no password", got, tt.want)
			}
		})
	}
}

func TestModelsOfTheConfigAreThereAtOnce(t *testing.T) {
	r := serve(t, http.NotFoundHandler(), map[string]any{"customModels": "b, a\n# no\n\nvendor/c:7b"})
	if d := cmp.Diff([]string{"b", "a", "vendor/c:7b"}, r.entries()); d != "" {
		t.Error(d)
	}
	r.WantState(instance, recompute.Active)
	info := r.model("vendor/c:7b").Info()
	want := llm.Info{
		ID: "vendor/c:7b", Provider: instance, ContextLength: 128000, MaxOutputTokens: 4096,
		Capabilities: []llm.Capability{llm.CapChat, llm.CapStreaming},
	}
	if d := cmp.Diff(want, info); d != "" {
		t.Error(d)
	}
}

func TestDiscoveryFindsChatModels(t *testing.T) {
	r := start(t, nil)
	if d := cmp.Diff(fakellm.DefaultModels(), r.entries()); d != "" {
		t.Error(d)
	}
	e := llm.Service.Entries(r.Root())[0]
	if want := "OpenAI (" + strings.TrimPrefix(r.url, "http://") + ") / gpt-4o-mini"; e.Label != want {
		t.Errorf("label is %q, want %q", e.Label, want)
	}
}

func TestBothFormsOfTheBaseURL(t *testing.T) {
	for _, suffix := range []string{"", "/", "/v1", "/v1/"} {
		t.Run(suffix, func(t *testing.T) {
			kerneltest.NoLeaks(t)
			server := httptest.NewServer(fakellm.New(fakellm.Options{}))
			t.Cleanup(server.Close)
			h := kerneltest.New(t,
				kerneltest.WithSetting(netx.Setting.Key(), netx.Policy{AllowLoopback: true}),
				kerneltest.WithPlugin(Plugin, instance, map[string]any{"baseUrl": server.URL + suffix}))
			m, ok := llm.Resolve(h.Root(), llm.Ref{ID: "gpt-4o"})
			if !ok {
				t.Fatalf("no model; log:\n%s", h.Logs)
			}
			out, err := m.Chat(t.Context(), user("hi"))
			if err != nil || out.Content != "You said: hi" {
				t.Errorf("got %q, %v", out.Content, err)
			}
		})
	}
}

func TestReconfigure(t *testing.T) {
	r := start(t, map[string]any{"customModels": "mine"})
	eventually(t, "the discovered models", func() bool { return len(r.entries()) == 4 })
	held := r.model("mine")
	change := func(key string, value any) kernel.ApplyReport {
		return r.Apply(func(cfg *kernel.Config) {
			p := cfg.Plugins[instance].Clone()
			p.Config[key] = value
			cfg.Plugins[instance] = p
		})
	}
	for key, value := range map[string]any{
		"temperature": 0.25, "maxTokens": 77, "timeout": 60, "contextLength": 9000, "customModels": "mine, other",
		"modelCapabilities": "mine: chat, vision", "providerCapabilities": "thinking",
	} {
		if report := change(key, value); !slices.Equal(report.Reconfigured, []string{instance}) || len(report.Bounced) > 0 {
			t.Errorf("%s: report is %+v, want the change in place", key, report)
		}
	}
	want := llm.Info{
		ID: "mine", Provider: instance, ContextLength: 9000, MaxOutputTokens: 77,
		Capabilities: []llm.Capability{llm.CapChat, llm.CapVision, llm.CapThinking},
	}
	if d := cmp.Diff(want, held.Info()); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"mine", "gpt-4o-mini", "gpt-4o", "fake-1", "other"}, r.entries()); d != "" {
		t.Error(d)
	}
	if _, err := r.model("gpt-4o").Chat(t.Context(), user("hi")); err != nil {
		t.Fatal(err)
	}
	if body := r.lastBody(); body["temperature"] != 0.25 || body["max_tokens"] != 77.0 {
		t.Errorf("request is %v", body)
	}
	if report := change("customModels", ""); len(report.Bounced) > 0 || slices.Contains(r.entries(), "mine") {
		t.Errorf("report %+v, entries %v: want the model gone in place", report, r.entries())
	}
	if report := change("apiKey", "another-key"); !slices.Equal(report.Bounced, []string{instance}) {
		t.Errorf("report is %+v, want a bounce for the key", report)
	}
	if report := change("baseUrl", r.url+"/v1"); !slices.Equal(report.Bounced, []string{instance}) {
		t.Errorf("report is %+v, want a bounce for the address", report)
	}
}

func TestBadReconfigureIsTold(t *testing.T) {
	r := start(t, map[string]any{"customModels": "mine"})
	r.Apply(func(cfg *kernel.Config) {
		p := cfg.Plugins[instance].Clone()
		p.Config["customModels"] = "not a model"
		cfg.Plugins[instance] = p
	})
	r.WantState(instance, recompute.Error)
	if got := r.Plugin(instance).Error; !strings.Contains(got, "config.customModels: line 1") {
		t.Errorf("error is %q", got)
	}
}

func TestDrainWaitsForCalls(t *testing.T) {
	release, arrived := make(chan struct{}), make(chan struct{})
	r := serve(t, http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if strings.HasSuffix(q.URL.Path, "/models") {
			http.NotFound(w, q)
			return
		}
		close(arrived)
		<-release
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"choices":[{"message":{"role":"assistant","content":"late"}}]}`))
	}), map[string]any{"customModels": "m"})
	m := r.model("m")
	type result struct {
		text string
		err  error
	}
	results := make(chan result, 1)
	go func() {
		out, err := m.Chat(context.Background(), user("hi"))
		results <- result{out.Content, err}
	}()
	<-arrived
	bounced := make(chan struct{})
	go func() {
		defer close(bounced)
		r.Apply(func(cfg *kernel.Config) {
			p := cfg.Plugins[instance].Clone()
			p.Config["apiKey"] = "another-key"
			cfg.Plugins[instance] = p
		})
	}()
	select {
	case <-bounced:
		t.Error("the bounce did not wait for the call")
	case got := <-results:
		t.Errorf("the call ended early: %+v", got)
	default:
	}
	close(release)
	if got := <-results; got.err != nil || got.text != "late" {
		t.Errorf("got %+v, want the reply", got)
	}
	<-bounced
}
