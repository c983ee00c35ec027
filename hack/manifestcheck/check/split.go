// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"bytes"
)

// Document is one YAML document of a file.
type Document struct {
	// Number counts the documents that hold something, from 1.
	Number int
	// Line is the line of the file, from 1, on which the document's text begins.
	Line int
	// Text of the document, without its markers.
	Text []byte
}

// Split cuts a YAML stream at its document markers. A line that begins with "---" or "..." and then ends or goes on
// with a blank is a marker wherever it stands, also inside a block scalar: so says YAML. Documents of blank lines and
// comments only are left out. Text after "---" on the same line belongs to the document that begins there.
func Split(data []byte) []Document {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	var (
		out     []Document
		text    []byte
		started = 1
	)
	flush := func() {
		if hasContent(text) {
			out = append(out, Document{Number: len(out) + 1, Line: started, Text: text})
		}
		text = nil
	}
	for line, rest := 1, data; len(rest) > 0; line++ {
		current := rest
		if i := bytes.IndexByte(rest, '\n'); i >= 0 {
			current = rest[:i+1]
		}
		rest = rest[len(current):]
		switch {
		case isMarker(current, "---"):
			flush()
			started = line
			// Blanks keep the columns of what follows on the line.
			text = append(append(text, "   "...), current[3:]...)
		case isMarker(current, "..."):
			flush()
			started = line + 1
		default:
			text = append(text, current...)
		}
	}
	flush()
	return out
}

func isMarker(line []byte, marker string) bool {
	rest, ok := bytes.CutPrefix(line, []byte(marker))
	return ok && (len(rest) == 0 || bytes.IndexByte([]byte(" \t\r\n"), rest[0]) >= 0)
}

// hasContent says whether a text holds anything but blank lines and comments.
func hasContent(text []byte) bool {
	for line := range bytes.Lines(text) {
		line = bytes.TrimSpace(line)
		if len(line) > 0 && line[0] != '#' {
			return true
		}
	}
	return false
}
