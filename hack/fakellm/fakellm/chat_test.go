// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package fakellm_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aalis-dev/aalis-operator/hack/fakellm/fakellm"
)

func TestAnswers(t *testing.T) {
	t.Parallel()
	f := start(t, fakellm.Options{})
	tests := map[string]struct {
		messages string
		extra    string
		want     string
		finish   string
	}{
		"echo": {
			messages: `[{"role":"system","content":"\n  Be brief. \nAnd kind."},{"role":"user","content":"hi \"you\"\n😀"}]`,
			want:     "[Be brief.] You said: hi \"you\"\n😀",
		},
		"no system": {messages: `[{"role":"user","content":"hi"}]`, want: "You said: hi"},
		"no user":   {messages: `[{"role":"developer","content":"D"}]`, want: "[D] You said: "},
		"parts": {
			messages: `[{"role":"user","content":[{"type":"text","text":"a"},{"type":"image_url","image_url":{"url":"x"}},{"type":"text","text":"b"}]}]`,
			want:     "You said: a\nb",
		},
		"last user": {
			messages: `[{"role":"user","content":"one"},{"role":"assistant","content":"x"},{"role":"user","content":"two"},{"role":"system","content":"late"}]`,
			want:     "[late] You said: two",
		},
		"say":                {messages: `[{"role":"system","content":"S"},{"role":"user","content":"please #say <b>你好</b>"}]`, want: "<b>你好</b>"},
		"say nothing":        {messages: `[{"role":"user","content":"#say"}]`, want: ""},
		"repeat":             {messages: `[{"role":"user","content":"#repeat 3"}]`, want: "ha ha ha "},
		"repeat a text":      {messages: `[{"role":"user","content":"#repeat 2\n#say xy"}]`, want: "xyxy"},
		"limit":              {messages: `[{"role":"user","content":"#say abcdefghij"}]`, extra: `,"max_tokens":2`, want: "abcdefgh", finish: "length"},
		"limit is enough":    {messages: `[{"role":"user","content":"#say abcdefgh"}]`, extra: `,"max_completion_tokens":2`, want: "abcdefgh"},
		"huge limit":         {messages: `[{"role":"user","content":"#say abc"}]`, extra: `,"max_tokens":9223372036854775807`, want: "abc"},
		"repeat unlimited":   {messages: `[{"role":"user","content":"#repeat 3"}]`, extra: `,"max_tokens":1`, want: "ha ha ha "},
		"tool without tools": {messages: `[{"role":"user","content":"#tool a {}"}]`, want: "You said: #tool a {}"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			finish := tt.finish
			if finish == "" {
				finish = "stop"
			}
			body := `{"model":"fake-1","messages":` + tt.messages + tt.extra
			whole := parseWhole(t, f.chat(body+"}"))
			if got := str(whole.Choices[0].Message.Content); got != tt.want || str(whole.Choices[0].FinishReason) != finish {
				t.Errorf("whole: got %q, %s", got, str(whole.Choices[0].FinishReason))
			}
			r := f.do(http.MethodPost, "/chat/completions", "", body+`,"stream":true,"stream_options":{"include_usage":true}}`)
			s := parseStream(t, r.body)
			if s.content != tt.want || s.finish != finish || !s.done || len(s.usages) != 1 {
				t.Errorf("streamed: got %+v", s)
			}
			if ct := r.header.Get("Content-Type"); ct != "text/event-stream; charset=utf-8" {
				t.Errorf("content type %q", ct)
			}
			if s.usages[0].Completion != whole.Usage.Completion || s.usages[0].Total != whole.Usage.Total {
				t.Errorf("usage: streamed %+v, whole %+v", s.usages[0], *whole.Usage)
			}
		})
	}
}

func TestChunks(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		options fakellm.Options
		text    string
		want    []string
	}{
		"words":      {text: "#say one two 你好", want: []string{"one ", "two ", "你", "好"}},
		"directive":  {text: "#chunks 2\n#say abcd", want: []string{"ab", "cd"}},
		"configured": {options: fakellm.Options{Chunks: 4}, text: "#say abcdefgh", want: []string{"ab", "cd", "ef", "gh"}},
		"repeat":     {text: "#repeat 2", want: []string{"ha ", "ha "}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := start(t, tt.options)
			s := parseStream(t, f.chat(ask("fake-1", tt.text, true)).body)
			if diff := cmp.Diff(tt.want, s.pieces); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if last, _ := f.Last(); last.Chunks != len(tt.want) || last.Outcome != fakellm.OutcomeComplete {
				t.Errorf("the ledger has %d chunks, outcome %s", last.Chunks, last.Outcome)
			}
		})
	}
}

