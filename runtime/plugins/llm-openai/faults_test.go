// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package llmopenai

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/aalis-dev/aalis-operator/hack/fakellm/fakellm"
	"github.com/aalis-dev/aalis-operator/runtime/contract/llm"
	"github.com/aalis-dev/aalis-operator/runtime/i18n"
	"github.com/aalis-dev/aalis-operator/runtime/kerneltest"
	"github.com/aalis-dev/aalis-operator/runtime/llmhttp"
)

func TestFaults(t *testing.T) {
	ms := time.Millisecond
	tests := []struct {
		name  string
		fault fakellm.Fault
		text  string // of the reply; the fault's error otherwise
		err   string
		waits []time.Duration
	}{
		{"busy once", fakellm.Fault{Kind: "429", Count: 1, RetryAfter: new(3)}, "a b c", "", []time.Duration{3 * time.Second}},
		{"busy twice, no header", fakellm.Fault{Kind: "429", Count: 2, RetryAfter: new(0)}, "a b c", "", []time.Duration{500 * ms, time.Second}},
		{"busy for long", fakellm.Fault{Kind: "429", RetryAfter: new(21)}, "", "The model provider is busy (429).", nil},
		{"busy for as long as we wait", fakellm.Fault{Kind: "429", RetryAfter: new(15)}, "", "is busy (429)", []time.Duration{15 * time.Second}},
		{"failing once", fakellm.Fault{Kind: "500", Count: 1}, "a b c", "", []time.Duration{500 * ms}},
		{"failing", fakellm.Fault{Kind: "503"}, "", "The model provider failed (503).", []time.Duration{500 * ms, time.Second}},
		{"no quota", fakellm.Fault{Kind: "429", Message: "insufficient_quota"}, "", "no quota left (429)", nil},
		{"refused", fakellm.Fault{Kind: "status", Status: 422}, "", "refused the request (422)", nil},
		{"not implemented", fakellm.Fault{Kind: "status", Status: 501}, "", "refused the request (501)", nil},
		{"forbidden", fakellm.Fault{Kind: "status", Status: 403}, "", "refused the API key (403)", nil},
		{"too long", fakellm.Fault{Kind: "status", Status: 413}, "", "too long for the model (413)", nil},
		{"too long by text", fakellm.Fault{Kind: "status", Status: 400, Message: "context_length_exceeded"}, "", "too long for the model (400)", nil},
		{"filtered", fakellm.Fault{Kind: "content-filter"}, "", "content filter refused this message", nil},
		{"reset before the answer", fakellm.Fault{Kind: "reset", Chunks: new(0), Count: 1}, "a b c", "", []time.Duration{500 * ms}},
		{"cut before the answer", fakellm.Fault{Kind: "truncate", Chunks: new(0), Count: 1}, "a b c", "", []time.Duration{500 * ms}},
		{"reset in the middle", fakellm.Fault{Kind: "reset", Chunks: new(2)}, "", "broke off", nil},
		{"error in the middle", fakellm.Fault{Kind: "error-frame", Chunks: new(2)}, "", "The model provider failed.", nil},
		{"filter in the middle", fakellm.Fault{Kind: "error-frame", Chunks: new(2), Message: "content_filter hit"}, "", "content filter", nil},
		{"error before the answer", fakellm.Fault{Kind: "error-frame", Chunks: new(0), Count: 1}, "a b c", "", []time.Duration{500 * ms}},
		{"malformed frame", fakellm.Fault{Kind: "malformed"}, "a b c", "", nil},
		{"no closing mark", fakellm.Fault{Kind: "no-done"}, "a b c", "", nil},
		{"cut in the middle", fakellm.Fault{Kind: "truncate", Chunks: new(2)}, "a b ", "", nil},
		{"empty", fakellm.Fault{Kind: "empty"}, "", "", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := start(t, nil)
			if _, err := r.fake.AddFault(tt.fault); err != nil {
				t.Fatal(err)
			}
			got, err := collect(t.Context(), r.model("gpt-4o"), user("#say a b c"))
			checkError(t, err, tt.err)
			if err == nil && (got.Content != tt.text || got.done != 1) {
				t.Errorf("got %q, %d last chunks", got.Content, got.done)
			}
			if d := cmp.Diff(tt.waits, r.slept()); d != "" {
				t.Error(d)
			}
			if failed, ok := errors.AsType[*llm.Error](err); err != nil && (!ok || strings.Contains(failed.Error(), "{")) {
				t.Errorf("error is %#v", err)
			}
			if tt.err != "" && len(r.Logs.Find("Model call failed", "model=\"gpt-4o\"")) == 0 {
				t.Errorf("nothing in the log:\n%s", r.Logs)
			}
		})
	}
}

