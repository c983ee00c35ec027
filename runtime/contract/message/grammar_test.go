// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package message

import (
	"slices"
	"strings"
	"testing"
)

// TestPlaceholders is case 8.8.9.
func TestPlaceholders(t *testing.T) {
	for text, want := range map[string][]Placeholder{
		"[图片: a cat | ref:x1]":          {{AttachmentImage, "a cat", "x1"}},
		"[音频 | ref:x] and [文件 | ref:y]": {{AttachmentAudio, "", "x"}, {AttachmentFile, "", "y"}},
		"[视频:   | ref:x]":               {{AttachmentVideo, "", "x"}},
		"[图片]":                          nil,
		"[图片: a cat]":                   nil,
		"[图片 | ref:]":                   nil,
		"[照片 | ref:x]":                  nil,
	} {
		if got := Placeholders(text); !slices.Equal(got, want) {
			t.Errorf("%q: got %+v", text, got)
		}
	}
	odd := Placeholder{Kind: "odd", Description: "a]b|c\nd", Ref: "r]s"}
	if got := odd.String(); got != "[文件: a b c d | ref:r s]" {
		t.Errorf("got %q", got)
	}
	text := "see [图片 | ref:a.b] and [图片: x | ref:acb] [文件 | ref:a.b]"
	want := "see [图片: cat | ref:a.b] and [图片: x | ref:acb] [文件 | ref:a.b]"
	if got := ReplacePlaceholder(text, AttachmentImage, "a.b", Placeholder{AttachmentImage, "cat", "a.b"}); got != want {
		t.Errorf("got %q", got)
	}
}

func FuzzPlaceholder(f *testing.F) {
	f.Add("a cat", "ref 1")
	f.Add("]|\n", "]\n")
	f.Fuzz(func(t *testing.T, description, ref string) {
		s := Placeholder{AttachmentImage, description, ref}.String()
		got := Placeholders("x" + s + "y")
		if strings.TrimSpace(plain(ref, "]\n\r")) == "" {
			return
		}
		if len(got) != 1 || got[0].String() != s {
			t.Fatalf("%q: got %+v", s, got)
		}
	})
}

func TestMentions(t *testing.T) {
	for text, want := range map[string][]string{
		`<at id="1">Ann</at> <at self id="2">Bot</at> <at id="1">Ann</at>`: {"1", "2"},
		`<at>all</at> <at id="all">all</at>`:                               nil,
		`<at id="">x</at> <at id=1>x</at> < at id="1">`:                    nil,
	} {
		if got := Mentions(text); !slices.Equal(got, want) {
			t.Errorf("%q: got %q", text, got)
		}
	}
	if !MentionsSelf(`<at self id="2">Bot</at>`) || MentionsSelf(`<at id="2">Bot</at>`) {
		t.Error("the bot itself is not told apart")
	}
}

func FuzzMentions(f *testing.F) {
	f.Add(`<at id="1">Ann</at><at self id="2">`)
	f.Fuzz(func(t *testing.T, s string) {
		seen := map[string]bool{}
		for _, id := range Mentions(s) {
			if id == "" || id == mentionAll || seen[id] || !strings.Contains(s, `id="`+id+`"`) {
				t.Fatalf("%q: got %q", s, id)
			}
			seen[id] = true
		}
	})
}
