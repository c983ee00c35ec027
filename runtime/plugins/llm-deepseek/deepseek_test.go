// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package llmdeepseek

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/aalis-dev/aalis-operator/hack/fakellm/fakellm"
	"github.com/aalis-dev/aalis-operator/runtime/contract/llm"
	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
	"github.com/aalis-dev/aalis-operator/runtime/kerneltest"
	"github.com/aalis-dev/aalis-operator/runtime/llmhttp/llmtest"
	"github.com/aalis-dev/aalis-operator/runtime/netx"
	"github.com/aalis-dev/aalis-operator/runtime/recompute"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	chatPath = "POST /v1/chat/completions"
	testKey  = "sk-canary-77"
)

func TestConformance(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	kerneltest.Run(t, Plugin,
		kerneltest.WithSetting(netx.Setting.Key(), netx.Policy{AllowLoopback: true}),
		kerneltest.WithConfig(map[string]any{"baseUrl": server.URL, "apiKey": testKey}))
}

func TestKeyIsRequired(t *testing.T) {
	h := kerneltest.New(t, kerneltest.WithPlugin(Plugin, ModuleName+":main", nil))
	h.WantState(ModuleName+":main", recompute.Error)
	if got := h.Plugin(ModuleName + ":main").Error; !strings.Contains(got, "config.apiKey: must be given from a Secret") {
		t.Errorf("error is %q", got)
	}
}

// start runs the plugin against a server that plays an answer.
func start(t *testing.T, contentType, answer string, cfg map[string]any) (*kerneltest.Harness, *llmtest.Server) {
	t.Helper()
	server := &llmtest.Server{Paths: map[string]http.HandlerFunc{
		chatPath:      llmtest.Play(contentType, answer),
		"GET /models": llmtest.Play("application/json", `{"object":"list","data":[{"id":"deepseek-v4-pro","object":"model","owned_by":"deepseek"},{"id":"deepseek-chat","object":"model","owned_by":"deepseek"}]}`),
	}}
	return llmtest.Start(t, module(), server, withKey(cfg)), server
}

func withKey(cfg map[string]any) map[string]any {
	out := map[string]any{"apiKey": testKey}
	for k, v := range cfg {
		out[k] = v
	}
	return out
}

func module() kernel.Module {
	m := Plugin
	m.Apply = func(k *kernel.Context, cfg map[string]any) error {
		c, err := kernel.Decode(Default(), cfg)
		if err != nil {
			return err
		}
		return applyWith(k, c, llmtest.Tools())
	}
	return m
}