func TestLoggedErrorText(t *testing.T) {
	r := start(t, nil)
	_, err := r.fake.AddFault(fakellm.Fault{Kind: "status", Status: 400, Message: "your key " + testKey + strings.Repeat("啊", 1000)})
	if err != nil {
		t.Fatal(err)
	}
	_, err = r.model("gpt-4o").Chat(t.Context(), user("hi"))
	checkError(t, err, "The model provider refused the request (400).")
	found := r.Logs.Find("OpenAI API 错误 (400): ", "your key [redacted]")
	if len(found) != 1 || len(found[0].Attrs["error"]) > 1024+10 {
		t.Errorf("log:\n%s", r.Logs)
	}
}

func TestChineseTexts(t *testing.T) {
	r := start(t, nil, kerneltest.WithSetting(i18n.Setting.Key(), i18n.Chinese))
	for kind, want := range map[string]string{"content-filter": "安全审核", "500": "模型服务商出错 (500)"} {
		f, err := r.fake.AddFault(fakellm.Fault{Kind: fakellm.Kind(kind)})
		if err != nil {
			t.Fatal(err)
		}
		_, err = r.model("gpt-4o").Chat(t.Context(), user("hi"))
		checkError(t, err, want)
		r.fake.ClearFaults()
		_ = f
	}
}

func TestTimeouts(t *testing.T) {
	for _, kind := range []string{"hang", "stall", "slow-body", "header-delay"} {
		t.Run(kind, func(t *testing.T) {
			r := start(t, map[string]any{"timeout": 0.15})
			if _, err := r.fake.AddFault(fakellm.Fault{Kind: fakellm.Kind(kind)}); err != nil {
				t.Fatal(err)
			}
			_, err := collect(t.Context(), r.model("gpt-4o"), user("#say a b c"))
			checkError(t, err, "The model gave no complete answer within 150ms.")
			if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
				t.Errorf("%v looks like an abort", err)
			}
			if len(r.slept()) > 0 {
				t.Errorf("a call that took too long was tried again")
			}
		})
	}
}

func TestTimeoutWhileWaiting(t *testing.T) {
	r := start(t, map[string]any{"timeout": 0.1})
	if _, err := r.fake.AddFault(fakellm.Fault{Kind: "500"}); err != nil {
		t.Fatal(err)
	}
	m := r.model("gpt-4o")
	r.onWait(func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })
	_, err := m.Chat(t.Context(), user("hi"))
	checkError(t, err, "no complete answer within 100ms")
	ctx, cancel := context.WithCancel(t.Context())
	r.onWait(func(ctx context.Context) error { cancel(); <-ctx.Done(); return ctx.Err() })
	if _, err := m.Chat(ctx, user("hi")); !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v, want the caller's own", err)
	}
}

func TestCancelEndsACallAtOnce(t *testing.T) {
	for _, kind := range []string{"hang", "stall"} {
		t.Run(kind, func(t *testing.T) {
			r := start(t, nil)
			if _, err := r.fake.AddFault(fakellm.Fault{Kind: fakellm.Kind(kind)}); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			errs := make(chan error, 1)
			m := r.model("gpt-4o")
			go func() { _, err := collect(ctx, m, user("hi")); errs <- err }()
			eventually(t, "the request", func() bool { return r.chatRequests() == 1 })
			cancel()
			if err := <-errs; !errors.Is(err, context.Canceled) {
				t.Errorf("error is %v", err)
			}
		})
	}
}

func TestStopEndsCalls(t *testing.T) {
	r := start(t, nil, kerneltest.WithOptions(shortDrain))
	if _, err := r.fake.AddFault(fakellm.Fault{Kind: "hang"}); err != nil {
		t.Fatal(err)
	}
	errs := make(chan error, 1)
	m := r.model("gpt-4o")
	go func() { _, err := m.Chat(context.Background(), user("hi")); errs <- err }()
	eventually(t, "the request", func() bool { return r.chatRequests() == 1 })
	r.Stop()
	checkError(t, <-errs, "being reconfigured")
	if n := r.App.Stats().Abandoned; n > 1 { // the drain, which was to give up
		t.Errorf("teardown gave up %d times:\n%s", n, r.Logs)
	}
}

func TestUnreachable(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	url := server.URL
	server.Close()
	r := serve(t, http.NotFoundHandler(), map[string]any{"baseUrl": url, "customModels": "m"})
	_, err := collect(t.Context(), r.model("m"), user("hi"))
	checkError(t, err, "cannot be reached")
	if got := len(r.slept()); got != 2 {
		t.Errorf("waited %d times", got)
	}
}

func TestConsumerErrorEndsTheStream(t *testing.T) {
	r := start(t, nil)
	stop := errors.New("enough")
	n := 0
	err := r.model("gpt-4o").ChatStream(t.Context(), user("#say a b c"), func(llm.Chunk) error {
		if n++; n == 2 {
			return stop
		}
		return nil
	})
	if !errors.Is(err, stop) || n != 2 || len(r.slept()) > 0 {
		t.Errorf("error is %v after %d chunks", err, n)
	}
}

