// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package fakellm_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/aalis-dev/aalis-operator/hack/fakellm/fakellm"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fake is a server under test. Its waits return at once and are written down.
type fake struct {
	*fakellm.Server
	tb  testing.TB
	url string
	c   *http.Client

	mu    sync.Mutex
	waits []time.Duration
}

func start(tb testing.TB, o fakellm.Options) *fake {
	tb.Helper()
	f := &fake{tb: tb}
	o.Now = func() time.Time { return time.Unix(1_800_000_000, 0).UTC() }
	if o.Wait == nil {
		o.Wait = func(ctx context.Context, d time.Duration) error {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.waits = append(f.waits, d)
			return ctx.Err()
		}
	}
	f.Server = fakellm.New(o)
	server := httptest.NewServer(f.Server)
	tb.Cleanup(server.Close)
	f.url, f.c = server.URL, server.Client()
	return f
}

// reply is a whole HTTP answer; err is what ended its body early.
type reply struct {
	status int
	header http.Header
	body   string
	err    error
}

func (f *fake) do(method, path, key, body string) reply {
	f.tb.Helper()
	req, err := http.NewRequestWithContext(f.tb.Context(), method, f.url+path, strings.NewReader(body))
	if err != nil {
		f.tb.Fatal(err)
	}
	if key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	resp, err := f.c.Do(req)
	if err != nil {
		return reply{err: err}
	}
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	return reply{status: resp.StatusCode, header: resp.Header, body: string(b), err: err}
}

func (f *fake) chat(body string) reply {
	f.tb.Helper()
	return f.do(http.MethodPost, "/v1/chat/completions", "", body)
}

// ask returns the request body for one user text.
func ask(model, text string, stream bool) string {
	m := map[string]any{"model": model, "messages": []map[string]string{
		{"role": "system", "content": "Be brief.\nAnd kind."}, {"role": "user", "content": text},
	}}
	if stream {
		m["stream"], m["stream_options"] = true, map[string]bool{"include_usage": true}
	}
	return encode(m)
}

func encode(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

type wireUsage struct {
	Prompt     int `json:"prompt_tokens"`
	Completion int `json:"completion_tokens"`
	Total      int `json:"total_tokens"`
	Details    struct {
		Cached int `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
}

// frame is any chat completion, streamed or whole.
type frame struct {
	Object  string `json:"object"`
	Choices []struct {
		Delta        delta   `json:"delta"`
		Message      delta   `json:"message"`
		FinishReason *string `json:"finish_reason"`
	} `json:"choices"`
	Usage *wireUsage `json:"usage"`
	Error *wireError `json:"error"`
}

type delta struct {
	Role      string  `json:"role"`
	Content   *string `json:"content"`
	Reasoning string  `json:"reasoning_content"`
	ToolCalls []struct {
		Index    int    `json:"index"`
		ID       string `json:"id"`
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
}

type wireError struct {
	Message string  `json:"message"`
	Type    string  `json:"type"`
	Param   *string `json:"param"`
	Code    *string `json:"code"`
}

// stream is a parsed stream.
type stream struct {
	content, reasoning, finish string
	pieces                     []string
	usages                     []wireUsage
	errors                     []wireError
	broken                     int
	done                       bool
}

func parseStream(tb testing.TB, body string) stream {
	tb.Helper()
	var s stream
	for part := range strings.SplitSeq(body, "\n\n") {
		data, ok := strings.CutPrefix(part, "data: ")
		if !ok {
			continue
		}
		if data == "[DONE]" {
			s.done = true
			continue
		}
		var f frame
		if json.Unmarshal([]byte(data), &f) != nil {
			s.broken++
			continue
		}
		s.add(f)
	}
	return s
}

func (s *stream) add(f frame) {
	if f.Error != nil {
		s.errors = append(s.errors, *f.Error)
	}
	if f.Usage != nil {
		s.usages = append(s.usages, *f.Usage)
	}
	for _, c := range f.Choices {
		if c.FinishReason != nil {
			s.finish = *c.FinishReason
		}
		s.reasoning += c.Delta.Reasoning
		if c.Delta.Content != nil && c.Delta.Role == "" {
			s.content += *c.Delta.Content
			s.pieces = append(s.pieces, *c.Delta.Content)
		}
	}
}

func parseWhole(tb testing.TB, r reply) frame {
	tb.Helper()
	if r.err != nil || r.status != http.StatusOK {
		tb.Fatalf("got status %d, error %v, body %s", r.status, r.err, r.body)
	}
	var f frame
	if err := json.Unmarshal([]byte(r.body), &f); err != nil || len(f.Choices) != 1 {
		tb.Fatalf("got error %v, body %s", err, r.body)
	}
	return f
}

func parseError(tb testing.TB, r reply) wireError {
	tb.Helper()
	var f frame
	dec := json.NewDecoder(bytes.NewReader([]byte(r.body)))
	if err := dec.Decode(&f); err != nil || f.Error == nil {
		tb.Fatalf("no error object: %v, %s", err, r.body)
	}
	return *f.Error
}

func str(p *string) string {
	if p == nil {
		return ""
	}
	return *p
}

// eventually polls for what a handler does after its client has gone: there is no event a client could wait for.
func eventually(tb testing.TB, what string, ok func() bool) {
	tb.Helper()
	deadline := time.Now().Add(10 * time.Second)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !ok() {
		if time.Now().After(deadline) {
			tb.Fatalf("%s: still not so", what)
		}
		<-tick.C
	}
}

// dataLines returns the data of every frame.
func dataLines(body string) []string {
	var out []string
	for part := range strings.SplitSeq(body, "\n\n") {
		if data, ok := strings.CutPrefix(part, "data: "); ok {
			out = append(out, data)
		}
	}
	return out
}
