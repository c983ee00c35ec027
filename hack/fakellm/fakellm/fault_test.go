// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package fakellm_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/aalis-dev/aalis-operator/hack/fakellm/fakellm"
)

func TestFaultsThatReplaceTheAnswer(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		fault      string
		status     int
		kind, code string
		retryAfter string
	}{
		"429":            {"429", 429, "rate_limit_error", "rate_limit_exceeded", "1"},
		"429 later":      {"rate-limit retry-after=20", 429, "rate_limit_error", "rate_limit_exceeded", "20"},
		"429 silent":     {"rate-limit retry-after=0", 429, "rate_limit_error", "rate_limit_exceeded", ""},
		"500":            {"500", 500, "server_error", "", ""},
		"503":            {"unavailable retry-after=3", 503, "server_error", "overloaded", "3"},
		"status":         {"status status=418", 418, "invalid_request_error", "", ""},
		"content filter": {"content-filter", 400, "invalid_request_error", "content_filter", ""},
		"error object":   {"error-frame", 500, "server_error", "", ""}, // as it is without streaming
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := start(t, fakellm.Options{})
			r := f.chat(ask("fake-1", "#fault "+tt.fault, false))
			e := parseError(t, r)
			if r.status != tt.status || e.Type != tt.kind || str(e.Code) != tt.code || r.header.Get("Retry-After") != tt.retryAfter {
				t.Errorf("got %d, Retry-After %q, %s", r.status, r.header.Get("Retry-After"), r.body)
			}
			last, _ := f.Last()
			if last.Outcome != fakellm.OutcomeError || last.Billed != (fakellm.Usage{}) || last.Error != e.Message || len(last.Faults) != 1 {
				t.Errorf("the ledger has %+v", last)
			}
		})
	}
}

func TestFaultsOfStreams(t *testing.T) {
	t.Parallel()
	const text = "#say one two three four" // 18 units in 4 chunks
	tests := map[string]struct {
		fault   string
		want    stream
		reset   bool
		outcome fakellm.Outcome
		tokens  int
	}{
		"reset":          {fault: "reset chunks=2", want: stream{content: "one two "}, reset: true, outcome: fakellm.OutcomeReset, tokens: 2},
		"reset at end":   {fault: "reset chunks=9", want: stream{content: "one two three four"}, reset: true, outcome: fakellm.OutcomeReset, tokens: 5},
		"reset at once":  {fault: "reset chunks=0", reset: true, outcome: fakellm.OutcomeReset},
		"truncate":       {fault: "truncate", want: stream{content: "one "}, outcome: fakellm.OutcomeTruncated, tokens: 1},
		"error frame":    {fault: "error-frame chunks=0", want: stream{errors: []wireError{{Type: "server_error"}}}, outcome: fakellm.OutcomeTruncated},
		"malformed":      {fault: "malformed", want: stream{content: "one two three four", finish: "stop", done: true, broken: 1}, outcome: fakellm.OutcomeComplete, tokens: 5},
		"malformed late": {fault: "malformed chunks=9", want: stream{content: "one two three four", finish: "stop", done: true, broken: 1}, outcome: fakellm.OutcomeComplete, tokens: 5},
		"no done":        {fault: "no-done", want: stream{content: "one two three four", finish: "stop"}, outcome: fakellm.OutcomeComplete, tokens: 5},
		"empty":          {fault: "empty", want: stream{finish: "stop", done: true}, outcome: fakellm.OutcomeComplete},
		"no usage":       {fault: "no-usage", want: stream{content: "one two three four", finish: "stop", done: true}, outcome: fakellm.OutcomeComplete, tokens: 5},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := start(t, fakellm.Options{})
			r := f.chat(ask("fake-1", text+"\n#fault "+tt.fault, true))
			if tt.reset != (r.err != nil) || tt.reset && r.status != 0 && !errors.Is(r.err, syscall.ECONNRESET) {
				t.Fatalf("reading ended with %v", r.err)
			}
			got := parseStream(t, r.body)
			if wantUsage := tt.want.finish != "" && name != "no usage"; wantUsage != (len(got.usages) == 1) {
				t.Errorf("%d usage frames", len(got.usages))
			}
			got.usages, got.pieces = nil, nil
			for i := range got.errors {
				got.errors[i].Message = ""
			}
			if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(stream{})); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			last, _ := f.Last()
			if last.Outcome != tt.outcome || last.Billed.CompletionTokens != tt.tokens || last.Billed.PromptTokens == 0 {
				t.Errorf("the ledger has %s, billed %+v", last.Outcome, last.Billed)
			}
		})
	}
}

