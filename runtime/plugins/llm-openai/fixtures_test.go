// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package llmopenai

import (
	"errors"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aalis-dev/aalis-operator/runtime/contract/llm"
	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
	"github.com/aalis-dev/aalis-operator/runtime/kerneltest"
	"github.com/aalis-dev/aalis-operator/runtime/llmhttp/llmtest"
)

func fixture(t *testing.T, name string) string {
	t.Helper()
	raw, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// pieces cuts a body at the boundaries that networks cut at.
func pieces(body, by string) []string {
	switch by {
	case "line":
		return strings.SplitAfter(body, "\n")
	case "byte":
		return strings.Split(body, "") // each piece a character, of one byte or more
	default:
		return []string{body}
	}
}

// play serves the vendor's three endpoints, the chat from a body that is flushed piece by piece.
func play(t *testing.T, status int, contentType, body, by string) *kerneltest.Harness {
	t.Helper()
	m := Plugin
	m.Apply = func(k *kernel.Context, cfg map[string]any) error {
		c, err := kernel.Decode(Default(), cfg)
		if err != nil {
			return err
		}
		return applyWith(k, c, llmtest.Tools())
	}
	return llmtest.Start(t, m, &llmtest.Server{Paths: map[string]http.HandlerFunc{
		"GET /v1/models": llmtest.Play("application/json", fixture(t, "models.txt")),
		"POST /v1/chat/completions": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", contentType)
			w.WriteHeader(status)
			for _, p := range pieces(body, by) {
				if _, err := io.WriteString(w, p); err != nil {
					return
				}
				if f, ok := w.(http.Flusher); ok {
					f.Flush()
				}
			}
		},
	}}, map[string]any{"apiKey": testKey})
}

var recordedUsage = &llm.Usage{PromptTokens: 1117, CompletionTokens: 46, TotalTokens: 1163, CachedPromptTokens: new(1024), ReasoningTokens: new(0)}

// TestRecordedStreams: what the vendor sends, however the network cuts it. Case 8.7.1: usage on a frame without choices.
func TestRecordedStreams(t *testing.T) {
	for name, want := range map[string]llm.Response{
		"stream.txt": {Content: "Grüß dich, 你好 🦉!", Usage: recordedUsage},
		"tools.txt": {Usage: recordedUsage, ToolCalls: []message.ToolCall{
			{ID: "call_a1", Type: "function", Function: message.FunctionCall{Name: "weather", Arguments: `{"city":"Beijing"}`}},
			{ID: "call_b2", Type: "function", Function: message.FunctionCall{Name: "clock", Arguments: "{}"}},
		}},
	} {
		for _, by := range []string{"whole", "line", "byte"} {
			h := play(t, http.StatusOK, "text/event-stream", fixture(t, name), by)
			got, err := llmtest.Collect(t.Context(), llmtest.Model(t, h, "gpt-4o-mini"), llmtest.User("hello"))
			if d := cmp.Diff(want, got.Response); err != nil || d != "" {
				t.Errorf("%s by %s: %v %s", name, by, err, d)
			}
		}
	}
}

func TestRecordedReply(t *testing.T) {
	h := play(t, http.StatusOK, "application/json", fixture(t, "whole.txt"), "whole")
	got, err := llmtest.Model(t, h, "gpt-4o-mini").Chat(t.Context(), llmtest.User("hello"))
	if d := cmp.Diff(llm.Response{Content: "你好", Usage: recordedUsage}, got); err != nil || d != "" {
		t.Error(err, d)
	}
}

// TestRecordedModels: what cannot chat is not offered as a model that can.
func TestRecordedModels(t *testing.T) {
	h := play(t, http.StatusOK, "application/json", fixture(t, "whole.txt"), "whole")
	for id, chats := range map[string]bool{"gpt-4o-mini": true, "text-embedding-3-small": false, "whisper-1": false} {
		m, ok := llm.Resolve(h.Root(), llm.Ref{ID: id})
		if got := ok && slices.Contains(m.Info().Capabilities, llm.CapChat); got != chats {
			t.Errorf("%s: chats %t", id, got)
		}
	}
}

// TestRecordedErrors: each refusal of the vendor has its cause, its words and no key in them.
func TestRecordedErrors(t *testing.T) {
	for name, tc := range map[string]struct {
		status int
		cause  llm.Cause
		says   string
	}{
		"error-400.txt":     {400, llm.InvalidRequest, "refused the request (400)"},
		"error-401.txt":     {401, llm.Unauthorized, "refused the API key (401)"},
		"error-404.txt":     {404, llm.InvalidRequest, "does not know the model"},
		"error-429.txt":     {429, llm.RateLimited, "is busy (429)"},
		"error-500.txt":     {500, llm.Unavailable, "failed (500)"},
		"error-context.txt": {400, llm.InvalidRequest, "too long for the model (400)"},
	} {
		h := play(t, tc.status, "application/json", fixture(t, name), "whole")
		_, err := llmtest.Collect(t.Context(), llmtest.Model(t, h, "gpt-4o-mini"), llmtest.User("hello"))
		var e *llm.Error
		if !errors.As(err, &e) || e.Cause != tc.cause || !strings.Contains(e.Text, tc.says) || strings.Contains(err.Error(), testKey) {
			t.Errorf("%s: got %v (%s)", name, err, llm.CauseOf(err))
		}
	}
}
