// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"
)

func TestCut(t *testing.T) {
	for _, tc := range []struct {
		text  string
		limit int
		want  string
	}{
		{"", 0, ""}, {"", 5, ""}, {"abc", 3, "abc"}, {"abcd", 3, "ab…"}, {"a", 0, ""}, {"ab", 1, "…"},
		{"好好好", 3, "好好好"}, {"好好好好", 3, "好好…"},
		{"\U0001F600\U0001F600", 4, "\U0001F600\U0001F600"}, {"\U0001F600\U0001F600", 3, "\U0001F600…"}, {"a\U0001F600b", 3, "a…"},
	} {
		if got := Cut(tc.text, tc.limit); got != tc.want {
			t.Errorf("%q to %d: got %q, want %q", tc.text, tc.limit, got, tc.want)
		}
	}
}

func FuzzCut(f *testing.F) {
	f.Add("a\U0001F600b", 2)
	f.Fuzz(func(t *testing.T, text string, limit int) {
		if !utf8.ValidString(text) || limit < 0 {
			return
		}
		got := Cut(text, limit)
		if n := len(utf16.Encode([]rune(got))); n > limit && limit > 0 || !utf8.ValidString(got) {
			t.Errorf("%q to %d: got %q", text, limit, got)
		}
		if !strings.HasPrefix(text, strings.TrimSuffix(got, "…")) && got != text {
			t.Errorf("%q to %d: got %q", text, limit, got)
		}
	})
}