func TestUnknownModel(t *testing.T) {
	r := start(t, map[string]any{"customModels": "nobody-knows"})
	_, err := collect(t.Context(), r.model("nobody-knows"), user("hi"))
	checkError(t, err, "does not know the model nobody-knows (404)")
}

// TestOddServers is about answers that the fake server does not give.
func TestOddServers(t *testing.T) {
	const json, sse = "application/json", "text/event-stream"
	choice := func(content string) string {
		return `data: {"choices":[{"index":0,"delta":{"content":"` + content + `"}}]}` + "\n\n"
	}
	tests := []struct {
		name, contentType, body string
		want, reasoning, err    string
		tries                   int
	}{
		{"one document", json, `{"choices":[{"message":{"role":"assistant","content":"all at once","reasoning_content":"r"}}],"usage":{"prompt_tokens":3,"completion_tokens":4}}`, "all at once", "r", "", 1},
		{"a document of something else", json, `{"hello":1}`, "", "", "makes no sense", 3},
		{"no document", json, `{"hello"`, "", "", "makes no sense", 3},
		{"a web page", "text/html", "<html>\n<p>hi</p>\n", "", "", "makes no sense", 3},
		{"nothing", sse, "", "", "", "makes no sense", 3},
		{"comments between frames", sse, ": ping\n\n" + choice("a") + strings.Repeat(": ping\n\n", 500) + choice("b") + "data: [DONE]\n\n", "ab", "", "", 1},
		{"other reasoning field", sse, `data: {"choices":[{"delta":{"reasoning":"why","content":null}}]}` + "\n\n" + choice("x"), "x", "why", "", 1},
		{"a field of another type", sse, `data: {"choices":[{"delta":{"reasoning":{"a":1},"content":"kept"}}]}` + "\n\n", "kept", "", "", 1},
		{"another choice", sse, `data: {"choices":[{"index":1,"delta":{"content":"no"}}]}` + "\n\n" + choice("yes"), "yes", "", "", 1},
		{"refusal", sse, `data: {"choices":[{"delta":{"refusal":"I will not"}}]}` + "\n\n", "I will not", "", "", 1},
		{"filtered at the end", sse, `data: {"choices":[{"delta":{},"finish_reason":"content_filter"}]}` + "\n\n", "", "", "content filter", 1},
		{"filtered document", json, `{"choices":[{"message":{"role":"assistant","content":""},"finish_reason":"content_filter"}]}`, "", "", "content filter", 1},
		{"error with blanks", sse, `data: { "error": {"message":"overloaded"} }` + "\n\n", "", "", "The model provider failed.", 3},
		{"error as a text", sse, `data: {"error":"overloaded"}` + "\n\n", "", "", "The model provider failed.", 3},
		{"unfinished tool call", sse, `data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":"}}]}}]}` + "\n\n", "", "", "broke off", 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var tries atomic.Int32
			r := serve(t, http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
				if strings.HasSuffix(q.URL.Path, "/models") {
					http.NotFound(w, q)
					return
				}
				tries.Add(1)
				w.Header().Set("Content-Type", tt.contentType)
				_, _ = w.Write([]byte(tt.body))
			}), map[string]any{"customModels": "m"})
			got, err := collect(t.Context(), r.model("m"), user("hi"))
			checkError(t, err, tt.err)
			if got.Content != tt.want || got.ReasoningContent != tt.reasoning || int(tries.Load()) != tt.tries {
				t.Errorf("got %q, reasoning %q, %d tries", got.Content, got.ReasoningContent, tries.Load())
			}
		})
	}
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the redirect was followed") }))
	t.Cleanup(other.Close)
	r := serve(t, http.RedirectHandler(other.URL, http.StatusTemporaryRedirect), map[string]any{"customModels": "m"})
	_, err := r.model("m").Chat(t.Context(), user("hi"))
	checkError(t, err, "refused the request (307)")
}

func TestReplyIsBounded(t *testing.T) {
	r := serve(t, http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if strings.HasSuffix(q.URL.Path, "/models") {
			http.NotFound(w, q)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		block := []byte(": " + strings.Repeat("x", 1<<20) + "\n")
		for range llmhttp.MaxReply>>20 + 2 {
			if _, err := w.Write(block); err != nil {
				return
			}
		}
	}), map[string]any{"customModels": "m"})
	r.onWait(func(context.Context) error { return context.Canceled })
	_, err := collect(t.Context(), r.model("m"), user("hi"))
	checkError(t, err, "makes no sense")
}

func TestManyCallsAtOnce(t *testing.T) {
	r := start(t, nil)
	m := r.model("gpt-4o")
	errs := make(chan error)
	const calls = 32
	for i := range calls {
		go func() {
			text := fmt.Sprint("number ", i)
			got, err := collect(t.Context(), m, user("#say "+text))
			if err == nil && got.Content != text {
				err = fmt.Errorf("got %q, want %q", got.Content, text)
			}
			errs <- err
		}()
	}
	for range calls {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}
