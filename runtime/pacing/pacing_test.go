// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package pacing_test

import (
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/aalis-dev/aalis-operator/runtime/pacing"
)

var usual = []string{"。", "！", "？", ".", "!", "?", `\n`, "..."}

// TestSplit is section 19.6 and trap 22.
func TestSplit(t *testing.T) {
	for text, want := range map[string][]string{
		"good day.":              {"good day."},
		"good day. how are you?": {"good day", "how are you"},
		"今天天气不错。要不要出去走走？":                                 {"今天天气不错", "要不要出去走走"},
		"well... let us see":                              {"well", "let us see"},
		"first line\nsecond line\n\n":                     {"first line", "second line"},
		"...............":                                 {"..............."},
		" . . . hello there . ":                           {"hello there"},
		`hi <at id="1">A. B. Smith</at>, you`:             {`hi <at id="1">A. B. Smith</at>, you`},
		`see <image url="http://a.b/c.png"/> that one.`:   {"see", `<image url="http://a.b/c.png"/>`, "that one"},
		`<image url="a"/>`:                                {`<image url="a"/>`},
		`x<image url="a"/>y`:                              {"x", `<image url="a"/>`, "y"},
		`<face id="1.2"/> so nice. <record url="x.mp3"/>`: {`<face id="1.2"/> so nice`, `<record url="x.mp3"/>`},
		"": {""},
	} {
		if got := pacing.Split(text, usual); !slices.Equal(got, want) {
			t.Errorf("%q: got %q", text, got)
		}
	}
	if got := pacing.Split("one. two. three. four", nil); !slices.Equal(got, []string{"one. two. three. four"}) {
		t.Errorf("without patterns: %q", got)
	}
	if got := pacing.Split(`one\two\three and more`, []string{`\\`}); !slices.Equal(got, []string{"one", "two", "three and more"}) {
		t.Errorf("an escaped pattern: %q", got)
	}
}

func TestDelay(t *testing.T) {
	for _, tc := range []struct {
		piece   string
		per, to time.Duration
		want    time.Duration
	}{
		{"hello", 50 * time.Millisecond, 3 * time.Second, 250 * time.Millisecond},
		{"你好🦉", 50 * time.Millisecond, 3 * time.Second, 150 * time.Millisecond},
		{strings.Repeat("x", 1000), 50 * time.Millisecond, 3 * time.Second, 3 * time.Second},
		{`<at id="1">somebody with a long name</at>hi`, 50 * time.Millisecond, 3 * time.Second, 100 * time.Millisecond},
		{`<image url="x"/>`, 50 * time.Millisecond, 3 * time.Second, 0},
		{"hello", 0, time.Second, 0}, {"hello", time.Second, 0, 5 * time.Second}, {"hello", -time.Second, time.Second, 0},
	} {
		if got := pacing.Delay(tc.piece, tc.per, tc.to); got != tc.want {
			t.Errorf("%q: got %s, want %s", tc.piece, got, tc.want)
		}
	}
}

// FuzzSplit: nothing is made up, no character is cut, and no piece is blank unless the whole is.
func FuzzSplit(f *testing.F) {
	f.Add("one. two <at id=\"1\">a.b</at> three!", ".")
	f.Add("<image url=\"a.b\"/><image", "\\n")
	f.Fuzz(func(t *testing.T, text, pattern string) {
		pieces := pacing.Split(text, []string{pattern, "."})
		rest := text
		for _, p := range pieces {
			at := strings.Index(rest, p)
			if at < 0 {
				t.Fatalf("%q is no part of the rest of %q", p, text)
			}
			rest = rest[at+len(p):]
			if utf8.ValidString(text) && utf8.ValidString(pattern) && !utf8.ValidString(p) {
				t.Fatalf("%q cuts a character of %q", p, text)
			}
			if strings.TrimSpace(p) == "" && len(pieces) > 1 {
				t.Fatalf("a blank piece of %q", text)
			}
		}
	})
}
