// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package completions

import (
	"bytes"
	"unicode/utf8"
)

// template spares the parsing of frames that differ from an earlier one in their text only, which most of a long stream
// do. It keeps what stood before and behind the text; a frame with the same bytes there, and a text in between that is
// one JSON string without escapes, can only mean the same with another text.
type template struct{ before, behind []byte }

var contentKey = []byte(`"content"`)

// learn takes a frame that says content and nothing else. It learns nothing from one in which it cannot be sure where.
func (t *template) learn(data []byte, content string) {
	t.before, t.behind = t.before[:0], t.behind[:0]
	key := bytes.Index(data, contentKey)
	if key < 0 || bytes.Contains(data[key+1:], contentKey) {
		return
	}
	start := key + len(contentKey)
	for start < len(data) && (data[start] == ':' || data[start] == ' ') {
		start++
	}
	start++ // the opening quote
	end := start + len(content)
	if !isPlain(content) || end >= len(data) || string(data[start-1:end+1]) != `"`+content+`"` {
		return
	}
	t.before = append(t.before, data[:start]...)
	t.behind = append(t.behind, data[end:]...)
}

// content gives the text of a frame that fits.
func (t *template) content(data []byte) (string, bool) {
	if len(t.before) == 0 || len(data) < len(t.before)+len(t.behind) ||
		!bytes.HasPrefix(data, t.before) || !bytes.HasSuffix(data, t.behind) {
		return "", false
	}
	text := data[len(t.before) : len(data)-len(t.behind)]
	if !isPlain(text) {
		return "", false
	}
	return string(text), true
}

// isPlain tells whether a text reads the same inside a JSON string.
func isPlain[T string | []byte](text T) bool {
	ascii := true
	for i := range len(text) {
		switch c := text[i]; {
		case c < ' ' || c == '"' || c == '\\':
			return false
		case c >= utf8.RuneSelf:
			ascii = false
		}
	}
	return ascii || utf8.ValidString(string(text))
}
