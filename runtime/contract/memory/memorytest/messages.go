// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package memorytest

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/aalis-dev/aalis-operator/runtime/contract/memory"
	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
)

func (s *suite) history() {
	s.want("empty", s.live("none", 0), "")
	s.say("s", "1", "2", "3")
	s.want("limit 2", s.live("s", 2), "2 3")
	s.want("limit 3", s.live("s", 3), "1 2 3")
	s.want("limit 100", s.live("s", 100), "1 2 3")
	s.want("default limit", s.live("s", 0), "1 2 3")
	s.want("full", s.full("s", 2), "2 3")
	many := numbers(0, memory.DefaultFullHistoryLimit+5)
	s.say("many", many...)
	s.want("default of live", s.live("many", 0), strings.Join(many[len(many)-memory.DefaultHistoryLimit:], " "))
	s.want("negative limit", s.live("many", -1), s.live("many", 0))
	s.want("default of full", s.full("many", 0), strings.Join(many[5:], " "))
}

func (s *suite) timestamp() {
	s.save("s", message.Message{Role: message.RoleUser, Content: "x"})
	ms, err := s.b.History(s.Context(), "s", 1)
	s.must(err)
	if len(ms) != 1 || ms[0].Timestamp <= 0 {
		s.Errorf("the timestamp was not filled in: %+v", ms)
	}
}

func (s *suite) clearSession() {
	s.say("a", "1", "2")
	s.say("ab", "3")
	s.say("b", "4")
	_, err := s.b.TrimHistory(s.Context(), "a", 1)
	s.must(err)
	s.must(s.b.ClearSession(s.Context(), "a"))
	s.must(s.b.ClearSession(s.Context(), "none"))
	s.want("after clearing a", s.full("a", 0)+"|"+s.full("ab", 0)+"|"+s.live("b", 0), "|3|4")
	across, err := s.b.RecentAcrossSessions(s.Context(), memory.Query{Limit: 10})
	s.must(err)
	s.want("left across sessions", len(across), 2)
	s.say("a", "new")
	s.want("a begins again", s.full("a", 0), "new")
}

func (s *suite) trim() {
	s.say("s", numbers(0, 10)...)
	for _, tc := range []struct{ keep, archived int }{{20, 0}, {10, 0}, {4, 6}, {4, 0}, {-1, 4}} {
		n, err := s.b.TrimHistory(s.Context(), "s", tc.keep)
		s.must(err)
		s.want(fmt.Sprintf("archived with keep %d", tc.keep), n, tc.archived)
		if tc.keep == 4 {
			s.want("live", s.live("s", 0), "6 7 8 9")
		}
	}
	s.want("live", s.live("s", 0), "")
	s.want("full", s.full("s", 0), strings.Join(numbers(0, 10), " "))
	s.say("s", "10", "11", "12")
	for _, tc := range []struct{ n, archived int }{{-1, 0}, {0, 0}, {2, 2}, {5, 1}, {1, 0}} {
		n, err := s.b.ArchiveOldest(s.Context(), "s", tc.n)
		s.must(err)
		s.want(fmt.Sprintf("archived oldest %d", tc.n), n, tc.archived)
		if tc.n == 2 {
			s.want("live", s.live("s", 0), "12")
		}
	}
	n, err := s.b.TrimHistory(s.Context(), "none", 0)
	s.must(err)
	s.want("unknown session", n, 0)
}

func (s *suite) inRange() {
	notice := message.Message{Role: message.RoleNotice, Kind: "poke", Content: "n", Timestamp: 30}
	s.save("s", user("a", 10), user("b", 20), notice, user("c", 40), user("other", 25))
	_, err := s.b.TrimHistory(s.Context(), "s", 2)
	s.must(err)
	for _, tc := range []struct {
		r    memory.Range
		want string
	}{
		{memory.Range{From: 10, To: 40}, "a b n c other"},
		{memory.Range{From: 20, To: 30}, "b n other"},
		{memory.Range{From: 10, To: 40, Roles: []message.Role{message.RoleUser}}, "a b c other"},
		{memory.Range{From: 10, To: 40, ExcludeKinds: []string{"poke"}}, "a b c other"},
		{memory.Range{From: 10, To: 40, ExcludeKinds: []string{"x"}}, "a b n c other"},
		{memory.Range{From: 41, To: 50}, ""},
		{memory.Range{From: 40, To: 10}, ""},
	} {
		ms, err := s.b.MessagesInRange(s.Context(), "s", tc.r)
		s.must(err)
		s.want(fmt.Sprintf("%+v", tc.r), contents(ms), tc.want)
	}
	s.say("many", numbers(0, memory.RangeLimit+3)...)
	ms, err := s.b.MessagesInRange(s.Context(), "many", memory.Range{To: 1 << 40})
	s.must(err)
	s.want("capped, oldest first", contents(ms), strings.Join(numbers(0, memory.RangeLimit), " "))
}

func (s *suite) update() {
	s.say("s", "a x a", "b", "a")
	for _, tc := range []struct {
		old, replacement string
		changed          int
		want             string
	}{
		{"", "z", 0, "a x a b a"}, {"a", "c", 2, "c x c b c"}, {"none", "z", 0, "c x c b c"}, {"c", "", 2, " x  b "},
	} {
		n, err := s.b.UpdateMessageContent(s.Context(), "s", tc.old, tc.replacement)
		s.must(err)
		s.want("changed "+tc.old, n, tc.changed)
		s.want("contents", s.live("s", 0), tc.want)
	}
	s.say("many", strings.Fields(strings.Repeat("y ", memory.UpdateWindow+2))...)
	_, err := s.b.TrimHistory(s.Context(), "many", 10)
	s.must(err)
	n, err := s.b.UpdateMessageContent(s.Context(), "many", "y", "z")
	s.must(err)
	s.want("only the newest, archived ones included", n, memory.UpdateWindow)
}

