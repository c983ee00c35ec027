// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package fakellm

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestWords(t *testing.T) {
	t.Parallel()
	tests := map[string][]string{
		"":                       nil,
		"one":                    {"one"},
		"one  two\nthree ":       {"one  ", "two\n", "three "},
		" lead":                  {" ", "lead"},
		"你好，world！再见":            {"你", "好，", "world！", "再", "见"},
		"e\u0301 👩‍👧👍🏽 ok":       {"e\u0301 ", "👩‍👧👍🏽 ", "ok"},
		"漢\U000E0100字":           {"漢\U000E0100", "字"},
		"bad \xff byte \xe4\xbd": {"bad ", "\xff ", "byte ", "\xe4\xbd"},
	}
	for text, want := range tests {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(want, slices.Collect(words(text))); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestPieces(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		text string
		n    int
		want []string
	}{
		"one":          {text: "abc", n: 1, want: []string{"abc"}},
		"even":         {text: "abcdef", n: 3, want: []string{"ab", "cd", "ef"}},
		"uneven":       {text: "abcde", n: 2, want: []string{"ab", "cde"}},
		"more than it": {text: "ab", n: 9, want: []string{"a", "b"}},
		"empty":        {text: "", n: 4},
		"wide":         {text: "你好😀", n: 3, want: []string{"你", "好", "😀"}},
		"glued":        {text: "👩‍👧", n: 3, want: []string{"👩‍👧"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, slices.Collect(pieces(tt.text, tt.n))); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func FuzzSplit(f *testing.F) {
	f.Add("hello 你好 👩‍👧", 3)
	f.Fuzz(func(t *testing.T, text string, n int) {
		n = min(max(n, 0), 1000)
		var parts []string
		for part := range split(text, n) {
			if part == "" {
				t.Fatal("an empty part")
			}
			parts = append(parts, part)
		}
		if strings.Join(parts, "") != text {
			t.Fatalf("the parts %q do not make %q", parts, text)
		}
		if n > 0 && len(parts) > n {
			t.Fatalf("%d parts, asked for %d", len(parts), n)
		}
		if !utf8.ValidString(text) {
			return
		}
		for _, part := range parts {
			if !utf8.ValidString(part) {
				t.Fatalf("the part %q is cut inside a character", part)
			}
		}
	})
}

func FuzzAppendString(f *testing.F) {
	f.Add("a\"b\\\n\t\x01\x7f<>&\u2028😀\xff")
	f.Fuzz(func(t *testing.T, s string) {
		quoted := appendString(nil, s)
		var got string
		if err := json.Unmarshal(quoted, &got); err != nil {
			t.Fatalf("%q is not JSON: %v", quoted, err)
		}
		if want := strings.ToValidUTF8(replaceEach(s), "\ufffd"); got != want {
			t.Fatalf("got %q, want %q", got, want)
		}
		if strings.ContainsAny(string(quoted), "\n\r") {
			t.Fatal("a line end would break the frame")
		}
	})
}

// replaceEach replaces every byte that is not UTF-8 by U+FFFD; strings.ToValidUTF8 alone replaces a run of them by one.
func replaceEach(s string) string {
	var b strings.Builder
	for _, r := range s {
		b.WriteRune(r)
	}
	return b.String()
}

func TestTokens(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{"": 0, "a": 1, "abcd": 1, "abcde": 2, "你好": 1, "😀😀😀": 2} {
		if got := tokensOf(units(text)); got != want {
			t.Errorf("%q has %d tokens, want %d", text, got, want)
		}
	}
	if got := cutUnits("a😀b", 2); got != "a" {
		t.Errorf("cut inside a character: %q", got)
	}
	if got := cutTokens("abcdefgh", 1); got != "abcd" {
		t.Errorf("got %q", got)
	}
}

func TestPrefixCache(t *testing.T) {
	t.Parallel()
	c := newPrefixCache(4)
	steps := []struct {
		scope    string
		elements string // one letter an element
		want     int
	}{
		{"m", "abc", 0},
		{"m", "abc", 3},
		{"m", "abd", 2},
		{"n", "abc", 0}, // forgets all of m but what fits: 4 in all
		{"n", "b", 0},
		{"n", "abc", 3},
		{"m", "abc", 0},
	}
	for i, step := range steps {
		var elements [][]byte
		for _, e := range step.elements {
			elements = append(elements, []byte(string(e)))
		}
		if got := c.observe(step.scope, elements); got != step.want {
			t.Errorf("step %d: %d in common, want %d", i, got, step.want)
		}
		if n := c.seen.order.Len(); n > 4 || n != len(c.seen.items) {
			t.Errorf("step %d: %d prefixes remembered", i, n)
		}
	}
	c.clear()
	if got := c.observe("m", [][]byte{[]byte("a")}); got != 0 {
		t.Errorf("after clear: %d in common", got)
	}
}

func TestLedgerBounds(t *testing.T) {
	t.Parallel()
	l := newLedger(3, 10)
	for i := range 5 {
		e := &Entry{API: apiChat, Outcome: OutcomeRunning}
		l.add(e)
		l.setBody(e, []byte(strings.Repeat("x", 4)))
		if i == 0 {
			l.settle(e, settlement{outcome: OutcomeComplete, bill: Usage{PromptTokens: 1}, accepted: true})
			l.settle(e, settlement{outcome: OutcomeCanceled, bill: Usage{PromptTokens: 5}, accepted: true})
		}
	}
	var ids []uint64
	for _, e := range l.list(func(*Entry) bool { return true }) {
		ids = append(ids, e.ID)
	}
	if diff := cmp.Diff([]uint64{4, 5}, ids); diff != "" {
		t.Errorf("remembered entries (-want +got)\n%s", diff)
	}
	if sums := l.sums(); len(sums) != 1 || sums[0].PromptTokens != 1 || sums[0].Requests != 1 {
		t.Errorf("settled more than once: %+v", sums)
	}
	for i := range maxUsagePairs + 10 {
		e := &Entry{Model: strings.Repeat("m", i%64) + string(rune('a'+i/64)), Outcome: OutcomeRunning}
		l.settle(e, settlement{outcome: OutcomeComplete, accepted: true})
	}
	if n := len(l.sums()); n > maxUsagePairs+1 {
		t.Errorf("%d pairs of totals", n)
	}
}

func TestEmbed(t *testing.T) {
	t.Parallel()
	dot := func(a, b string) (sum float64) {
		x, y := Embed(a, 256), Embed(b, 256)
		for i := range x {
			sum += float64(x[i]) * float64(y[i])
		}
		return sum
	}
	if d := dot("the cat sleeps", "The Cat sleeps"); d < 0.999 {
		t.Errorf("equal words: cosine %f", d)
	}
	near, far := dot("the cat sleeps", "the cat eats"), dot("the cat sleeps", "rockets fly high")
	if near <= far || near < 0.3 {
		t.Errorf("shared words: cosine %f, none shared: %f", near, far)
	}
	if v := Embed("", 3); v[0] != 1 {
		t.Errorf("no words: %v", v)
	}
}