func TestFaultsOfWholeAnswers(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		fault string
		check func(reply) bool
	}{
		"reset":         {"reset", func(r reply) bool { return r.status == 200 && errors.Is(r.err, syscall.ECONNRESET) }},
		"reset at once": {"reset chunks=0", func(r reply) bool { return r.status == 0 && r.err != nil }},
		"truncate":      {"truncate", func(r reply) bool { return errors.Is(r.err, io.ErrUnexpectedEOF) && r.body != "" }},
		"malformed":     {"malformed", func(r reply) bool { return r.err == nil && r.status == 200 && !strings.HasSuffix(r.body, "}") }},
		"no usage":      {"no-usage", func(r reply) bool { return !strings.Contains(r.body, `"usage":`) && r.status == 200 }},
		"empty":         {"empty", func(r reply) bool { return strings.Contains(r.body, `"content":""`) }},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := start(t, fakellm.Options{})
			if r := f.chat(ask("fake-1", "#fault "+tt.fault, false)); !tt.check(r) {
				t.Errorf("got %+v", r)
			}
		})
	}
}

func TestDelays(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	tests := map[string]struct {
		options fakellm.Options
		text    string
		stream  bool
		want    []time.Duration
	}{
		"none":         {text: "#say a b", stream: true},
		"configured":   {options: fakellm.Options{ChunkDelay: 7 * ms}, text: "#say a b", stream: true, want: []time.Duration{7 * ms, 7 * ms}},
		"chunk delay":  {text: "#say a b c\n#fault chunk-delay", stream: true, want: []time.Duration{50 * ms, 50 * ms, 50 * ms}},
		"as a whole":   {text: "#say a b c\n#reasoning d\n#fault chunk-delay delay=2ms", want: []time.Duration{8 * ms}},
		"header delay": {text: "#say a\n#fault header-delay delay=3s", want: []time.Duration{3 * time.Second}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := start(t, tt.options)
			if r := f.chat(ask("fake-1", tt.text, tt.stream)); r.status != http.StatusOK || r.err != nil {
				t.Fatalf("got %+v", r)
			}
			if diff := cmp.Diff(tt.want, f.waits); diff != "" {
				t.Errorf("waits (-want +got)\n%s", diff)
			}
		})
	}
	for _, stream := range []bool{true, false} {
		f := start(t, fakellm.Options{})
		r := f.chat(ask("fake-1", "#say a\n#fault slow-body", stream))
		if len(f.waits) != len(r.body) || f.waits[0] != time.Second {
			t.Errorf("slow body: %d waits for %d bytes", len(f.waits), len(r.body))
		}
	}
}

