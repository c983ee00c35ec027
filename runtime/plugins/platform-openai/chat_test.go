// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package platformopenai

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	openai "github.com/sashabaranov/go-openai"

	"github.com/aalis-dev/aalis-operator/runtime/contract/agent"
	"github.com/aalis-dev/aalis-operator/runtime/contract/gateway"
	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
	"github.com/aalis-dev/aalis-operator/runtime/kerneltest"
)

func request(text string) openai.ChatCompletionRequest {
	return openai.ChatCompletionRequest{
		Model: "whatever", Temperature: 0.3,
		Messages: []openai.ChatCompletionMessage{
			{Role: "system", Content: "ignored"}, {Role: "user", Content: "ignored too"},
			{Role: "assistant", Content: "and this"}, {Role: "user", Content: text},
		},
	}
}

func TestWholeAnswer(t *testing.T) {
	r := start(t, echo, nil)
	got, err := r.client(aliceToken).CreateChatCompletion(t.Context(), request("hi \"there\"\n🦉"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(got.ID, "chatcmpl-") || got.Object != "chat.completion" || got.Model != "Test" ||
		got.Created != r.Clock.Now().Unix() {
		t.Errorf("got %+v", got)
	}
	want := []openai.ChatCompletionChoice{{
		Message: openai.ChatCompletionMessage{
			Role: "assistant", Content: "You said: hi \"there\"\n🦉", ReasoningContent: "thinking",
		},
		FinishReason: "stop",
	}}
	if d := cmp.Diff(want, got.Choices); d != "" {
		t.Error(d)
	}
	if u := got.Usage; u.PromptTokens != 11 || u.CompletionTokens != 5 || u.TotalTokens != 16 {
		t.Errorf("usage is %+v", u)
	}
	in := r.bot.last(t)
	wantIn := message.Incoming{
		Content: "hi \"there\"\n🦉", SessionID: "openai:alice:default", Platform: "openai", UserID: "alice",
		MessageID: got.ID, TurnID: got.ID, SessionType: message.SessionPrivate, TriggerType: message.TriggerDirect,
	}
	if d := cmp.Diff(wantIn, in); d != "" {
		t.Error(d)
	}
}

func TestStreamedAnswer(t *testing.T) {
	r := start(t, echo, nil)
	req := request("hi 🦉")
	req.StreamOptions = &openai.StreamOptions{IncludeUsage: true}
	s, err := r.client(bobToken).CreateChatCompletionStream(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	var deltas []openai.ChatCompletionStreamChoiceDelta
	var finish []openai.FinishReason
	var usage *openai.Usage
	for {
		c, err := s.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if c.Object != "chat.completion.chunk" || c.Model != "Test" || c.Created != r.Clock.Now().Unix() {
			t.Errorf("chunk is %+v", c)
		}
		if c.Usage != nil {
			usage = c.Usage
		}
		for _, choice := range c.Choices {
			if choice.FinishReason != "" {
				finish = append(finish, choice.FinishReason)
			} else {
				deltas = append(deltas, choice.Delta)
			}
		}
	}
	want := []openai.ChatCompletionStreamChoiceDelta{
		{Role: "assistant"}, {ReasoningContent: "thinking"}, {Content: "You "}, {Content: "said: "}, {Content: "hi 🦉"},
	}
	if d := cmp.Diff(want, deltas); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]openai.FinishReason{"stop"}, finish); d != "" {
		t.Error(d)
	}
	if usage == nil || usage.PromptTokens != 11 || usage.CompletionTokens != 5 || usage.TotalTokens != 16 {
		t.Errorf("usage is %+v", usage)
	}
}

func TestStreamOnTheWire(t *testing.T) {
	r := start(t, echo, nil)
	got := r.chat(ask("x", streamed))
	if ct := got.header.Get("Content-Type"); ct != "text/event-stream; charset=utf-8" {
		t.Errorf("content type is %q", ct)
	}
	if strings.Contains(got.body, "usage") || !strings.HasSuffix(got.body, "data: [DONE]\n\n") {
		t.Errorf("body is %q", got.body)
	}
	got = r.chat(ask("x", streamed, `,"stream_options":{"include_usage":true}`))
	frames := strings.Split(strings.TrimSpace(got.body), "\n\n")
	for _, f := range frames[:len(frames)-2] {
		if !strings.Contains(f, `"usage":null`) {
			t.Errorf("frame %q lacks its empty usage", f)
		}
	}
	var last map[string]any
	if err := json.Unmarshal([]byte(strings.TrimPrefix(frames[len(frames)-2], "data: ")), &last); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]any{}, last["choices"]); d != "" || last["usage"] == nil {
		t.Errorf("last frame is %v", last)
	}
}

