// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
	"github.com/aalis-dev/aalis-operator/runtime/contract/tokens"
)

func estimating() *counts { return newCounts(tokens.Estimate, nil) }

// messages counts a list.
func (c *counts) messages(list []message.Message) int {
	n := 0
	for i := range list {
		n += c.message(&list[i])
	}
	return n
}

// recorded is a list of 200 messages and what the rules make of it.
type recorded struct {
	Messages []message.Message
	Tokens   int
	Budget   int
	Trimmed  []message.Message
}

func readRecorded(tb testing.TB) (r recorded) {
	tb.Helper()
	f, err := os.Open("testdata/trim-200.json.gz")
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	z, err := gzip.NewReader(f)
	if err != nil {
		tb.Fatal(err)
	}
	if err := json.NewDecoder(z).Decode(&r); err != nil {
		tb.Fatal(err)
	}
	return r
}

func TestTrimEqualsTheRecording(t *testing.T) {
	r := readRecorded(t)
	if got := estimating().messages(r.Messages); got != r.Tokens {
		t.Errorf("the list counts %d, want %d", got, r.Tokens)
	}
	before, _ := json.Marshal(r.Messages)
	got := estimating().trim(r.Messages, r.Budget, 4096)
	if diff := cmp.Diff(r.Trimmed, got.list); diff != "" {
		t.Errorf("trimmed (-want +got):\n%s", diff)
	}
	if after, _ := json.Marshal(r.Messages); string(after) != string(before) {
		t.Error("the input was changed")
	}
	if sum := estimating().messages(got.list); sum != got.total || sum != 18835 || len(got.costs) != len(got.list) {
		t.Errorf("total %d, counted again %d, want 18835", got.total, sum)
	}
}

// Shorthands for lists of messages.
func sys(n int) message.Message {
	return message.Message{Role: message.RoleSystem, Content: strings.Repeat("s", n)}
}
func usr(n int) message.Message {
	return message.Message{Role: message.RoleUser, Content: strings.Repeat("u", n)}
}
func bot1(n int) message.Message {
	return message.Message{Role: message.RoleAssistant, Content: strings.Repeat("a", n)}
}
func thinking(n int) message.Message {
	return message.Message{Role: message.RoleAssistant, Content: "a", ReasoningContent: strings.Repeat("r", n)}
}
func calling(text string, ids ...string) message.Message {
	m := message.Message{Role: message.RoleAssistant, Content: text}
	for _, id := range ids {
		m.ToolCalls = append(m.ToolCalls, toolCall(id))
	}
	return m
}
func result(id string, n int) message.Message {
	return message.Message{Role: message.RoleTool, ToolCallID: id, Content: strings.Repeat("t", n)}
}

// shape spells a list: role letter and length of each, with what was cut marked.
func shape(list []message.Message) string {
	var out []string
	for _, m := range list {
		s := fmt.Sprintf("%c%d", m.Role[0], units(m.Content))
		if m.ReasoningContent != "" {
			s += fmt.Sprintf("/%d", units(m.ReasoningContent))
		}
		switch {
		case m.Content == continuationHint:
			s = "hint"
		case strings.Contains(m.Content, oldToolCalls):
			s = m.Content
		case len(m.ToolCalls) > 0:
			s += "!"
		}
		out = append(out, s)
	}
	return strings.Join(out, " ")
}