func TestCountedFaults(t *testing.T) {
	t.Parallel()
	statuses := func(f *fake, model, text string, n int) (out []int) {
		for range n {
			out = append(out, f.chat(ask(model, text, false)).status)
		}
		return out
	}
	f := start(t, fakellm.Options{})
	steps := []struct {
		name, model, text string
		want              []int
	}{
		{"text", "fake-1", "#fault 503 count=2", []int{503, 503, 200}},
		{"other text", "fake-1", "#fault 503 count=1 again", []int{503, 200}},
		{"text, skip", "fake-1", "#fault 500 skip=1 count=1", []int{200, 500, 200}},
		{"model", "fake-1@429:count=1", "hi", []int{429, 200}},
		{"model, other text", "fake-1@429:count=1", "ho", []int{200}},
		{"both", "fake-1@429:count=1,skip=0@503", "hi", []int{429, 503, 503}},
	}
	for _, step := range steps {
		if got := statuses(f, step.model, step.text, len(step.want)); !slices.Equal(got, step.want) {
			t.Errorf("%s: got %v, want %v", step.name, got, step.want)
		}
	}
	f.ClearFaults()
	if got := statuses(f, "fake-1@429:count=1", "hi", 2); !slices.Equal(got, []int{429, 200}) {
		t.Errorf("after clearing: %v", got)
	}
}

func TestAdminFaults(t *testing.T) {
	t.Parallel()
	f := start(t, fakellm.Options{})
	post := func(body string) reply { return f.do(http.MethodPost, "/admin/faults", "", body) }
	if r := post(`{"kind":"429","match":"pin","model":"fake-1","count":1,"retryAfter":9,"message":"calm down"}`); r.status != 201 ||
		!strings.Contains(r.body, `"id":"f1","kind":"rate-limit","api":"chat"`) {
		t.Fatalf("got %d %s", r.status, r.body)
	}
	if r := post(`[{"kind":"no-done","keyHash":"` + fakellm.HashKey("k") + `"},{"kind":"500","api":"models"},{"kind":"chunk-delay","delay":"3ms","api":"embeddings"}]`); r.status != 201 {
		t.Fatalf("got %d %s", r.status, r.body)
	}
	if r := f.chat(ask("fake-1", "hello", false)); r.status != 200 {
		t.Errorf("not matched: %d", r.status)
	}
	for i, want := range []int{429, 200} {
		r := f.chat(ask("fake-1@no-usage", "pinned", false))
		if r.status != want || want == 429 && (!strings.Contains(r.body, "calm down") || r.header.Get("Retry-After") != "9") {
			t.Errorf("request %d: %d %s", i, r.status, r.body)
		}
	}
	if s := parseStream(t, f.do(http.MethodPost, "/v1/chat/completions", "k", ask("fake-1", "x", true)).body); s.done {
		t.Error("the fault of key k did not hit")
	}
	if last, _ := f.Last(); !slices.Equal(last.Faults, []string{"f2:no-done"}) {
		t.Errorf("the ledger has %v", last.Faults)
	}
	if r := f.do(http.MethodGet, "/v1/models", "", ""); r.status != 500 {
		t.Errorf("models: %d", r.status)
	}
	if r := f.do(http.MethodPost, "/v1/embeddings", "", `{"model":"text-embedding-3-small","input":"x"}`); r.status != 200 {
		t.Errorf("embeddings: %d", r.status)
	}
	got := f.Faults()
	if len(got) != 4 || got[0].Matched != 2 || got[0].Hits != 1 || got[2].Hits != 1 {
		t.Errorf("got %+v", got)
	}
	if r := f.do(http.MethodGet, "/admin/faults", "", ""); !strings.Contains(r.body, `"delay":"3ms","matched":1,"hits":1`) {
		t.Errorf("got %s", r.body)
	}
	for path, want := range map[string]int{"/admin/faults?id=f3": 204, "/admin/faults?id=f99": 404} {
		if r := f.do(http.MethodDelete, path, "", ""); r.status != want {
			t.Errorf("%s: %d", path, r.status)
		}
	}
	if r := f.do(http.MethodGet, "/v1/models", "", ""); r.status != 200 {
		t.Errorf("models after deletion: %d", r.status)
	}
	if r := f.do(http.MethodDelete, "/admin/faults", "", ""); r.status != 204 || len(f.Faults()) != 0 {
		t.Errorf("got %d, left %v", r.status, f.Faults())
	}
}

