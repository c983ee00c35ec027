// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/aalis-dev/aalis-operator/hack/fakellm/fakellm"
	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
	"github.com/aalis-dev/aalis-operator/runtime/host"
	"github.com/aalis-dev/aalis-operator/runtime/i18n"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
)

// TestBadMessages: whatever people send, they get an answer or are told what is wrong with it, and what is remembered and
// sent to a model is text.
func TestBadMessages(t *testing.T) {
	const tail = `\n#say fine`
	body := func(content string) string {
		return `{"stream":true,"user":"s","messages":[{"role":"user","content":` + content + `}]}`
	}
	for name, tc := range map[string]struct {
		body   string
		status int
		want   string // in the answer
		stored string // the message; none if empty
	}{
		"empty":                {body(`""`), 400, "content", ""},
		"blank":                {body(`" \n "`), 400, "content", ""},
		"no content":           {body(`null`), 400, "content", ""},
		"lone surrogates":      {body(`"a\ud800b\udc00c` + tail + `"`), 200, "fine", "a\uFFFDb\uFFFDc\n#say fine"},
		"half a surrogate":     {body(`"\ud83d` + tail + `"`), 200, "fine", "\uFFFD\n#say fine"},
		"invalid UTF-8":        {body("\"a\xff\xed\xa0\x80" + tail + `"`), 200, "fine", "*"},
		"a nought":             {body(`"a\u0000b` + tail + `"`), 200, "fine", "*"},
		"a mebibyte":           {body(`"` + strings.Repeat("长文", 1<<20/6) + tail + `"`), 200, "", "*"},
		"a mebibyte of blanks": {body(`"x` + strings.Repeat(" ", 1<<20) + tail + `"`), 200, "", "*"},
		"no JSON":              {`{"messages":`, 400, "JSON", ""},
		"too much":             {body(`"` + strings.Repeat("x", 8<<20) + `"`), 413, "may not be longer", ""},
	} {
		t.Run(name, func(t *testing.T) {
			b := start(t, recipe{home: homes()["SQLite, Chinese"]})
			h := b.post(tc.body)
			if h.status != tc.status || !h.ended || !strings.Contains(h.text, tc.want) || h.text == "" || h.took > deadline {
				t.Errorf("heard %.200q, status %d, ended %v after %s, want %q\n%s", h.text, h.status, h.ended, h.took, tc.want, b.Logs)
			}
			list := b.history()
			if tc.stored == "" {
				whole(t, list)
				b.goesOn()
				return
			}
			if len(list) == 0 || tc.stored != "*" && list[0].Content != tc.stored || !utf8.ValidString(list[0].Content) {
				t.Fatalf("stored %d messages, the first is not %q", len(list), tc.stored)
			}
			whole(t, list, list[0].Content)
			b.goesOn(list[0].Content)
			for _, r := range b.fake.Requests() {
				if !utf8.Valid(r.Body) || strings.Contains(string(r.Body), `\ud8`) {
					t.Errorf("a request holds what is no text")
				}
			}
		})
	}
}

// TestTenThousandToolCalls: a model that asks for far too much at once, under names and with arguments that no vendor takes.
func TestTenThousandToolCalls(t *testing.T) {
	for where, home := range homes() {
		t.Run(where, func(t *testing.T) {
			good := fakellm.New(fakellm.Options{})
			s := &switchable{}
			s.good.Store(good)
			s.bad = func(w http.ResponseWriter, _ *http.Request) {
				s.mended.Store(true)
				w.Header().Set("Content-Type", "text/event-stream")
				for i := range 10_000 {
					_, _ = fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":%d,\"id\":\"c%d\","+
						"\"function\":{\"name\":\"no such tool %d!\",\"arguments\":\"{\\\"a\\\":\"}}]}}]}\n\n", i, i%7, i)
				}
				_, _ = io.WriteString(w, "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\ndata: [DONE]\n\n")
			}
			b := start(t, recipe{home: home, server: s})
			h := b.ask(asked)
			if h.status != http.StatusOK || !h.ended || h.text == "" || h.took > deadline {
				t.Errorf("heard %+v\n%s", h, b.Logs)
			}
			list := b.history()
			whole(t, list, asked)
			if len(list) < 2 || len(list[1].ToolCalls) != 128 || !strings.Contains(list[len(list)-2].Content, "10000") {
				t.Errorf("stored %d messages, and nothing of the calls left out", len(list))
			}
			b.goesOn(asked)
		})
	}
}