func fixture(t *testing.T, name string) string {
	t.Helper()
	raw, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// Case 8.7.1: cached tokens; an explicit 0 stays 0, and usage on a frame without choices counts.
func TestCase871RecordedStream(t *testing.T) {
	h, _ := start(t, "text/event-stream", fixture(t, "stream.txt"), nil)
	got, err := llmtest.Collect(t.Context(), llmtest.Model(t, h, "deepseek-v4-pro"), llmtest.User("9.11 and 9.8?"))
	want := llm.Response{
		Content: "9.8 is greater.", ReasoningContent: "Compare them.",
		Usage: &llm.Usage{PromptTokens: 17, CompletionTokens: 21, TotalTokens: 38, CachedPromptTokens: new(0), ReasoningTokens: new(9)},
	}
	if d := cmp.Diff(want, got.Response); err != nil || d != "" {
		t.Error(err, d)
	}
}

// Case 8.7.1: the hit field of a whole reply.
func TestCase871RecordedReply(t *testing.T) {
	h, _ := start(t, "application/json", fixture(t, "whole.txt"), nil)
	got, err := llmtest.Model(t, h, "deepseek-v4-pro").Chat(t.Context(), llmtest.User("weather?"))
	want := llm.Response{
		ReasoningContent: "I need the weather.",
		ToolCalls:        []message.ToolCall{{ID: "call_0_a1", Type: "function", Function: message.FunctionCall{Name: "weather", Arguments: `{"city": "Berlin"}`}}},
		Usage:            &llm.Usage{PromptTokens: 340, CompletionTokens: 52, TotalTokens: 392, CachedPromptTokens: new(320)},
	}
	if d := cmp.Diff(want, got); err != nil || d != "" {
		t.Error(err, d)
	}
}

func TestRequests(t *testing.T) {
	h, server := start(t, "application/json", fixture(t, "whole.txt"), map[string]any{
		"strictToolCalls": true, "forceJsonOutput": true, "reasoningEffort": "max", "maxTokens": 99,
	})
	tool := []message.ToolDefinition{{Type: "function", Function: message.ToolFunction{Name: "f"}}}
	with := func(change func(*llm.Request)) llm.Request {
		r := llmtest.User("hi")
		r.Messages = append(r.Messages, message.Message{Role: message.RoleAssistant, Content: "a", ReasoningContent: "why"},
			message.Message{Role: message.RoleUser, Content: "b", Images: []string{"https://x.example/y.png"}})
		change(&r)
		return r
	}
	tests := []struct {
		name, model string
		req         llm.Request
		want        map[string]any // nil values must be absent
	}{
		{"thinks by itself", "deepseek-v4-pro", with(func(*llm.Request) {}), map[string]any{
			"thinking": map[string]any{"type": "enabled"}, "reasoning_effort": "max", "temperature": nil, "max_tokens": 99.0,
			"response_format": map[string]any{"type": "json_object"},
		}},
		{"told not to", "deepseek-v4-pro", with(func(r *llm.Request) { r.Think = new(false); r.Temperature = new(1.5); r.Tools = tool }), map[string]any{
			"thinking": map[string]any{"type": "disabled"}, "reasoning_effort": nil, "temperature": 1.5, "response_format": nil,
		}},
		{"cannot think", "deepseek-chat", with(func(r *llm.Request) { r.MaxTokens = 3 }), map[string]any{
			"thinking": map[string]any{"type": "disabled"}, "max_tokens": 3.0,
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := llmtest.Model(t, h, tt.model).Chat(t.Context(), tt.req); err != nil {
				t.Fatal(err)
			}
			bodies := server.Bodies(chatPath)
			body := bodies[len(bodies)-1]
			for key, want := range tt.want {
				if d := cmp.Diff(want, body[key]); d != "" {
					t.Errorf("%s: %s", key, d)
				}
			}
			if d := cmp.Diff([]any{
				map[string]any{"role": "user", "content": "hi"},
				map[string]any{"role": "assistant", "content": "a", "reasoning_content": "why"},
				map[string]any{"role": "user", "content": "b"},
			}, body["messages"]); d != "" {
				t.Error(d)
			}
			if tools, ok := body["tools"].([]any); ok {
				if f := tools[0].(map[string]any)["function"].(map[string]any); f["strict"] != true {
					t.Errorf("tool is %v", f)
				}
			}
		})
	}
}

// Case 8.7.2: where system messages go.
func TestCase872SystemPlacement(t *testing.T) {
	sys := func(text string) message.Message { return message.Message{Role: message.RoleSystem, Content: text} }
	usr := func(text string) message.Message { return message.Message{Role: message.RoleUser, Content: text} }
	delegated := message.Message{Role: message.RoleSystem, Content: "d", Metadata: map[string]any{message.MetaInjector: injectorDelegation}}
	kept := message.Message{Role: message.RoleSystem, Content: "x", Name: "n", Timestamp: 3}
	tests := []struct {
		name     string
		in, want []message.Message
	}{
		{"leading kept, later in place", []message.Message{sys("a"), usr("u"), sys("b"), usr("v")}, []message.Message{sys("a"), usr("u"), usr("[系统提示]\nb"), usr("v")}},
		{"bracketed", []message.Message{usr("u"), sys("[记忆] b")}, []message.Message{usr("u"), usr("[记忆] b")}},
		{"delegation", []message.Message{usr("u"), delegated}, []message.Message{usr("u"), delegated}},
		{"blank", []message.Message{usr("u"), sys(" \n")}, []message.Message{usr("u"), sys(" \n")}},
		{"begins with the user", []message.Message{usr("u"), sys("a"), sys("b")}, []message.Message{usr("u"), usr("[系统提示]\na"), usr("[系统提示]\nb")}},
		{"all system", []message.Message{sys("a"), sys("b")}, []message.Message{sys("a"), sys("b")}},
		{"other fields", []message.Message{usr("u"), kept}, []message.Message{usr("u"), {Role: message.RoleUser, Content: "[系统提示]\nx", Name: "n", Timestamp: 3}}},
		{"nothing", nil, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			before := append([]message.Message(nil), tt.in...)
			got := placeSystem(tt.in)
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Error(d)
			}
			if d := cmp.Diff(got, placeSystem(got)); d != "" {
				t.Errorf("not idempotent: %s", d)
			}
			if d := cmp.Diff(before, tt.in); d != "" {
				t.Errorf("the input changed: %s", d)
			}
		})
	}
	raw, err := json.Marshal(buildRequest("deepseek-chat", llm.Request{Messages: tests[0].in}, settingsOf(t)))
	if err != nil || !strings.Contains(string(raw), `{"role":"user","content":"[系统提示]\nb"}`) {
		t.Errorf("request is %s, %v", raw, err)
	}
}

