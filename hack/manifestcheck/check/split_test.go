// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package check_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aalis-dev/aalis-operator/hack/manifestcheck/check"
)

func TestSplit(t *testing.T) {
	type doc struct {
		line int
		text string
	}
	tests := map[string]struct {
		in   string
		want []doc
	}{
		"nothing":                 {"", nil},
		"one":                     {"a: 1\n", []doc{{1, "a: 1\n"}}},
		"no last line break":      {"a: 1", []doc{{1, "a: 1"}}},
		"two":                     {"a: 1\n---\nb: 2\n", []doc{{1, "a: 1\n"}, {2, "   \nb: 2\n"}}},
		"windows line breaks":     {"a: 1\r\n---\r\nb: 2\r\n", []doc{{1, "a: 1\r\n"}, {2, "   \r\nb: 2\r\n"}}},
		"byte order mark":         {"\xef\xbb\xbf---\na: 1\n", []doc{{1, "   \na: 1\n"}}},
		"empty ones are left":     {"---\n# only a comment\n---\n\n---\na: 1\n---\n", []doc{{5, "   \na: 1\n"}}},
		"text after the marker":   {"--- {a: 1}\n", []doc{{1, "    {a: 1}\n"}}},
		"comment after it":        {"--- # first\na: 1\n", []doc{{1, "    # first\na: 1\n"}}},
		"end of a document":       {"a: 1\n...\nb: 2\n", []doc{{1, "a: 1\n"}, {3, "b: 2\n"}}},
		"dashes that mark none":   {"a: |\n  ---\n  x\nb: ----\n---x: 1\n", []doc{{1, "a: |\n  ---\n  x\nb: ----\n---x: 1\n"}}},
		"inside a block, in YAML": {"a: |\n---\nb: 1\n", []doc{{1, "a: |\n"}, {2, "   \nb: 1\n"}}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var got []doc
			for i, d := range check.Split([]byte(tc.in)) {
				if d.Number != i+1 {
					t.Errorf("document %d has number %d", i+1, d.Number)
				}
				got = append(got, doc{d.Line, string(d.Text)})
			}
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(doc{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// FuzzSplit checks that no text is lost: the documents hold, in order, every line that is no marker and every line
// with more than a comment.
func FuzzSplit(f *testing.F) {
	for _, seed := range []string{"", "a: 1\n---\nb: 2\n", "---", "...\n---\t# x\n", "\xef\xbb\xbf--- a\r\n", "----\n--- ---\n"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var got []string
		last := 0
		for i, d := range check.Split(data) {
			if d.Number != i+1 || d.Line <= last {
				t.Fatalf("document %d has number %d and line %d after line %d", i+1, d.Number, d.Line, last)
			}
			last = d.Line
			got = append(got, meaningful(d.Text)...)
		}
		var want []string
		for line := range bytes.Lines(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))) {
			for _, marker := range []string{"---", "..."} {
				rest, ok := bytes.CutPrefix(line, []byte(marker))
				if ok && (len(rest) == 0 || strings.ContainsRune(" \t\r\n", rune(rest[0]))) {
					line = nil
					if marker == "---" {
						line = rest
					}
					break
				}
			}
			want = append(want, meaningful(line)...)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("lines were lost or made up (-want +got):\n%s", diff)
		}
	})
}

func meaningful(text []byte) []string {
	var out []string
	for line := range bytes.Lines(text) {
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] != '#' {
			out = append(out, string(line))
		}
	}
	return out
}
