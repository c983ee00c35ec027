// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package textrepair

import "strings"

// Candidate finds the part of a model's text that is most likely the JSON object it was asked for: without a code fence,
// the last complete object of the top level that has a colon, which sets such as {1,2} have not. A brace that is never
// closed ends the search. If there is no such object it is what begins at the first brace, up to where it is closed or to
// the end; without a brace it is the text.
func Candidate(raw string) string {
	text := unfence(strings.TrimSpace(raw))
	first := strings.IndexByte(text, '{')
	if first < 0 {
		return text
	}
	firstEnd := len(text)
	best := ""
	for at := first; at < len(text); {
		end, closed := balance(text, at)
		if !closed {
			break
		}
		if at == first {
			firstEnd = end
		}
		if object := text[at:end]; strings.IndexByte(object, ':') >= 0 {
			best = object
		}
		next := strings.IndexByte(text[end:], '{')
		if next < 0 {
			break
		}
		at = end + next
	}
	if best != "" {
		return best
	}
	return text[first:firstEnd]
}

// unfence removes a code fence around the whole text, or what there is of one.
func unfence(text string) string {
	const fence = "```"
	if rest, ok := strings.CutPrefix(text, fence); ok {
		if len(rest) >= 4 && strings.EqualFold(rest[:4], "json") {
			rest = rest[4:]
		}
		text = strings.TrimSpace(rest)
	}
	return strings.TrimSpace(strings.TrimSuffix(text, fence))
}

// balance finds the end of the object whose brace is at start. Braces in strings do not count.
func balance(text string, start int) (end int, closed bool) {
	depth := 0
	var in quoted
	for i := start; i < len(text); i++ {
		if in.step(text[i]) {
			continue
		}
		switch text[i] {
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return i + 1, true
			}
		}
	}
	return len(text), false
}

// quoted follows the strings of JSON, byte by byte.
type quoted struct{ open, escaped bool }

// step takes the next byte and tells whether it belongs to a string, its quotes included.
func (q *quoted) step(c byte) bool {
	if !q.open {
		q.open = c == '"'
		return q.open
	}
	switch {
	case q.escaped:
		q.escaped = false
	case c == '\\':
		q.escaped = true
	case c == '"':
		q.open = false
	}
	return true
}