// TestUselessProviders: without a model there is a notice and not an error, and whoever mends the provider is heard.
func TestUselessProviders(t *testing.T) {
	for name, tc := range map[string]struct {
		config map[string]any
		fault  fakellm.Fault
		want   i18n.Message
	}{
		"no models":   {map[string]any{"customModels": ""}, fakellm.Fault{Kind: "empty", API: "models"}, i18n.NoModel()},
		"no list":     {map[string]any{"customModels": ""}, fakellm.Fault{Kind: "503", API: "models"}, i18n.NoModel()},
		"no sense":    {map[string]any{"customModels": ""}, fakellm.Fault{Kind: "malformed", API: "models"}, i18n.NoModel()},
		"none at all": {nil, fakellm.Fault{Kind: "no-usage"}, i18n.NoModel()},
	} {
		t.Run(name, func(t *testing.T) {
			fake := fakellm.New(fakellm.Options{})
			if _, err := fake.AddFault(tc.fault); err != nil {
				t.Fatal(err)
			}
			r := recipe{home: homes()["in memory, English"], server: fake, configs: map[string]map[string]any{provider: tc.config}}
			if tc.config == nil {
				r.omit = []string{provider}
			}
			b := start(t, r)
			for n := range 2 {
				if h := b.ask(asked); !h.notice || h.text != tc.want.Notice(i18n.English) {
					t.Errorf("heard %+v, want %q\n%s", h, tc.want.Notice(i18n.English), b.Logs)
				}
				whole(t, b.history(), slices.Repeat([]string{asked}, n+1)...)
			}
		})
	}
}

// TestNoContextLength: a context window declared as nothing is refused with the field and the bound, at the start and while
// the bot runs, which goes on with what it had.
func TestNoContextLength(t *testing.T) {
	b := start(t, recipe{home: homes()["in memory, English"]})
	cfg := b.App.Config()
	cfg.Plugins = maps.Clone(cfg.Plugins)
	p := cfg.Plugins[provider]
	p.Config = maps.Clone(p.Config)
	p.Config["contextLength"] = json.Number("0")
	cfg.Plugins[provider] = p
	const want = "config.contextLength: must be at least 1024, got 0"
	if _, err := b.App.Apply(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("applying: %v, want %q", err, want)
	}
	if _, err := kernel.New(kernel.Options{Modules: host.Modules(), Config: cfg, Now: time.Now}); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("making an app: %v, want %q", err, want)
	}
	b.goesOn()
}

// TestInvalidReplies: what a model says that is no text becomes text before anybody sees or stores it.
func TestInvalidReplies(t *testing.T) {
	for name, raw := range map[string]string{
		"lone surrogate": `"a\ud800b"`, "invalid UTF-8": "\"a\xffb\"", "a nought": `"a\u0000b"`,
	} {
		t.Run(name, func(t *testing.T) {
			s := &switchable{bad: write("text/event-stream",
				`data: {"choices":[{"index":0,"delta":{"content":`+raw+`},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")}
			s.good.Store(fakellm.New(fakellm.Options{}))
			b := start(t, recipe{home: homes()["SQLite, Chinese"], server: s})
			if h := b.ask(asked); !h.ended || !strings.HasPrefix(h.text, "a") || !utf8.ValidString(h.text) {
				t.Errorf("heard %+v\n%s", h, b.Logs)
			}
			list := b.history()
			whole(t, list, asked)
			for _, m := range list {
				if m.Role == message.RoleAssistant && !utf8.ValidString(m.Content) {
					t.Errorf("stored %q", m.Content)
				}
			}
			s.mended.Store(true)
			b.goesOn(asked)
		})
	}
}