func TestSessions(t *testing.T) {
	r := start(t, echo, nil)
	tests := []struct {
		name, token, user, header, want string
	}{
		{"neither", aliceToken, "", "", "openai:alice:default"},
		{"user", aliceToken, "web 1", "", "openai:alice:web 1"},
		{"header wins", aliceToken, "web", "term", "openai:alice:term"},
		{"another user's name", bobToken, "alice", "", "openai:bob:alice"},
		{"colons stay inside", bobToken, "x:openai:alice:default", "", "openai:bob:x:openai:alice:default"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			header := []string{}
			if tt.header != "" {
				header = []string{"X-Aalis-Session", tt.header}
			}
			a := r.must(http.MethodPost, "/v1/chat/completions", tt.token, ask("x", fmt.Sprintf(`,"user":%q`, tt.user)), header...)
			if a.status != http.StatusOK {
				t.Fatalf("status %d: %s", a.status, a.body)
			}
			if got := r.bot.last(t).SessionID; got != tt.want {
				t.Errorf("session is %q, want %q", got, tt.want)
			}
		})
	}
}

func TestImages(t *testing.T) {
	r := start(t, echo, nil)
	a := r.chat(`{"messages":[{"role":"user","content":[{"type":"text","text":"look"},
		{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}},
		{"type":"text","text":"at it"},
		{"type":"image_url","image_url":{"url":"https://example.com/a.jpg"}}]},{"role":"assistant","content":"prefill"}]}`)
	if got := a.content(t); got != "You said: look\nat it" {
		t.Errorf("got %q", got)
	}
	want := []message.Attachment{
		{Kind: "image", Data: "data:image/png;base64,AAAA", MimeType: "image/png"},
		{Kind: "image", Data: "https://example.com/a.jpg"},
	}
	if d := cmp.Diff(want, r.bot.last(t).Attachments); d != "" {
		t.Error(d)
	}
}

// noLingering waits for connections that the HTTP server closes half a second after a body that was too long.
func noLingering(t *testing.T) {
	t.Helper()
	buf := make([]byte, 4<<20)
	eventually(t, "connections to be closed", func() bool {
		return !bytes.Contains(buf[:runtime.Stack(buf, true)], []byte("closeWriteAndWait"))
	})
}

