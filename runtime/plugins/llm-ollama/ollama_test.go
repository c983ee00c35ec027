// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package llmollama

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/aalis-dev/aalis-operator/runtime/contract/llm"
	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
	"github.com/aalis-dev/aalis-operator/runtime/kerneltest"
	"github.com/aalis-dev/aalis-operator/runtime/llmhttp"
	"github.com/aalis-dev/aalis-operator/runtime/llmhttp/llmtest"
	"github.com/aalis-dev/aalis-operator/runtime/netguard"
	"github.com/aalis-dev/aalis-operator/runtime/netx"
	"github.com/aalis-dev/aalis-operator/runtime/recompute"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	chatPath  = "POST /api/chat"
	audioPath = "POST /v1/chat/completions"
	ndjson    = "application/x-ndjson"
)

func TestConformance(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	kerneltest.Run(t, Plugin,
		kerneltest.WithSetting(netx.Setting.Key(), netx.Policy{AllowLoopback: true}),
		kerneltest.WithConfig(map[string]any{"baseUrl": server.URL}))
}

func module() kernel.Module {
	m := Plugin
	m.Apply = func(k *kernel.Context, cfg map[string]any) error {
		c, err := kernel.Decode(Default(), cfg)
		if err != nil {
			return err
		}
		return applyWith(k, c, llmtest.Tools(), func() netguard.Policy { return netguard.Policy{AllowPrivate: true} })
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

func start(t *testing.T, contentType, answer string, cfg map[string]any) (*kerneltest.Harness, *llmtest.Server) {
	t.Helper()
	server := &llmtest.Server{Paths: map[string]http.HandlerFunc{
		chatPath:        llmtest.Play(contentType, answer),
		"GET /api/tags": llmtest.Play("application/json", fixture(t, "tags.txt")),
		"POST /api/show": func(w http.ResponseWriter, q *http.Request) {
			_, _ = io.Copy(io.Discard, q.Body)
			_, _ = io.WriteString(w, `{"capabilities":["completion","tools","thinking"]}`)
		},
		audioPath: llmtest.Play("application/json", `{"choices":[{"message":{"role":"assistant","content":"<think>a</think>heard"},"finish_reason":"stop"}],"usage":{"prompt_tokens":2,"completion_tokens":1}}`),
	}}
	return llmtest.Start(t, module(), server, cfg), server
}

func last(t *testing.T, s *llmtest.Server, path string) map[string]any {
	t.Helper()
	bodies := s.Bodies(path)
	if len(bodies) == 0 {
		t.Fatalf("nothing was sent to %s", path)
	}
	return bodies[len(bodies)-1]
}

func TestRecordedStream(t *testing.T) {
	h, _ := start(t, ndjson, fixture(t, "stream.txt"), nil)
	got, err := llmtest.Collect(t.Context(), llmtest.Model(t, h, "qwen3:8b"), llmtest.User("hi"))
	if err != nil {
		t.Fatal(err)
	}
	if len(got.ToolCalls) != 1 || !strings.HasPrefix(got.ToolCalls[0].ID, "call_ollama_") || !strings.HasSuffix(got.ToolCalls[0].ID, "_0") {
		t.Fatalf("calls are %+v", got.ToolCalls)
	}
	got.ToolCalls[0].ID = ""
	want := llm.Response{
		Content: "Hello there", ReasoningContent: "The user greets.",
		ToolCalls: []message.ToolCall{{Type: "function", Function: message.FunctionCall{Name: "weather", Arguments: `{"city":"Berlin","days":3}`}}},
		Usage:     &llm.Usage{PromptTokens: 26, CompletionTokens: 282, TotalTokens: 308},
	}
	if d := cmp.Diff(want, got.Response); d != "" {
		t.Error(d)
	}
	progress := 0
	for _, c := range got.Chunks {
		if c.ToolCallProgress != nil {
			progress++
		}
	}
	if progress != 1 {
		t.Errorf("%d pieces of progress, want 1", progress)
	}
}

func TestRecordedReply(t *testing.T) {
	h, _ := start(t, "application/json", fixture(t, "whole.txt"), nil)
	got, err := llmtest.Model(t, h, "qwen3:8b").Chat(t.Context(), llmtest.User("hi"))
	want := llm.Response{Content: "Hi", ReasoningContent: "Hm.", Usage: &llm.Usage{PromptTokens: 5, CompletionTokens: 7, TotalTokens: 12}}
	if d := cmp.Diff(want, got); err != nil || d != "" {
		t.Error(err, d)
	}
}

func TestRequest(t *testing.T) {
	h, server := start(t, "application/json", fixture(t, "whole.txt"), map[string]any{"keepAlive": "-1", "temperature": 0})
	req := llm.Request{
		MaxTokens: 9, Temperature: new(0.0),
		Messages: []message.Message{
			{Role: message.RoleUser, Content: "q"},
			{Role: message.RoleAssistant, ToolCalls: []message.ToolCall{
				{ID: "a", Function: message.FunctionCall{Name: "f", Arguments: `{"x":1}`}},
				{ID: "b", Function: message.FunctionCall{Name: "g", Arguments: `broken`}},
			}},
			{Role: message.RoleTool, ToolCallID: "a", Content: "r"},
		},
		Tools: []message.ToolDefinition{{Type: "function", Function: message.ToolFunction{Name: "f"}}},
	}
	m := llmtest.Model(t, h, "qwen3:8b")
	for _, think := range []*bool{nil, new(false), new(true)} {
		req.Think = think
		if _, err := m.Chat(t.Context(), req); err != nil {
			t.Fatal(err)
		}
		body := last(t, server, chatPath)
		if want := think == nil || *think; body["think"] != want {
			t.Errorf("think is %v, want %v", body["think"], want)
		}
	}
	body := last(t, server, chatPath)
	wantMessages := []any{
		map[string]any{"role": "user", "content": "q"},
		map[string]any{"role": "assistant", "content": "", "tool_calls": []any{
			map[string]any{"function": map[string]any{"name": "f", "arguments": map[string]any{"x": 1.0}}},
			map[string]any{"function": map[string]any{"name": "g", "arguments": map[string]any{}}},
		}},
		map[string]any{"role": "tool", "content": "r"},
	}
	if d := cmp.Diff(wantMessages, body["messages"]); d != "" {
		t.Error(d)
	}
	wantOptions := map[string]any{"temperature": 0.0, "num_predict": 9.0, "num_ctx": 8192.0}
	if d := cmp.Diff(wantOptions, body["options"]); d != "" || body["keep_alive"] != -1.0 || body["tools"] == nil {
		t.Errorf("%s; %v", d, body)
	}
}

func TestDiscovery(t *testing.T) {
	h, server := start(t, ndjson, "", map[string]any{"modelCapabilities": "silent:latest: chat, vision"})
	var ids []string
	for _, e := range llm.Service.Entries(h.Root()) {
		ids = append(ids, e.Instance.Info().ID)
	}
	if d := cmp.Diff([]string{"qwen3:8b", "nomic-embed-text:latest", "silent:latest"}, ids); d != "" {
		t.Error(d)
	}
	m := llmtest.Model(t, h, "qwen3:8b")
	if d := cmp.Diff([]llm.Capability{llm.CapChat, llm.CapToolCalling, llm.CapThinking, llm.CapStreaming}, m.Info().Capabilities); d != "" {
		t.Error(d)
	}
	if got := llmtest.Model(t, h, "silent:latest").Info().Capabilities; len(got) != 2 {
		t.Errorf("capabilities are %v", got)
	}
	shows := len(server.Bodies("POST /api/show"))
	got, err := m.(llm.Refresher).Refresh(t.Context())
	if err != nil || got.Total != 3 || len(got.Added)+len(got.Removed) > 0 {
		t.Errorf("got %+v, %v", got, err)
	}
	if again := len(server.Bodies("POST /api/show")); again != shows {
		t.Errorf("known models were asked about again: %d, then %d", shows, again)
	}
}

func TestServerThatSaysNothing(t *testing.T) {
	server := &llmtest.Server{Paths: map[string]http.HandlerFunc{"GET /api/tags": llmtest.Play("application/json", fixture(t, "tags.txt"))}}
	h := llmtest.Start(t, module(), server, nil)
	if got := llmtest.Model(t, h, "qwen3:8b").Info().Capabilities; len(got) != 4 {
		t.Errorf("got %v, want what the name suggests", got)
	}
	if got := llmtest.Model(t, h, "silent:latest").Info().Capabilities; len(got) != 1 {
		t.Errorf("got %v", got)
	}
	if _, ok := llm.Resolve(h.Root(), llm.Ref{ID: "nomic-embed-text:latest"}); ok {
		t.Error("an embedding model is offered")
	}
}

// Case 8.7.4: pictures that cannot be read, over both APIs, streamed and not.
func TestCase874Images(t *testing.T) {
	files := http.NewServeMux()
	files.HandleFunc("/ok.png", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "image/png")
		_, _ = w.Write([]byte("png"))
	})
	files.HandleFunc("/declared", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "30000000")
		w.WriteHeader(http.StatusOK)
	})
	files.HandleFunc("/streamed", func(w http.ResponseWriter, _ *http.Request) {
		block := make([]byte, 1<<20)
		for range 25 {
			if _, err := w.Write(block); err != nil {
				return
			}
		}
	})
	web := httptest.NewServer(files)
	t.Cleanup(web.Close)
	bad := []string{web.URL + "/missing", web.URL + "/declared", web.URL + "/streamed", "file:///etc/passwd", "not base64!", "data:image/png,x"}
	tests := []struct {
		name     string
		images   []string
		required bool
		want     []any
		fails    bool
	}{
		{"required and all fail", bad, true, nil, true},
		{"not required", bad, false, nil, false},
		{"partial", append([]string{" aGk= \n", web.URL + "/ok.png", "data:image/jpeg;base64,aG\nk="}, bad[3:]...), true, []any{"aGk=", "cG5n", "aGk="}, false},
		{"none wanted", nil, true, nil, false},
	}
	for _, tt := range tests {
		for _, audio := range []bool{false, true} {
			t.Run(fmt.Sprint(tt.name, ", audio ", audio), func(t *testing.T) {
				h, server := start(t, "application/json", fixture(t, "whole.txt"), nil)
				m := llmtest.Model(t, h, "qwen3:8b")
				req := llmtest.User("look")
				req.Messages[0].Images, req.RequireImages = tt.images, tt.required
				path := chatPath
				if audio {
					req.Messages[0].Audios, path = []string{"UklGRg=="}, audioPath
				}
				_, err := m.Chat(t.Context(), req)
				_, streamErr := llmtest.Collect(t.Context(), m, req)
				if tt.fails {
					if llm.CauseOf(err) != llm.InvalidRequest || llm.CauseOf(streamErr) != llm.InvalidRequest || len(server.Bodies(path)) > 0 {
						t.Errorf("errors are %v and %v", err, streamErr)
					}
					return
				}
				if err != nil || streamErr != nil {
					t.Fatal(err, streamErr)
				}
				if d := cmp.Diff(tt.want, sentImages(last(t, server, path))); d != "" {
					t.Error(d)
				}
			})
		}
	}
}

