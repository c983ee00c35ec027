// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package llmollama

import "strings"

const (
	thinkOpen  = "<think>"
	thinkClose = "</think>"
)

// thinkTags parts a text into what is said and what stands between think tags, piece by piece. Tags may be split over
// pieces; what is not closed is all reasoning. The zero value is ready.
type thinkTags struct {
	inside bool
	fresh  bool   // right behind a closing tag: line breaks are dropped
	held   string // may be the beginning of a tag
}

// feed takes the next piece.
func (t *thinkTags) feed(piece string) (content, reasoning string) {
	if piece == "" || !t.inside && !t.fresh && t.held == "" && !strings.ContainsRune(piece, '<') {
		return piece, ""
	}
	text := t.held + piece
	t.held = ""
	var said, thought strings.Builder
	for text != "" {
		tag := t.awaited()
		before, rest, found := strings.Cut(text, tag)
		if !found {
			keep := partial(text, tag)
			t.held = text[len(text)-keep:]
			before = text[:len(text)-keep]
		}
		t.write(before, &said, &thought)
		if !found {
			break
		}
		t.inside = !t.inside
		t.fresh = !t.inside
		text = rest
	}
	return said.String(), thought.String()
}

// end gives what was held back.
func (t *thinkTags) end() (content, reasoning string) {
	held := t.held
	t.held = ""
	if t.inside {
		return "", held
	}
	return held, ""
}

// splitThinking parts a whole text.
func splitThinking(text string) (content, reasoning string) {
	var t thinkTags
	content, reasoning = t.feed(text)
	moreContent, moreReasoning := t.end()
	return content + moreContent, reasoning + moreReasoning
}

func (t *thinkTags) awaited() string {
	if t.inside {
		return thinkClose
	}
	return thinkOpen
}

func (t *thinkTags) write(text string, said, thought *strings.Builder) {
	if t.inside {
		thought.WriteString(text)
		return
	}
	if t.fresh {
		if text = strings.TrimLeft(text, "\r\n"); text == "" {
			return
		}
		t.fresh = false
	}
	said.WriteString(text)
}

// partial is the length of the longest end of a text that a tag begins with.
func partial(text, tag string) int {
	for n := min(len(text), len(tag)-1); n > 0; n-- {
		if strings.HasSuffix(text, tag[:n]) {
			return n
		}
	}
	return 0
}
