// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package llmdeepseek

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/aalis-dev/aalis-operator/runtime/contract/llm"
	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
	"github.com/aalis-dev/aalis-operator/runtime/llmhttp/llmtest"
)

const leaked = "<｜DSML｜tool_calls>\n<｜DSML｜invoke name=\"weather\">\n<｜DSML｜parameter name=\"city\" string=\"true\">Berlin</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜tool_calls>"

// Case 8.7.3: variants of the markup.
func TestCase873Markup(t *testing.T) {
	tests := []struct {
		name, text string
		want       []string // name and arguments
	}{
		{"single bars", leaked, []string{`weather {"city":"Berlin"}`}},
		{"double bars", strings.ReplaceAll(leaked, "｜", "｜｜"), []string{`weather {"city":"Berlin"}`}},
		{"half-width bars", strings.ReplaceAll(leaked, "｜", "|"), []string{`weather {"city":"Berlin"}`}},
		{"blank before", strings.ReplaceAll(leaked, "｜DSML", "｜ DSML"), []string{`weather {"city":"Berlin"}`}},
		{"several", `<|DSML|invoke name="a"></|DSML|invoke><|DSML|invoke name="b"><|DSML|parameter name="x">1</|DSML|parameter></|DSML|invoke>`, []string{"a {}", `b {"x":"1"}`}},
		{"values stay texts", `<|DSML|invoke name="a"><|DSML|parameter name="n" string="false">5</|DSML|parameter></|DSML|invoke>`, []string{`a {"n":"5"}`}},
		{"duplicates once", leaked + leaked, []string{`weather {"city":"Berlin"}`}},
		{"many lines", `<|DSML|invoke name="a"><|DSML|parameter name="x">1 < 2` + "\n" + `"3" & 你</|DSML|parameter></|DSML|invoke>`, []string{`a {"x":"1 < 2\n\"3\" & 你"}`}},
		{"prefix ignored", "I will look. " + leaked, []string{`weather {"city":"Berlin"}`}},
		{"unclosed", `<|DSML|invoke name="a"><|DSML|parameter name="x">1`, nil},
		{"unclosed before a closed one", `<|DSML|invoke name="a"><|DSML|invoke name="b"></|DSML|invoke>`, []string{"b {}"}},
		{"no name", `<|DSML|invoke name=""></|DSML|invoke>`, nil},
		{"none", "a <b> | DSML", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, c := range parseMarkup(tt.text, testTime) {
				got = append(got, c.Function.Name+" "+c.Function.Arguments)
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Error(d)
			}
		})
	}
	if got := parseMarkup(leaked, testTime)[0].ID; got != "call_dsml_loyw3v28_0" {
		t.Errorf("id is %s", got)
	}
}

// Case 8.7.3: the markup in a stream, cut at every place.
func TestCase873Filter(t *testing.T) {
	own := []message.ToolCall{{ID: "own"}}
	tests := []struct {
		name, text, want string
		calls            []message.ToolCall
		wantCalls        int
	}{
		{"leak", "好，look: " + leaked, "好，look: ", nil, 1},
		{"leak and own calls", "a" + leaked, "a", own, 1},
		{"no leak", "a < b <| c <｜ DSM and </｜x", "a < b <| c <｜ DSM and </｜x", nil, 0},
		{"ends like a tag", "a <｜DSM", "a <｜DSM", nil, 0},
		{"empty", "", "", nil, 0},
	}
	for _, tt := range tests {
		runes := []rune(tt.text)
		for cut := range len(runes) + 1 {
			for _, pieces := range [][]string{{string(runes[:cut]), string(runes[cut:])}, split(runes)} {
				var got strings.Builder
				var calls []message.ToolCall
				f := filter{now: func() time.Time { return testTime }, onChunk: func(c llm.Chunk) error {
					got.WriteString(c.ContentDelta)
					calls = c.ToolCalls
					return nil
				}}
				for _, p := range pieces {
					if err := f.chunk(llm.Chunk{ContentDelta: p}); err != nil {
						t.Fatal(err)
					}
				}
				if err := f.chunk(llm.Chunk{Done: true, ToolCalls: tt.calls}); err != nil {
					t.Fatal(err)
				}
				if got.String() != tt.want || len(calls) != tt.wantCalls {
					t.Fatalf("%s cut at %d: got %q and %d calls", tt.name, cut, got.String(), len(calls))
				}
			}
		}
	}
}

func split(runes []rune) []string {
	out := make([]string, len(runes))
	for i, r := range runes {
		out[i] = string(r)
	}
	return out
}

func TestLeakInAWholeReply(t *testing.T) {
	h, _ := start(t, "application/json", `{"choices":[{"message":{"role":"assistant","content":"ok `+
		strings.NewReplacer(`"`, `\"`, "\n", `\n`).Replace(leaked)+`"},"finish_reason":"stop"}]}`, nil)
	m := llmtest.Model(t, h, "deepseek-chat")
	got, err := m.Chat(t.Context(), llmtest.User("hi"))
	if err != nil || got.Content != "ok " || len(got.ToolCalls) != 1 {
		t.Errorf("got %+v, %v", got, err)
	}
	streamed, err := llmtest.Collect(t.Context(), m, llmtest.User("hi"))
	if err != nil || streamed.Content != "ok " || len(streamed.ToolCalls) != 1 {
		t.Errorf("got %+v, %v", streamed.Response, err)
	}
}

// Case 8.7.6: thousands of bars finish fast.
func TestCase876ManyBars(t *testing.T) {
	text := "<" + strings.Repeat("｜", 200_000)
	if before, markup := cutMarkup(text); before != text || markup != "" {
		t.Error("bars alone are taken for markup")
	}
	f := filter{onChunk: func(llm.Chunk) error { return nil }, now: time.Now}
	for range 20_000 {
		if err := f.chunk(llm.Chunk{ContentDelta: "<｜｜｜"}); err != nil {
			t.Fatal(err)
		}
	}
	if len(f.held) > maxHeld {
		t.Errorf("%d bytes are held", len(f.held))
	}
}

func FuzzMarkup(f *testing.F) {
	f.Add(leaked, 3)
	f.Add("a <｜DS", 5)
	f.Fuzz(func(t *testing.T, text string, cut int) {
		for _, c := range parseMarkup(text, testTime) {
			if c.Function.Name == "" || !strings.HasPrefix(c.Function.Arguments, "{") {
				t.Errorf("call is %+v", c)
			}
		}
		if !utf8.ValidString(text) {
			return // a piece comes out of a JSON text, whole characters only
		}
		cut = max(0, min(cut, len(text)))
		for cut < len(text) && !utf8.RuneStart(text[cut]) {
			cut++
		}
		var got strings.Builder
		fl := filter{now: func() time.Time { return testTime }, onChunk: func(c llm.Chunk) error {
			got.WriteString(c.ContentDelta)
			return nil
		}}
		_ = fl.chunk(llm.Chunk{ContentDelta: text[:cut]})
		_ = fl.chunk(llm.Chunk{ContentDelta: text[cut:], Done: true})
		if before, _ := cutMarkup(text); len(text) < maxHeld && got.String() != before {
			t.Errorf("%q cut at %d: got %q, want %q", text, cut, got.String(), before)
		}
	})
}