// sentImages gives the base64 of the pictures of the first message of a request to either API.
func sentImages(body map[string]any) (out []any) {
	first := body["messages"].([]any)[0].(map[string]any)
	if images, ok := first["images"].([]any); ok {
		return images
	}
	parts, _ := first["content"].([]any)
	for _, p := range parts {
		if image, ok := p.(map[string]any)["image_url"].(map[string]any); ok {
			_, data, _ := strings.Cut(image["url"].(string), ",")
			out = append(out, data)
		}
	}
	return out
}

func TestAudio(t *testing.T) {
	h, server := start(t, ndjson, "", nil)
	req := llm.Request{
		Think: new(false), MaxTokens: 5, Temperature: new(0.1),
		Messages: []message.Message{
			{Role: message.RoleSystem, Content: "s"},
			{Role: message.RoleUser, Content: "what?", Audios: []string{"data:audio/mpeg;base64,AAAA", "SUQzBA==", "T2dnUw==", "data:audio/x-flac;base64,AAAA"}, Images: []string{"aGk="}},
			{Role: message.RoleTool, Content: "dropped"},
		},
		Tools: []message.ToolDefinition{{Type: "function", Function: message.ToolFunction{Name: "f"}}},
	}
	got, err := llmtest.Collect(t.Context(), llmtest.Model(t, h, "qwen3:8b"), req)
	if err != nil || got.Content != "heard" || got.ReasoningContent != "a" || len(got.Chunks) != 1 {
		t.Errorf("got %+v, %v", got, err)
	}
	body := last(t, server, audioPath)
	sound := func(data, format string) map[string]any {
		return map[string]any{"type": "input_audio", "input_audio": map[string]any{"data": data, "format": format}}
	}
	want := map[string]any{
		"model": "qwen3:8b", "stream": false, "temperature": 0.1, "max_tokens": 5.0, "reasoning_effort": "none",
		"messages": []any{
			map[string]any{"role": "system", "content": "s"},
			map[string]any{"role": "user", "content": []any{
				map[string]any{"type": "image_url", "image_url": map[string]any{"url": "data:image/png;base64,aGk="}},
				sound("AAAA", "mp3"), sound("SUQzBA==", "mp3"), sound("T2dnUw==", "ogg"), sound("AAAA", "flac"),
				map[string]any{"type": "text", "text": "what?"},
			}},
		},
	}
	if d := cmp.Diff(want, body); d != "" {
		t.Error(d)
	}
}