func TestBadRequests(t *testing.T) {
	kerneltest.NoLeaks(t)
	t.Cleanup(func() { noLingering(t) })
	r := start(t, echo, map[string]any{"maxBodyBytes": 1024})
	content := func(raw string) string { return `{"messages":[{"role":"user","content":` + raw + `}]}` }
	image := func(url string) string { return content(`[{"type":"image_url","image_url":{"url":"` + url + `"}}]`) }
	tests := []struct {
		name, body  string
		status      int
		code, param string
	}{
		{"no JSON", "hello", 400, "invalid_json", ""},
		{"empty", "", 400, "invalid_json", ""},
		{"more than one", "{} {}", 400, "invalid_json", ""},
		{"a list", "[]", 400, "invalid_json", ""},
		{"messages of another type", `{"messages":"hi"}`, 400, "invalid_type", "messages"},
		{"stream of another type", `{"stream":"yes"}`, 400, "invalid_type", "stream"},
		{"no message", `{}`, 400, "no_user_message", "messages"},
		{"no user message", `{"messages":[{"role":"system","content":"x"}]}`, 400, "no_user_message", "messages"},
		{"two choices", `{"n":2,"messages":[{"role":"user","content":"x"}]}`, 400, "unsupported_value", "n"},
		{"blank", content(`" \n"`), 400, "empty_message", "messages[0].content"},
		{"null", content(`null`), 400, "empty_message", "messages[0].content"},
		{"number", content(`7`), 400, "invalid_type", "messages[0].content"},
		{"parts of another type", content(`["x"]`), 400, "invalid_type", "messages[0].content"},
		{"unknown part", content(`[{"type":"input_audio"}]`), 400, "unsupported_value", "messages[0].content[0].type"},
		{"image without an object", content(`[{"type":"image_url","image_url":"x"}]`), 400, "invalid_type", "messages[0].content[0].image_url"},
		{"a file", image("file:///etc/passwd"), 400, "invalid_image", "messages[0].content[0].image_url.url"},
		{"no host", image("https:///x"), 400, "invalid_image", "messages[0].content[0].image_url.url"},
		{"data of something else", image("data:text/html,x"), 400, "invalid_image", "messages[0].content[0].image_url.url"},
		{"too long", content(`"` + strings.Repeat("x", 2000) + `"`), 413, "request_too_large", ""},
		{"long session", `{"user":"` + strings.Repeat("会", 129) + `","messages":[{"role":"user","content":"x"}]}`, 400, "invalid_session", "user"},
		{"session of control characters", `{"user":"a\u0007","messages":[{"role":"user","content":"x"}]}`, 400, "invalid_session", "user"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a := r.chat(tt.body)
			code, param, text := a.error(t)
			if a.status != tt.status || code != tt.code || param != tt.param {
				t.Errorf("got %d %s %q: %s", a.status, code, param, text)
			}
		})
	}
	if len(r.bot.seen) > 0 {
		t.Error("a bad request reached the bot")
	}
}

func TestEndings(t *testing.T) {
	notice := func(text string) script {
		return func(_ context.Context, b *bot, m message.Incoming) {
			b.say(m, message.FromSystem, text)
			b.done(m, gateway.PhaseDispatch, true)
		}
	}
	tests := []struct {
		name   string
		script script
		status int
		text   string // or the code of the error
		notice string
	}{
		{"swallowed by a phase", func(_ context.Context, b *bot, m message.Incoming) {
			b.done(m, gateway.PhaseConfirm, true)
			b.done(m, gateway.PhaseTrigger, false)
		}, 200, "", ""},
		{"silent", func(_ context.Context, b *bot, m message.Incoming) { b.after(m, agent.Silent) }, 200, "", ""},
		{"no model", notice("[系统] no model"), 200, "[系统] no model", "system"},
		{"refused at the door", func(_ context.Context, b *bot, m message.Incoming) {
			b.say(m, message.FromSystem, "[系统] busy")
		}, 200, "[系统] busy", "system"},
		{"a command", func(_ context.Context, b *bot, m message.Incoming) {
			b.say(m, message.FromCommand, "models: a")
			b.done(m, gateway.PhaseCommand, false)
		}, 200, "models: a", ""},
		{"a notice and an answer", func(_ context.Context, b *bot, m message.Incoming) {
			b.say(m, message.FromSystem, "by the way")
			b.say(m, message.FromAgent, "answer")
			b.after(m, agent.Replied)
		}, 200, "by the way\n\nanswer", ""},
		{"failed and said so", func(_ context.Context, b *bot, m message.Incoming) {
			b.say(m, message.FromSystem, "[错误] down")
			b.after(m, agent.Failed)
		}, 200, "[错误] down", "system"},
		{"failed", func(_ context.Context, b *bot, m message.Incoming) { b.after(m, agent.Failed) }, 500, "turn_failed", ""},
		{"replaced", func(_ context.Context, b *bot, m message.Incoming) { b.after(m, agent.Aborted) }, 409, "turn_aborted", ""},
		{"cut off by a stop", func(_ context.Context, b *bot, m message.Incoming) {
			b.say(m, message.FromSystem, "[系统] restarting")
			b.after(m, agent.Aborted)
		}, 200, "[系统] restarting", "system"},
	}
	for _, tt := range tests {
		for _, mode := range []string{"", streamed} {
			t.Run(tt.name+mode, func(t *testing.T) {
				r := start(t, tt.script, nil)
				r.server.grace = 20 * time.Millisecond
				a := r.chat(ask("x", mode))
				if a.status != tt.status {
					t.Fatalf("status %d: %s", a.status, a.body)
				}
				if tt.status != http.StatusOK {
					if code, _, _ := a.error(t); code != tt.text {
						t.Errorf("code is %q", code)
					}
					return
				}
				text := a.text(t)
				if mode == "" {
					text = a.content(t)
				}
				if text != tt.text {
					t.Errorf("text is %q, want %q", text, tt.text)
				}
				// A stream says it in its headers if the notice came first, whatever comes later.
				first := mode != "" && strings.HasPrefix(tt.name, "a notice")
				if got := a.header.Get("X-Aalis-Notice"); got != tt.notice && !first {
					t.Errorf("notice is %q, want %q", got, tt.notice)
				}
			})
		}
	}
}