func TestTrimStages(t *testing.T) {
	for name, tc := range map[string]struct {
		list           []message.Message
		budget, memory int
		want, stage    string
	}{
		"within the budget":   {[]message.Message{sys(10), usr(10)}, 100, 0, "s10 u10", ""},
		"1 in proportion":     {[]message.Message{sys(700), sys(700), sys(2800), usr(7)}, 750, 500, "s700 s361 s1402 u7", "1"},
		"1 leaves 200":        {[]message.Message{sys(700), sys(201), sys(200), sys(9000), usr(7)}, 430, 10, "s700 s214 s200 s214 u7", "1"},
		"1 not the last":      {[]message.Message{sys(7), sys(700)}, 100, 10, "s7 s700", "5"},
		"1 within its share":  {[]message.Message{sys(7), sys(700), usr(700), usr(70)}, 250, 1000, "s7 s700 u70", "4"},
		"2 longer than 1500":  {[]message.Message{sys(7), usr(7), calling("", "1", "2"), result("1", 1500), result("2", 1501), usr(7)}, 700, 0, "s7 u7 a0! t1500 t514 u7", "2"},
		"2 stops in time":     {[]message.Message{sys(7), calling("", "1", "2"), result("1", 3000), result("2", 3000), usr(7)}, 1200, 0, "s7 a0! t514 t3000 u7", "2"},
		"2 not the last":      {[]message.Message{sys(7), calling("", "1"), result("1", 3000)}, 100, 0, "s7 a0! t3000", "5"},
		"2.5 old and newest":  {[]message.Message{sys(7), thinking(700), thinking(200), thinking(700), usr(7)}, 290, 0, "s7 a1/214 a1/200 a1/414 u7", "2.5"},
		"2.5 newest is short": {[]message.Message{sys(7), thinking(700), thinking(300), usr(7)}, 180, 0, "s7 a1/214 a1/300 u7", "2.5"},
		"3 old groups": {
			[]message.Message{sys(7), calling("x", "1", "2"), result("1", 101), calling("", "3"), result("3", 700), calling("", "4"), result("4", 10), usr(7)},
			150, 0,
			"s7 x\n[历史工具调用] f → " + strings.Repeat("t", 100) + "... | f → (无结果) [历史工具调用] f → " + strings.Repeat("t", 100) + "... a0! t10 u7", "3",
		},
		"3 only if it saves": {
			[]message.Message{sys(7), usr(7), calling("", "1"), result("1", 1), calling("", "2"), result("2", 1), usr(700)},
			20, 0, "s7 a0! t1 u700", "5",
		},
		"4 oldest first, no hint": {
			[]message.Message{sys(7), usr(70), bot1(70), usr(70), bot1(70), usr(70), bot1(70), usr(70), bot1(70), usr(7)}, 60, 0,
			"s7 u70 a70 u7", "4",
		},
		"4 keeps the last user message": {
			[]message.Message{sys(7), usr(70), bot1(70), usr(70), bot1(700)}, 240, 0, "s7 u70 a700", "4",
		},
		"4 takes whole groups": {
			[]message.Message{sys(7), calling("", "1"), result("1", 1), bot1(7), calling("", "2"), result("2", 1), usr(70)}, 80, 0,
			"s7 a7 a0! t1 u70", "4",
		},
		"5 is the last resort": {
			[]message.Message{sys(7), sys(70), usr(70), sys(70), usr(700)}, 235, 1000, "s7 s70 u700", "5",
		},
		"5 with a hint": {
			[]message.Message{sys(7), sys(70), usr(70), bot1(70), usr(70), bot1(70), usr(70), bot1(70), usr(700), bot1(7)}, 10, 1000,
			"s7 u700 hint a7", "5",
		},
		"5 with five removed": {
			[]message.Message{sys(7), usr(70), bot1(70), usr(70), bot1(70), usr(70), usr(700)}, 10, 0, "s7 u700", "5",
		},
		"5 with a hint and no user": {
			[]message.Message{sys(7), bot1(70), bot1(70), bot1(70), bot1(70), bot1(70), sys(70), bot1(700)}, 10, 1000, "s7 hint a700", "5",
		},
		"nothing at all": {nil, 0, 0, "", ""},
		"one message":    {[]message.Message{sys(700)}, 1, 0, "s700", "5"},
	} {
		got := estimating().trim(tc.list, tc.budget, tc.memory)
		if s := shape(got.list); s != tc.want || got.stage != tc.stage {
			t.Errorf("%s: got %q at stage %s with %d tokens, want %q at %s", name, s, got.stage, got.total, tc.want, tc.stage)
		}
		if sum := estimating().messages(got.list); sum != got.total {
			t.Errorf("%s: total %d, counted again %d", name, got.total, sum)
		}
	}
}

func TestCutUnits(t *testing.T) {
	for _, tc := range []struct {
		in    string
		limit int
		want  string
		cut   bool
	}{
		{"abc", 3, "abc", false}, {"abc", 2, "ab", true}, {"中文字", 2, "中文", true}, {"a😀b", 2, "a", true},
		{"a😀b", 3, "a😀", true}, {"a😀b", 4, "a😀b", false}, {"", 0, "", false}, {"x", 0, "", true}, {"\xff\xffa", 2, "\xff\xff", true},
	} {
		if got, cut := cutUnits(tc.in, tc.limit); got != tc.want || cut != tc.cut {
			t.Errorf("%q to %d: got %q, %v", tc.in, tc.limit, got, cut)
		}
	}
}