func TestReasoning(t *testing.T) {
	t.Parallel()
	f := start(t, fakellm.Options{})
	s := parseStream(t, f.chat(ask("fake-1", "#reasoning let me see\n#say 42", true)).body)
	if s.reasoning != "let me see" || s.content != "42" {
		t.Errorf("streamed: %+v", s)
	}
	whole := parseWhole(t, f.chat(ask("fake-1", "#reasoning let me see\n#say 42", false)))
	if m := whole.Choices[0].Message; m.Reasoning != "let me see" || str(m.Content) != "42" {
		t.Errorf("whole: %+v", m)
	}
	if last, _ := f.Last(); last.Billed.ReasoningTokens != 3 || last.Billed.CompletionTokens != 4 {
		t.Errorf("billed %+v", last.Billed)
	}
}

func TestUsageAndPrefixCache(t *testing.T) {
	t.Parallel()
	f := start(t, fakellm.Options{})
	// "Be brief.\nAnd kind." has 19 units: 4+5 tokens; "abcdefgh" 4+2; the answer "[Be brief.] You said: abcdefgh" 30: 8.
	first := parseWhole(t, f.chat(ask("fake-1", "abcdefgh", false))).Usage
	if first.Prompt != 15 || first.Completion != 8 || first.Total != 23 || first.Details.Cached != 0 {
		t.Errorf("first: %+v", first)
	}
	steps := []struct {
		name, model, text, key string
		cached                 int
	}{
		{"same prompt", "fake-1", "abcdefgh", "", 15},
		{"other text", "fake-1", "other", "", 9},
		{"other model", "gpt-4o", "abcdefgh", "", 0},
		{"other key", "fake-1", "abcdefgh", "k", 0},
		{"faults in the model id", "fake-1@no-done", "abcdefgh", "", 15},
	}
	for _, step := range steps {
		r := f.do(http.MethodPost, "/v1/chat/completions", step.key, ask(step.model, step.text, true))
		s := parseStream(t, r.body)
		if len(s.usages) != 1 || s.usages[0].Details.Cached != step.cached {
			t.Errorf("%s: %+v", step.name, s.usages)
		}
	}
	if r := f.do(http.MethodDelete, "/admin/cache", "", ""); r.status != http.StatusNoContent {
		t.Errorf("clearing the cache: %d", r.status)
	}
	if u := parseWhole(t, f.chat(ask("fake-1", "abcdefgh", false))).Usage; u.Details.Cached != 0 {
		t.Errorf("after clearing: %+v", u)
	}
	u := parseWhole(t, f.chat(ask("fake-1", "#usage prompt=1000 cached=10 completion=7", false))).Usage
	if u.Prompt != 1000 || u.Details.Cached != 10 || u.Completion != 7 || u.Total != 1007 {
		t.Errorf("replaced: %+v", u)
	}
	s := parseStream(t, f.chat(`{"model":"fake-1","stream":true,"messages":[{"role":"user","content":"x"}]}`).body)
	if len(s.usages) != 0 || !s.done {
		t.Errorf("usage that was not asked for: %+v", s)
	}
}