func TestOddStreams(t *testing.T) {
	line := func(content string, rest string) string {
		return `{"message":{"role":"assistant","content":"` + content + `"}` + rest + `}` + "\n"
	}
	tests := []struct {
		name, body, want, reasoning string
		cause                       llm.Cause
		calls                       string
	}{
		{"tags in the text", line("<thi", "") + line("nk>why</th", "") + line("ink>\\n", "") + line("so", `,"done":true`), "so", "why", "", ""},
		{"unclosed", line("<think>all", `,"done":true`), "", "all", "", ""},
		{"ends early", line("a", "") + `{"message":{"tool_calls":[{"function":{"name":"f","arguments":{}}}]}}`, "a", "", "", "call_0"},
		{"error at once", `{"error":"model runner has unexpectedly stopped"}`, "", "", llm.Unavailable, ""},
		{"error later", line("a", "") + `{"error":"x"}`, "a", "", llm.Unavailable, ""},
		{"nothing", "", "", "", llm.Unavailable, ""},
		{"a web page", "<html>\n</html>", "", "", llm.Unavailable, ""},
		{"only empty", line("", ""), "", "", llm.Unavailable, ""},
		{"malformed between", line("a", "") + "{oops\n" + line("b", `,"done":true`), "ab", "", "", ""},
		{"another type", `{"message":{"content":"k","thinking":5},"done":true}`, "k", "", "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h, _ := start(t, ndjson, tt.body, nil)
			got, err := llmtest.Collect(t.Context(), llmtest.Model(t, h, "qwen3:8b"), llmtest.User("hi"))
			if got.Content != tt.want || got.ReasoningContent != tt.reasoning || llm.CauseOf(err) != tt.cause || (err == nil) != (tt.cause == "") {
				t.Errorf("got %q, %q, %v", got.Content, got.ReasoningContent, err)
			}
			if tt.calls != "" && (len(got.ToolCalls) != 1 || got.ToolCalls[0].ID != tt.calls) {
				t.Errorf("calls are %+v", got.ToolCalls)
			}
		})
	}
}

