// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package i18n

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

var placeholder = regexp.MustCompile(`\{[^{}]*\}`)

// all is one message of every id, with values that show where they went.
func all() []Message {
	return append(append(append(commandMessages(), ofSessions()...), ofMemory()...), append(ofAuthority(), []Message{
		Busy(7), Stopping(), Interrupted(), NoAgent(), NoModel(), NoChatModel(3), ModelNotFound("<w>"),
		ModelNotAmong("<w>", "<a>"), ModelNotAmongMany("<w>", "<a>", 9), ModelTimedOut(),
		InternalError(), NoAnswer(), ToolLimit(4),
		BudgetSpent("<u>"), BudgetSpentUser("<u>"), BudgetSpentConversation("<u>"), BudgetNoPrice("<m>", "<b>"), BudgetNotReady(),
		BudgetReadOnly("<t>"), BudgetWarning("<b>", "80", "<u>"), BudgetLine("<b>", "<s>", "1", "2", "<n>", "3", "<u>"), BudgetTokens(),
		BudgetNone(), BudgetOwnersOnly(),
	}...)...)
}

func TestCatalogIsCompleteInBothLanguages(t *testing.T) {
	for id, text := range catalog {
		if strings.TrimSpace(text.en) == "" || strings.TrimSpace(text.zh) == "" {
			t.Errorf("%s: a language is missing", id)
		}
		en, zh := placeholder.FindAllString(text.en, -1), placeholder.FindAllString(text.zh, -1)
		slices.Sort(en)
		slices.Sort(zh)
		if !slices.Equal(en, zh) {
			t.Errorf("%s: placeholders differ: en %v, zh-CN %v", id, en, zh)
		}
		if strings.ContainsFunc(text.en, func(r rune) bool { return unicode.Is(unicode.Han, r) }) {
			t.Errorf("%s: the English text holds Chinese characters", id)
		}
		if !strings.ContainsFunc(text.zh, func(r rune) bool { return unicode.Is(unicode.Han, r) }) {
			t.Errorf("%s: the Chinese text holds no Chinese characters", id)
		}
	}
}

func TestEveryMessageFillsItsPlaceholders(t *testing.T) {
	seen := map[ID]bool{}
	for _, m := range all() {
		seen[m.ID()] = true
		if _, ok := catalog[m.ID()]; !ok {
			t.Errorf("%s is not in the catalog", m.ID())
		}
		for _, l := range []Language{English, Chinese} {
			got := m.In(l)
			if left := placeholder.FindString(got); left != "" {
				t.Errorf("%s in %s: placeholder %s was not filled", m.ID(), l, left)
			}
			for i := 1; i < len(m.args); i += 2 {
				if !strings.Contains(got, m.args[i]) {
					t.Errorf("%s in %s: %q is missing in %q", m.ID(), l, m.args[i], got)
				}
			}
		}
	}
	for id := range catalog {
		if !seen[id] {
			t.Errorf("no function makes %s, or this test does not know it", id)
		}
	}
}

func TestTagsAreExact(t *testing.T) {
	if got := Stopping().Notice(Chinese); !strings.HasPrefix(got, "[系统] 机器人") {
		t.Errorf("notice: got %q", got)
	}
	if got := ModelTimedOut().Failure(English); !strings.HasPrefix(got, "[错误] The model") {
		t.Errorf("failure: got %q", got)
	}
}

func TestUnknownLanguageIsEnglish(t *testing.T) {
	for _, l := range []Language{"", "fr", "zh"} {
		if got, want := NoAgent().In(l), NoAgent().In(English); got != want {
			t.Errorf("%q: got %q", l, got)
		}
	}
}

func TestValuesAreNotExpanded(t *testing.T) {
	if got := ModelNotAmong("{available}", "b").In(English); !strings.Contains(got, `"{available}"`) {
		t.Errorf("a value was taken for a template: %q", got)
	}
}

func TestCut(t *testing.T) {
	for _, tc := range []struct {
		in    string
		limit int
		want  string
	}{
		{"", 5, ""}, {"abc", 0, ""}, {"abc", -1, ""}, {"abc", 3, "abc"}, {"abcd", 3, "ab…"}, {"ab", 1, "…"},
		{"你好世界", 4, "你好世界"}, {"你好世界呀", 4, "你好世…"},
		{"😀😀", 4, "😀😀"}, {"😀😀", 3, "😀…"}, {"a😀b", 3, "a…"}, {"😀", 1, "…"},
		{"a\xffbc", 3, "a\xff…"},
	} {
		if got := Cut(tc.in, tc.limit); got != tc.want {
			t.Errorf("Cut(%q, %d): got %q, want %q", tc.in, tc.limit, got, tc.want)
		}
	}
}

func FuzzCut(f *testing.F) {
	f.Add("a😀你\xff", 3)
	f.Fuzz(func(t *testing.T, s string, limit int) {
		got := Cut(s, limit)
		if Units(got) > max(limit, 0) {
			t.Fatalf("Cut(%q, %d) has %d units", s, limit, Units(got))
		}
		if limit > 0 && Units(s) <= limit && got != s {
			t.Fatalf("Cut(%q, %d) changed a text that fits: %q", s, limit, got)
		}
		if body, cut := strings.CutSuffix(got, ellipsis); cut && got != s && !strings.HasPrefix(s, body) {
			t.Fatalf("Cut(%q, %d) is no beginning of the text: %q", s, limit, got)
		}
	})
}