// conversations draws lists such as a turn makes: whole groups, system messages anywhere, any lengths.
func conversations(t *rapid.T) []message.Message {
	list := []message.Message{sys(rapid.IntRange(0, 900).Draw(t, "first"))}
	id := 0
	for range rapid.IntRange(0, 30).Draw(t, "parts") {
		n := rapid.IntRange(0, 4000).Draw(t, "length")
		switch rapid.IntRange(0, 4).Draw(t, "kind") {
		case 0:
			list = append(list, usr(n))
		case 1:
			list = append(list, bot1(n))
		case 2:
			list = append(list, thinking(n))
		case 3:
			list = append(list, sys(n))
		case 4:
			var ids []string
			for range rapid.IntRange(1, 4).Draw(t, "calls") {
				id++
				ids = append(ids, fmt.Sprint(id))
			}
			list = append(list, calling("", ids...))
			for _, i := range ids {
				list = append(list, result(i, n))
			}
		}
	}
	return list
}

// TestTrimKeepsItsPromises: what is protected stays, groups stay whole, order stays, and a list that is still too long
// has nothing left to give.
func TestTrimKeepsItsPromises(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := conversations(t)
		if rapid.Bool().Draw(t, "ends with a user") {
			list = append(list, usr(rapid.IntRange(0, 3000).Draw(t, "last")))
		}
		budget, memory := rapid.IntRange(0, 9000).Draw(t, "budget"), rapid.IntRange(0, 5000).Draw(t, "memory")
		before := slices.Clone(list)
		got := estimating().trim(list, budget, memory)
		if diff := cmp.Diff(before, list); diff != "" {
			t.Fatalf("the input was changed:\n%s", diff)
		}
		if _, dropped := wholeToolGroups(got.list); dropped > 0 {
			t.Fatalf("a tool group was split: %s", shape(got.list))
		}
		rest := slices.DeleteFunc(slices.Clone(got.list), func(m message.Message) bool { return m.Content == continuationHint })
		if !cmp.Equal(rest[0], list[0]) || rest[len(rest)-1].Role != list[len(list)-1].Role {
			t.Fatalf("the first or the last message is gone: %s", shape(got.list))
		}
		if i := beforeLastUser(list); i >= 0 && !slices.ContainsFunc(got.list, func(m message.Message) bool {
			return m.Role == message.RoleUser && m.Content == list[i].Content
		}) {
			t.Fatalf("the last message of a user is gone: %s", shape(got.list))
		}
		if groups := (&trimmer{trimmed: trimmed{list: list}}).groups(); len(groups) > 0 {
			last := list[groups[len(groups)-1].from]
			if !slices.ContainsFunc(got.list, func(m message.Message) bool { return cmp.Equal(m.ToolCalls, last.ToolCalls) }) {
				t.Fatalf("the last group is gone: %s", shape(got.list))
			}
		}
		without := got.total
		if len(rest) < len(got.list) {
			without -= estimating().messages([]message.Message{system(injectorOther, continuationHint)})
		}
		if without > budget && slices.ContainsFunc(got.list[1:max(1, len(got.list)-1)], func(m message.Message) bool {
			return m.Role == message.RoleSystem && m.Content != continuationHint
		}) {
			t.Fatalf("over budget with system messages left: %s", shape(got.list))
		}
		if sum := estimating().messages(got.list); sum != got.total {
			t.Fatalf("total %d, counted again %d", got.total, sum)
		}
	})
}

// long repeats the recorded conversation until it has n messages.
func long(tb testing.TB, n int) []message.Message {
	tb.Helper()
	r := readRecorded(tb)
	list := slices.Clone(r.Messages)
	for i := 1; len(list) < n; i++ {
		for _, m := range r.Messages {
			if m.Content != "" {
				m.Content = fmt.Sprint(i) + m.Content // a text of its own, so that it is counted
			}
			list = append(list, m)
		}
	}
	return list[:n]
}

func BenchmarkTrim(b *testing.B) {
	for _, n := range []int{200, 2000, 10000} {
		list := long(b, n)
		budget := estimating().messages(list) / 4
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				estimating().trim(list, budget, 4096)
			}
		})
		b.Run(fmt.Sprint(n)+"/counted", func(b *testing.B) {
			c := estimating()
			for b.Loop() {
				c.trim(list, budget, 4096)
			}
		})
	}
}