func (s *suite) remove() {
	s.save("s", user("a", 1), user("b", 2), user("c", 2), user("d", 3))
	s.save("other", user("e", 2))
	_, err := s.b.TrimHistory(s.Context(), "s", 2)
	s.must(err)
	n, err := s.b.DeleteByTimestamps(s.Context(), "s", []int64{2, 9})
	s.must(err)
	s.want("deleted", n, 2)
	s.want("left", s.full("s", 0)+"|"+s.live("s", 0)+"|"+s.live("other", 0), "a d|d|e")
	for _, none := range [][]int64{nil, {7}} {
		n, err = s.b.DeleteByTimestamps(s.Context(), "s", none)
		s.must(err)
		s.want("deleted nothing", n, 0)
	}
	many := make([]int64, 1200)
	for i := range many {
		many[i] = int64(i)
	}
	n, err = s.b.DeleteByTimestamps(s.Context(), "s", many)
	s.must(err)
	s.want("deleted the rest", n, 2)
	s.want("empty", s.full("s", 0), "")
}

// full is a message with all that every backend keeps.
func full() message.Message {
	return message.Message{
		Role: message.RoleAssistant, Content: "c", Name: "n", Kind: "k", Timestamp: 5, ReasoningContent: "r",
		ToolCallID: "tc",
		ToolCalls:  []message.ToolCall{{ID: "1", Type: "function", Function: message.FunctionCall{Name: "f", Arguments: "{}"}}},
		Segments: []message.Segment{
			{Type: message.SegmentToolCall, Name: "f", Args: map[string]any{"k": []any{map[string]any{"x": "<y>"}}}, StartTime: 1},
		},
		Metadata: map[string]any{"any": []any{"d"}, "map": map[string]any{"b": "c"}, "n": 1.5},
	}
}

func spoil(m *message.Message) {
	m.ToolCalls[0].ID = "spoilt"
	m.Segments[0].Args["k"].([]any)[0].(map[string]any)["x"] = "spoilt"
	m.Metadata["any"].([]any)[0] = "spoilt"
	m.Metadata["map"].(map[string]any)["b"] = "spoilt"
	m.Metadata["new"] = true
}

func (s *suite) copies() {
	m := full()
	s.save("s", m)
	spoil(&m)
	for range 2 {
		ms, err := s.b.History(s.Context(), "s", 1)
		s.must(err)
		if want := []message.Message{full()}; !reflect.DeepEqual(want, ms) {
			s.Fatalf("the stored message changed: got %+v, want %+v", ms, want)
		}
		spoil(&ms[0])
	}
}

func (s *suite) ties() {
	for i := range 60 {
		s.save("s", user(fmt.Sprint(i), 7))
	}
	s.want("live", s.live("s", 100), strings.Join(numbers(0, 60), " "))
	s.want("full", s.full("s", 20), strings.Join(numbers(40, 60), " "))
	n, err := s.b.TrimHistory(s.Context(), "s", 5)
	s.must(err)
	s.want("archived", n, 55)
	s.want("kept", s.live("s", 0), strings.Join(numbers(55, 60), " "))
	// What is stored later stands later, whatever its timestamp says.
	s.save("back", user("0", 9), user("1", 3), user("2", 6))
	s.want("order of saving", s.live("back", 0), "0 1 2")
	s.want("tail of it", s.live("back", 2), "1 2")
}

func (s *suite) groups() {
	calls := message.Message{Role: message.RoleAssistant, Timestamp: 1, ToolCalls: []message.ToolCall{{ID: "1", Type: "function"}, {ID: "2", Type: "function"}}}
	results := []message.Message{
		{Role: message.RoleTool, ToolCallID: "1", Content: "one", Timestamp: 1},
		{Role: message.RoleTool, ToolCallID: "2", Content: "two", Timestamp: 1},
	}
	s.must(s.b.SaveMessages(s.Context(), "s", append([]message.Message{calls}, results...)))
	s.must(s.b.SaveMessages(s.Context(), "s", nil))
	ms, err := s.b.History(s.Context(), "s", 0)
	s.must(err)
	if want := append([]message.Message{calls}, results...); !reflect.DeepEqual(want, ms) {
		s.Errorf("group: got %+v, want %+v", ms, want)
	}
}

func (s *suite) unicode() {
	for i, text := range []string{"你好，世界", "👩‍👩‍👧 \u0000 nul", "<b>&amp;</b>\u2028", "é e\u0301", strings.Repeat("汉", 1<<19)} {
		session := fmt.Sprintf("会话:%d/{a}*[?]\n", i)
		s.save(session, message.Message{Role: message.RoleUser, Content: text, Timestamp: 1, Metadata: map[string]any{"昵称": text[:3]}})
		ms, err := s.b.History(s.Context(), session, 0)
		s.must(err)
		if len(ms) != 1 || ms[0].Content != text {
			s.Errorf("text %d came back changed", i)
		}
	}
	s.save("bad", user("a\xffb", 1))
	s.want("not UTF-8", s.live("bad", 0), "a\uFFFDb")
	s.must(s.b.CommitMetadata(s.Context(), []memory.Op{put("命名空间:*", "键\x00[?]", "\"値👍\"")}))
	s.want("metadata", s.value("命名空间:*", "键\x00[?]"), "\"値👍\"")
}