func TestBadRequests(t *testing.T) {
	t.Parallel()
	f := start(t, fakellm.Options{MaxBody: 2000})
	user := `"messages":[{"role":"user","content":"x"}]`
	call := `{"role":"assistant","tool_calls":[{"id":"c1","type":"function","function":{"name":"a","arguments":"{}"}}]}`
	tests := map[string]struct {
		body        string
		status      int
		param, code string
	}{
		"not JSON":             {`{"model":`, 400, "", "invalid_json"},
		"not an object":        {`[1]`, 400, "", "invalid_type"},
		"no model":             {`{` + user + `}`, 400, "model", "missing_required_parameter"},
		"model type":           {`{"model":1,` + user + `}`, 400, "model", "invalid_type"},
		"unknown model":        {`{"model":"nope",` + user + `}`, 404, "model", "model_not_found"},
		"embedding model":      {`{"model":"text-embedding-3-small",` + user + `}`, 404, "model", "model_not_found"},
		"bad fault in model":   {`{"model":"fake-1@nope",` + user + `}`, 400, "model", "bad_directive"},
		"no messages":          {`{"model":"fake-1"}`, 400, "messages", "missing_required_parameter"},
		"role":                 {`{"model":"fake-1","messages":[{"role":"bot","content":"x"}]}`, 400, "messages[0].role", "invalid_value"},
		"no content":           {`{"model":"fake-1","messages":[{"role":"user","content":null}]}`, 400, "messages[0].content", "invalid_value"},
		"assistant content":    {`{"model":"fake-1","messages":[{"role":"assistant"}]}`, 400, "messages[0].content", "invalid_value"},
		"content type":         {`{"model":"fake-1","messages":[{"role":"user","content":5}]}`, 400, "messages[0]", "invalid_value"},
		"part type":            {`{"model":"fake-1","messages":[{"role":"user","content":[{"type":"x"}]}]}`, 400, "messages[0]", "invalid_value"},
		"message type":         {`{"model":"fake-1","messages":["x"]}`, 400, "messages[0]", "invalid_type"},
		"orphan result":        {`{"model":"fake-1","messages":[{"role":"tool","content":"x","tool_call_id":"c1"}]}`, 400, "messages[0].tool_call_id", "invalid_value"},
		"unanswered call":      {`{"model":"fake-1","messages":[` + call + `]}`, 400, "messages[0].tool_calls", "invalid_value"},
		"interrupted call":     {`{"model":"fake-1","messages":[` + call + `,{"role":"user","content":"x"}]}`, 400, "messages[0].tool_calls", "invalid_value"},
		"n":                    {`{"model":"fake-1","n":2,` + user + `}`, 400, "n", "unsupported_value"},
		"stream options alone": {`{"model":"fake-1","stream_options":{},` + user + `}`, 400, "stream_options", "invalid_value"},
		"max tokens":           {`{"model":"fake-1","max_tokens":0,` + user + `}`, 400, "max_tokens", "integer_below_min_value"},
		"tools type":           {`{"model":"fake-1","tools":{},` + user + `}`, 400, "tools", "invalid_type"},
		"tool type":            {`{"model":"fake-1","tools":[{"type":"x"}],` + user + `}`, 400, "tools[0].type", "invalid_value"},
		"tool name":            {`{"model":"fake-1","tools":[{"type":"function","function":{"name":"a.b"}}],` + user + `}`, 400, "tools[0].function.name", "invalid_value"},
		"choice without tools": {`{"model":"fake-1","tool_choice":"auto",` + user + `}`, 400, "tool_choice", "invalid_value"},
		"choice word":          {`{"model":"fake-1","tools":[{"type":"function","function":{"name":"a"}}],"tool_choice":"x",` + user + `}`, 400, "tool_choice", "invalid_value"},
		"choice name":          {`{"model":"fake-1","tools":[{"type":"function","function":{"name":"a"}}],"tool_choice":{"type":"function","function":{"name":"b"}},` + user + `}`, 400, "tool_choice.function.name", "invalid_value"},
		"bad directive":        {`{"model":"fake-1","messages":[{"role":"user","content":"#repeat x"}]}`, 400, "messages", "bad_directive"},
		"endless repeat":       {`{"model":"fake-1","messages":[{"role":"user","content":"#repeat 1000000\n#say 12345678901234567890"}]}`, 400, "messages", "bad_directive"},
		"too long":             {`{"model":"` + strings.Repeat("x", 2000) + `"}`, 413, "", "request_too_large"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := f.chat(tt.body)
			e := parseError(t, r)
			if r.status != tt.status || str(e.Param) != tt.param || str(e.Code) != tt.code || e.Type != "invalid_request_error" || e.Message == "" {
				t.Errorf("got %d, param %q, code %q: %s", r.status, str(e.Param), str(e.Code), e.Message)
			}
			if !strings.Contains(r.body, `"param":`) || r.header.Get("X-Request-Id") == "" {
				t.Errorf("incomplete answer %s, %v", r.body, r.header)
			}
		})
	}
}

