// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"math"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
	"github.com/aalis-dev/aalis-operator/runtime/contract/tokens"
)

func TestEstimateText(t *testing.T) {
	for name, tc := range map[string]struct {
		in   string
		want int
	}{
		"empty":               {"", 0},
		"one":                 {"a", 1},
		"26 letters":          {"abcdefghijklmnopqrstuvwxyz", 8},
		"7 letters":           {"abcdefg", 2},
		"8 letters":           {"abcdefgh", 3},
		"8 Chinese":           {"一二三四五六七八", 12},
		"1 Chinese":           {"一", 2},
		"runs":                {"ab一cd二ef", 6}, // 1 + 1.5 + 1 + 1.5 + 1
		"Hangul":              {"가나", 3},
		"kana":                {"かな", 3},
		"Yi":                  {"ꀀ", 2},
		"full width":          {"，！", 3},
		"compatibility":       {"豈︰", 3},
		"emoji is two units":  {"😀😀", 2},
		"below the first":     {"⺀\u2E7F", 3}, // 1.5 + 1
		"between the ranges":  {"\uA4D0", 1 + 1},
		"private use":         {"\uE000", 1},
		"ASCII, 1 MiB":        {strings.Repeat("a", 1048576), 299594},
		"Chinese, 555128":     {strings.Repeat("中", 555128), 832692},
		"invalid is one each": {"\xff\xff\xff\xff", 2},
	} {
		if got := tokens.Estimate.Count(tc.in); got != tc.want {
			t.Errorf("%s: got %d, want %d", name, got, tc.want)
		}
	}
}

// naive follows the definition unit by unit.
func naive(s string) int {
	total, run := 0.0, 0
	flush := func() {
		total += math.Ceil(float64(run) / 3.5)
		run = 0
	}
	for _, u := range utf16.Encode([]rune(s)) {
		if u >= 0x2E80 && u <= 0x9FFF || u >= 0xA000 && u <= 0xA4FF || u >= 0xAC00 && u <= 0xD7FF ||
			u >= 0xF900 && u <= 0xFAFF || u >= 0xFE30 && u <= 0xFE4F || u >= 0xFF00 && u <= 0xFFEF {
			flush()
			total += 1.5
		} else {
			run++
		}
	}
	flush()
	return int(math.Ceil(total))
}

func FuzzEstimateText(f *testing.F) {
	f.Add("ab一cd二😀ef\xff")
	f.Fuzz(func(t *testing.T, s string) {
		if got, want := tokens.Estimate.Count(s), naive(s); got != want {
			t.Errorf("%q: got %d, want %d", s, got, want)
		}
	})
}

func TestEstimateMessages(t *testing.T) {
	calls := []message.ToolCall{{ID: "1", Type: "function", Function: message.FunctionCall{Name: "f", Arguments: `{"a":"<b>&"}`}}}
	const callsJSON = `[{"id":"1","type":"function","function":{"name":"f","arguments":"{\"a\":\"<b>&\"}"}}]`
	for name, tc := range map[string]struct {
		in   message.Message
		want int
	}{
		"empty":           {message.Message{}, 4},
		"text":            {message.Message{Content: "abcdefg"}, 6},
		"reasoning":       {message.Message{ReasoningContent: "abcdefg"}, 6},
		"calls":           {message.Message{ToolCalls: calls}, 4 + tokens.Estimate.Count(callsJSON)},
		"what costs none": {message.Message{Name: "n", Images: []string{"i"}, Segments: []message.Segment{{Content: "c"}}}, 4},
	} {
		if got := estimating().message(&tc.in); got != tc.want {
			t.Errorf("%s: got %d, want %d", name, got, tc.want)
		}
	}
	if got := estimating().messages([]message.Message{{}, {Content: "abcdefg"}}); got != 10 {
		t.Errorf("a list is not the sum: %d", got)
	}
	if got := estimating().definitions(nil); got != 0 {
		t.Errorf("no tools cost %d", got)
	}
	tool := message.ToolDefinition{Type: "function", Function: message.ToolFunction{Name: "f", Parameters: map[string]any{"type": "object"}}}
	const toolJSON = `[{"type":"function","function":{"name":"f","description":"","parameters":{"type":"object"}}}]`
	if got, want := estimating().definitions([]message.ToolDefinition{tool}), tokens.Estimate.Count(toolJSON); got != want {
		t.Errorf("tools: got %d, want %d", got, want)
	}
	tool.Function.Parameters["bad"] = func() {}
	if got := estimating().definitions([]message.ToolDefinition{tool}); got != 0 {
		t.Errorf("what cannot be sent costs %d", got)
	}
}

func TestTimeLabel(t *testing.T) {
	zone := time.FixedZone("x", 8*3600)
	now := time.Date(2026, 11, 30, 22, 15, 0, 0, zone)
	for _, tc := range []struct {
		at   time.Time
		want string
	}{
		{time.Date(2026, 1, 15, 9, 5, 0, 0, zone), "1/15 09:05"},
		{now, "11/30 22:15"},
		{time.Date(2025, 12, 31, 23, 59, 0, 0, zone), "2025/12/31 23:59"},
		{time.Date(2025, 12, 31, 16, 1, 0, 0, time.UTC), "1/1 00:01"},
	} {
		if got := timeLabel(tc.at, now); got != tc.want {
			t.Errorf("%s: got %q, want %q", tc.at, got, tc.want)
		}
	}
	if got := labelled("1/15 09:05", labelled("1/15 09:05", "x")); got != "(1/15 09:05) x" {
		t.Errorf("labelled twice: %q", got)
	}
}

func BenchmarkEstimateText(b *testing.B) {
	s := strings.Repeat("Hello 世界, this is mixed. ", 500)
	b.SetBytes(int64(len(s)))
	for b.Loop() {
		tokens.Estimate.Count(s)
	}
}

func TestAppendQuoted(t *testing.T) {
	for in, want := range map[string]string{
		"": `""`, "a<b>&": `"a<b>&"`, "\"\\\n\r\t\b\f\x01": `"\"\\\n\r\t\b\f\u0001"`, "长😀": `"长😀"`,
	} {
		if got := string(appendQuoted(nil, in)); got != want {
			t.Errorf("%q: got %s, want %s", in, got, want)
		}
	}
}