func settingsOf(t *testing.T) *settings {
	t.Helper()
	set, err := Default().settings()
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func TestGuess(t *testing.T) {
	for id, want := range map[string]int{
		"deepseek-v4-flash": 4, "deepseek-v4-pro": 4, "deepseek-reasoner": 4, "deepseek-v9": 4, "x-PRO": 4, "deepseek-chat": 3,
		"deepseek-v3": 1, "other": 1, "x-protein": 1,
	} {
		if got := guess(id); len(got) != want {
			t.Errorf("%s: got %v", id, got)
		}
	}
}

// TestFaults runs into each fault of the fake server.
func TestFaults(t *testing.T) {
	for _, tt := range []struct {
		fault fakellm.Fault
		cause llm.Cause // none: it ends well
		first bool
	}{
		{fakellm.Fault{Kind: "429", Count: 1}, "", false},
		{fakellm.Fault{Kind: "429", RetryAfter: new(60)}, llm.RateLimited, true},
		{fakellm.Fault{Kind: "500"}, llm.Unavailable, true},
		{fakellm.Fault{Kind: "503", Count: 2}, "", false},
		{fakellm.Fault{Kind: "status", Status: 401}, llm.Unauthorized, true},
		{fakellm.Fault{Kind: "status", Status: 422}, llm.InvalidRequest, true},
		{fakellm.Fault{Kind: "content-filter"}, llm.ContentFiltered, true},
		{fakellm.Fault{Kind: "hang"}, llm.Timeout, true},
		{fakellm.Fault{Kind: "header-delay"}, llm.Timeout, true},
		{fakellm.Fault{Kind: "stall", Chunks: new(1)}, llm.Timeout, false},
		{fakellm.Fault{Kind: "slow-body"}, llm.Timeout, true},
		{fakellm.Fault{Kind: "reset", Chunks: new(0)}, llm.Unavailable, true},
		{fakellm.Fault{Kind: "reset", Chunks: new(2)}, llm.Unavailable, false},
		{fakellm.Fault{Kind: "error-frame", Chunks: new(2)}, llm.Unavailable, false},
		{fakellm.Fault{Kind: "malformed"}, "", false},
		{fakellm.Fault{Kind: "no-done"}, "", false},
		{fakellm.Fault{Kind: "no-usage"}, "", false},
		{fakellm.Fault{Kind: "empty"}, "", false},
	} {
		t.Run(string(tt.fault.Kind), func(t *testing.T) {
			fake := fakellm.New(fakellm.Options{APIKeys: []string{testKey}})
			h := llmtest.Start(t, module(), fake, withKey(map[string]any{"timeout": 0.4}))
			if _, err := fake.AddFault(tt.fault); err != nil {
				t.Fatal(err)
			}
			_, err := llmtest.Collect(t.Context(), llmtest.Model(t, h, "gpt-4o"), llmtest.User("#say a b c"))
			if llm.CauseOf(err) != tt.cause || (err == nil) != (tt.cause == "") {
				t.Fatalf("error is %v, want %s", err, tt.cause)
			}
			on := []llm.Cause{llm.Unavailable, llm.RateLimited}
			if may := llm.MayFallOver(err, on); may != (tt.first && (tt.cause == llm.Unavailable || tt.cause == llm.RateLimited || tt.cause == llm.Timeout)) {
				t.Errorf("may fall over: %v", may)
			}
			if len(h.Logs.Find(testKey)) > 0 {
				t.Error("the log shows the key")
			}
		})
	}
}

func TestReconfigure(t *testing.T) {
	h, _ := start(t, "application/json", fixture(t, "whole.txt"), nil)
	h.Apply(func(cfg *kernel.Config) {
		p := cfg.Plugins[ModuleName+":main"].Clone()
		p.Config["contextLength"] = 2000
		cfg.Plugins[ModuleName+":main"] = p
	})
	if got := llmtest.Model(t, h, "deepseek-chat").Info().ContextLength; got != 2000 {
		t.Errorf("context length is %d", got)
	}
}

var testTime = time.UnixMilli(1_700_000_000_000)