func TestWhatWasStreamedIsNotRepeated(t *testing.T) {
	tests := []struct {
		name   string
		script func(b *bot, m message.Incoming)
		want   string
	}{
		{"not streamed", func(b *bot, m message.Incoming) { b.say(m, message.FromAgent, "whole") }, "whole"},
		{"streamed", func(b *bot, m message.Incoming) { b.delta(m, "wh", "ole"); b.say(m, message.FromAgent, "whole") }, "whole"},
		{"partly", func(b *bot, m message.Incoming) { b.delta(m, "wh"); b.say(m, message.FromAgent, "whole") }, "whole"},
		{"repaired", func(b *bot, m message.Incoming) { b.delta(m, "whle"); b.say(m, "", "whole") }, "whle"},
		{"two rounds", func(b *bot, m message.Incoming) {
			b.delta(m, "let me look")
			b.chunk(m, message.StreamChunk{ToolCallProgress: &message.ToolCallProgress{Name: "f"}})
			b.chunk(m, message.StreamChunk{ToolCallProgress: &message.ToolCallProgress{Name: "f"}})
			b.delta(m, "it is ", "4")
			b.say(m, message.FromAgent, "it is 4")
		}, "let me look\n\nit is 4"},
		{"a command after it", func(b *bot, m message.Incoming) {
			b.delta(m, "a")
			b.say(m, message.FromAgent, "a")
			b.say(m, message.FromCommand, "b")
		}, "a\n\nb"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := start(t, func(_ context.Context, b *bot, m message.Incoming) {
				tt.script(b, m)
				b.after(m, agent.Replied)
			}, nil)
			if got := r.chat(ask("x", streamed)).text(t); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestOthersTurnsAreNotMixedIn(t *testing.T) {
	r := start(t, func(_ context.Context, b *bot, m message.Incoming) {
		other := m
		other.TurnID = ""
		b.delta(other, "not mine")
		b.say(other, message.FromAgent, "not mine")
		other.TurnID = "chatcmpl-unknown"
		b.delta(other, "not mine")
		b.after(other, agent.Replied)
		b.delta(m, "mine")
		b.after(m, agent.Replied)
	}, nil)
	if got := r.chat(ask("x", streamed)).text(t); got != "mine" {
		t.Errorf("got %q", got)
	}
}

func TestManyTurnsAtOnce(t *testing.T) {
	r := start(t, echo, nil)
	const n = 32
	errs := make(chan error, n)
	for i := range n {
		mode := ""
		if i%2 == 0 {
			mode = streamed
		}
		go func() {
			a, err := r.do(t.Context(), http.MethodPost, "/v1/chat/completions", aliceToken,
				ask(fmt.Sprint("number ", i), mode), "X-Aalis-Session", fmt.Sprint(i))
			if err == nil && !strings.Contains(a.body, fmt.Sprintf("number %d\"", i)) {
				err = fmt.Errorf("request %d: %s", i, a.body)
			}
			errs <- err
		}()
	}
	for range n {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	if len(r.server.turns.byID) != 0 || r.server.chats.Count() != 0 {
		t.Error("turns are left behind")
	}
}