func TestRoutes(t *testing.T) {
	t.Parallel()
	f := start(t, fakellm.Options{APIKeys: []string{"good", "better"}, Models: []string{"m1", "m@x", "m1"}})
	tests := map[string]struct {
		method, path, key, body string
		status                  int
		contains                string
	}{
		"models":             {"GET", "/v1/models", "good", "", 200, `"id":"m1"`},
		"models, short path": {"GET", "/models", "better", "", 200, `"id":"text-embedding-3-small"`},
		"no key":             {"GET", "/v1/models", "", "", 401, `"code":"invalid_api_key"`},
		"wrong key":          {"POST", "/v1/chat/completions", "bad", "{}", 401, `"code":"invalid_api_key"`},
		"health needs none":  {"GET", "/healthz", "", "", 200, "ok"},
		"admin needs none":   {"GET", "/admin/usage", "", "", 200, `"items"`},
		"unknown path":       {"GET", "/v1/nope", "good", "", 404, `"code":"unknown_url"`},
		"admin has no v1":    {"GET", "/v1/admin/usage", "good", "", 404, `"code":"unknown_url"`},
		"wrong method":       {"GET", "/v1/chat/completions", "good", "", 405, `use POST`},
		"id with an at":      {"POST", "/chat/completions", "good", `{"model":"m@x","messages":[{"role":"user","content":"#say hi"}]}`, 200, `"content":"hi"`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := f.do(tt.method, tt.path, tt.key, tt.body)
			if r.status != tt.status || !strings.Contains(r.body, tt.contains) {
				t.Errorf("got %d %s", r.status, r.body)
			}
			if tt.status == 405 && r.header.Get("Allow") != "POST" {
				t.Errorf("Allow is %q", r.header.Get("Allow"))
			}
		})
	}
}

func TestEmbeddings(t *testing.T) {
	t.Parallel()
	f := start(t, fakellm.Options{EmbeddingDimensions: 8})
	tests := map[string]struct {
		body     string
		status   int
		vectors  int
		length   int
		contains string
	}{
		"text":        {body: `"input":"hello there"`, status: 200, vectors: 1, length: 8, contains: `"prompt_tokens":3`},
		"texts":       {body: `"input":["a","b"],"dimensions":3`, status: 200, vectors: 2, length: 3},
		"tokens":      {body: `"input":[1,2]`, status: 200, vectors: 1, length: 8},
		"token lists": {body: `"input":[[1,2],[3]]`, status: 200, vectors: 2, length: 8},
		"null":        {body: `"input":null`, status: 400, contains: `"param":"input"`},
		"missing":     {body: `"x":1`, status: 400, contains: `"param":"input"`},
		"empty text":  {body: `"input":["a",""]`, status: 400, contains: `input[1] is empty`},
		"wrong type":  {body: `"input":[{}]`, status: 400, contains: `"param":"input"`},
		"dimensions":  {body: `"input":"a","dimensions":5000`, status: 400, contains: `"param":"dimensions"`},
		"format":      {body: `"input":"a","encoding_format":"hex"`, status: 400, contains: `"param":"encoding_format"`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := f.do(http.MethodPost, "/v1/embeddings", "", `{"model":"text-embedding-3-small",`+tt.body+`}`)
			if r.status != tt.status || !strings.Contains(r.body, tt.contains) {
				t.Fatalf("got %d %s", r.status, r.body)
			}
			if tt.status != http.StatusOK {
				return
			}
			var out struct {
				Data []struct{ Embedding []float32 }
			}
			if err := json.Unmarshal([]byte(r.body), &out); err != nil {
				t.Fatal(err)
			}
			if len(out.Data) != tt.vectors || len(out.Data[0].Embedding) != tt.length {
				t.Errorf("got %s", r.body)
			}
		})
	}
	if r := f.do(http.MethodPost, "/v1/embeddings", "", `{"model":"fake-1","input":"a"}`); r.status != 404 {
		t.Errorf("a chat model embeds: %d", r.status)
	}
}