func TestAdminFaultsBadInput(t *testing.T) {
	t.Parallel()
	f := start(t, fakellm.Options{})
	tests := map[string]string{
		`{`:                              `reading faults`,
		`{}`:                             `fault 0: kind \"\" is not known`,
		`[{"kind":"500"},{"kind":"x"}]`:  `fault 1: kind \"x\" is not known`,
		`{"kind":"500","api":"x"}`:       `api \"x\" is not allowed: use chat, embeddings, models or *`,
		`{"kind":"500","count":-1}`:      `count is -1: allowed is 0 to 1000000`,
		`{"kind":"500","colour":"red"}`:  `unknown field`,
		`{"kind":"hang"} 1`:              `one JSON value is expected`,
		`{"kind":"reset","delay":"1"}`:   `is not a duration`,
		`{"kind":"reset","message":"x"}`: `message is not allowed with kind reset`,
	}
	for body, want := range tests {
		if r := f.do(http.MethodPost, "/admin/faults", "", body); r.status != 400 || !strings.Contains(r.body, want) {
			t.Errorf("%s: got %d %s", body, r.status, r.body)
		}
	}
	if n := len(f.Faults()); n != 0 {
		t.Errorf("%d faults were stored", n)
	}
	for range 1000 {
		if _, err := f.AddFault(fakellm.Fault{Kind: fakellm.KindEmpty}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := f.AddFault(fakellm.Fault{Kind: fakellm.KindEmpty}); err == nil {
		t.Error("no bound")
	}
	if _, err := f.AddFault(fakellm.Fault{}); err == nil {
		t.Error("no kind, no error")
	}
	if r := f.do(http.MethodPost, "/admin/faults", "", `{"kind":"empty"}`); r.status != 400 {
		t.Errorf("no bound on the endpoint: %d", r.status)
	}
}

// TestCancel checks that a handler ends when its client goes away, wherever it waits.
func TestCancel(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		text    string
		headers bool // they come before the wait
		outcome fakellm.Outcome
	}{
		"hang":         {"#fault hang", false, fakellm.OutcomeStalled},
		"header delay": {"#fault header-delay delay=1h", false, fakellm.OutcomeCanceled},
		"stall":        {"#fault stall chunks=0", true, fakellm.OutcomeStalled},
		"chunk delay":  {"#fault chunk-delay delay=1h", true, fakellm.OutcomeCanceled},
		"flood":        {"#repeat 1000000", true, fakellm.OutcomeCanceled},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			waiting := make(chan struct{}, 1)
			f := start(t, fakellm.Options{Wait: func(ctx context.Context, _ time.Duration) error {
				waiting <- struct{}{}
				<-ctx.Done()
				return ctx.Err()
			}})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			req, err := http.NewRequestWithContext(ctx, http.MethodPost, f.url+"/v1/chat/completions", strings.NewReader(ask("fake-1", tt.text, true)))
			if err != nil {
				t.Fatal(err)
			}
			if !tt.headers {
				go func() {
					defer cancel()
					if tt.outcome == fakellm.OutcomeCanceled {
						<-waiting
						return
					}
					eventually(t, "hanging", func() bool { last, ok := f.Last(); return ok && last.Outcome == tt.outcome })
				}()
			}
			resp, err := f.c.Do(req)
			if tt.headers == (err != nil) {
				t.Fatalf("got error %v", err)
			}
			if err == nil {
				cancel()
				_ = resp.Body.Close()
			}
			eventually(t, "the handler has ended", func() bool {
				last, ok := f.Last()
				return ok && last.Outcome == tt.outcome
			})
			if last, _ := f.Last(); name == "flood" && (last.Billed.CompletionTokens == 0 || last.Billed.CompletionTokens >= 750_000) {
				t.Errorf("billed %+v", last.Billed)
			}
		})
	}
}