func TestWholeReplyErrors(t *testing.T) {
	for _, body := range []string{`{"error":"x"}`, `{}`, `<html>`} {
		t.Run(body, func(t *testing.T) {
			h, _ := start(t, "application/json", body, nil)
			if _, err := llmtest.Model(t, h, "qwen3:8b").Chat(t.Context(), llmtest.User("hi")); llm.CauseOf(err) != llm.Unavailable {
				t.Error(err)
			}
		})
	}
}

func TestFetchingIsGuarded(t *testing.T) {
	web := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("it was fetched") }))
	t.Cleanup(web.Close)
	f := newFetcher(kerneltest.New(t).Root(), nil)
	if _, err := f.get(t.Context(), web.URL+"/?token=x"); err == nil || strings.Contains(err.Error(), "token") {
		t.Errorf("error is %v", err)
	}
}

func TestBadConfig(t *testing.T) {
	for key, value := range map[string]string{"keepAlive": "soon", "customModels": "a b"} {
		h := kerneltest.New(t, kerneltest.WithPlugin(Plugin, ModuleName+":main", map[string]any{"baseUrl": "http://x.example", key: value}))
		h.WantState(ModuleName+":main", recompute.Error)
		if got := h.Plugin(ModuleName + ":main").Error; !strings.Contains(got, "config."+key) {
			t.Errorf("error is %q", got)
		}
	}
}

func FuzzThinkTags(f *testing.F) {
	f.Add("a<think>b</think>c", 4)
	f.Add("<think><think></think>", 9)
	f.Fuzz(func(t *testing.T, text string, cut int) {
		read := func(pieces ...string) (string, string) {
			var tags thinkTags
			var content, reasoning string
			for _, p := range pieces {
				c, r := tags.feed(p)
				content, reasoning = content+c, reasoning+r
			}
			c, r := tags.end()
			return content + c, reasoning + r
		}
		cut = max(0, min(cut, len(text)))
		c1, r1 := read(text)
		c2, r2 := read(text[:cut], text[cut:])
		if c1 != c2 || r1 != r2 {
			t.Errorf("%q: %q, %q; cut at %d: %q, %q", text, c1, r1, cut, c2, r2)
		}
		if !strings.Contains(text, thinkOpen) && c1 != text {
			t.Errorf("%q became %q", text, c1)
		}
	})
}

// FuzzLines reads streams of any bytes: it ends with one last chunk or an error.
func FuzzLines(f *testing.F) {
	f.Add([]byte(`{"message":{"content":"a"},"done":true}`))
	f.Add([]byte("{\n\n{\"done\":true}"))
	f.Fuzz(func(t *testing.T, body []byte) {
		done := 0
		s := stream{now: func() time.Time { return time.Time{} }, onChunk: func(c llm.Chunk) error {
			if c.Done {
				done++
			}
			for _, call := range c.ToolCalls {
				if !json.Valid([]byte(call.Function.Arguments)) {
					t.Errorf("arguments are %q", call.Function.Arguments)
				}
			}
			return nil
		}}
		s.call = llmhttp.Call{Endpoint: &llmhttp.Endpoint{}, Log: kerneltest.New(t).Root().Logger()}
		if err := s.read(llmhttp.Lines(strings.NewReader(string(body)))); (err == nil) != (done == 1) {
			t.Errorf("%q: %v after %d last chunks", body, err, done)
		}
	})
}
