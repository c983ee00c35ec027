// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package textrepair

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
)

// Repair names one thing that was mended.
type Repair string

// The repairs, in the order in which they are tried. Each builds on those before it.
const (
	// InnerQuotes escapes quotes that stand bare inside a string.
	InnerQuotes Repair = "inner-quotes"
	// ControlCharacters escapes line breaks and other control characters that stand bare inside a string.
	ControlCharacters Repair = "control-characters"
	// TagQuotes escapes the quotes of the attribute of a self-closing tag.
	TagQuotes Repair = "tag-quotes"
	// TrailingCommas drops commas before a closing bracket.
	TrailingCommas Repair = "trailing-commas"
	// MissingClosers appends what is needed to close all that is open.
	MissingClosers Repair = "missing-closers"
)

// Object is a JSON object that a model wrote.
type Object struct {
	// Fields of the object, as encoding/json decodes them.
	Fields map[string]any
	// Text is the object as valid JSON, compact, in the order of its keys as written.
	Text string
	// Repairs that were needed, in order; empty if the text was right.
	Repairs []Repair
}

// FindObject reads the object in a model's text: [ParseObject] of its [Candidate].
func FindObject(raw string) (Object, bool) { return ParseObject(Candidate(raw)) }

// ParseObject reads a text that is meant to be one JSON object. If it is not, it is mended step by step, and read again
// after each step that changes it. Other values than objects do not count.
func ParseObject(text string) (Object, bool) {
	var repairs []Repair
	if o, ok := decode(text, repairs); ok {
		return o, true
	}
	for _, step := range [...]struct {
		name  Repair
		apply func(string) string
	}{
		{InnerQuotes, escapeInnerQuotes},
		{ControlCharacters, escapeControls},
		{TagQuotes, escapeTagQuotes},
		{TrailingCommas, dropTrailingCommas},
		{MissingClosers, appendClosers},
	} {
		next := step.apply(text)
		if next == text {
			continue
		}
		text, repairs = next, append(repairs, step.name)
		if o, ok := decode(text, repairs); ok {
			return o, true
		}
	}
	return Object{}, false
}

func decode(text string, repairs []Repair) (Object, bool) {
	var fields map[string]any
	if err := json.Unmarshal([]byte(text), &fields); err != nil || fields == nil {
		return Object{}, false
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, []byte(strings.ToValidUTF8(text, "\uFFFD"))); err != nil {
		return Object{}, false
	}
	return Object{Fields: fields, Text: compact.String(), Repairs: repairs}, true
}

// escapeInnerQuotes escapes each quote in a string that does not end it.
func escapeInnerQuotes(text string) string {
	var b strings.Builder
	var in quoted
	from := 0
	for i := range len(text) {
		if text[i] == '"' && in.open && !in.escaped && !endsString(text[i+1:]) {
			b.WriteString(text[from:i])
			b.WriteByte('\\')
			from = i
			continue // the string goes on
		}
		in.step(text[i])
	}
	return b.String() + text[from:]
}

// endsString tells whether a quote that rest follows ends a string: rest ends, or goes on as JSON does behind a string.
func endsString(rest string) bool {
	rest = skipSpace(rest)
	if rest == "" {
		return true
	}
	switch rest[0] {
	case ':', '}', ']':
		return true
	case ',':
		return beginsValue(skipSpace(rest[1:]))
	default:
		return false
	}
}

// beginsValue tells whether a JSON value begins, or the enclosing one ends, where the text does.
func beginsValue(s string) bool {
	if s == "" {
		return false
	}
	switch c := s[0]; c {
	case '"', '{', '[', '}', ']':
		return true
	case '-':
		return len(s) > 1 && isDigit(s[1])
	default:
		if isDigit(c) {
			return true
		}
	}
	for _, word := range [...]string{"true", "false", "null"} {
		if rest, ok := strings.CutPrefix(s, word); ok && (rest == "" || strings.IndexByte(" \t\r\n,}]", rest[0]) >= 0) {
			return true
		}
	}
	return false
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func skipSpace(s string) string { return strings.TrimLeft(s, " \t\r\n") }

// escapeControls escapes control characters in strings.
func escapeControls(text string) string {
	const hex = "0123456789abcdef"
	var b strings.Builder
	var in quoted
	from := 0
	for i := range len(text) {
		c := text[i]
		if !in.step(c) || c >= ' ' {
			continue
		}
		b.WriteString(text[from:i])
		switch c {
		case '\n':
			b.WriteString(`\n`)
		case '\r':
			b.WriteString(`\r`)
		case '\t':
			b.WriteString(`\t`)
		default:
			b.WriteString(`\u00` + string(hex[c>>4]) + string(hex[c&15]))
		}
		from = i + 1
	}
	return b.String() + text[from:]
}

// selfClosing is a tag with one attribute whose quotes are bare, as <face id="1"/>.
var selfClosing = regexp.MustCompile(`<([A-Za-z][\w:-]*)(\s+[\w:-]+)="([^"<>\\]*)"(\s*)/>`)

func escapeTagQuotes(text string) string {
	if !strings.Contains(text, "/>") {
		return text
	}
	return selfClosing.ReplaceAllString(text, `<${1}${2}=\"${3}\"${4}/>`)
}

// dropTrailingCommas drops each comma outside strings that only space separates from a closing bracket.
func dropTrailingCommas(text string) string {
	var b strings.Builder
	var in quoted
	from, comma := 0, -1 // comma is that behind which only space has come so far
	for i := range len(text) {
		if in.step(text[i]) {
			comma = -1
			continue
		}
		switch text[i] {
		case ',':
			comma = i
		case ' ', '\t', '\r', '\n':
		case '}', ']':
			if comma >= 0 {
				b.WriteString(text[from:comma])
				from = comma + 1
			}
			comma = -1
		default:
			comma = -1
		}
	}
	return b.String() + text[from:]
}

// appendClosers closes an open string and then all open brackets, the last one opened first. A text whose brackets do
// not match is beyond it.
func appendClosers(text string) string {
	var open []byte
	var in quoted
	for i := range len(text) {
		if in.step(text[i]) {
			continue
		}
		switch c := text[i]; c {
		case '{':
			open = append(open, '}')
		case '[':
			open = append(open, ']')
		case '}', ']':
			if len(open) == 0 || open[len(open)-1] != c {
				return text
			}
			open = open[:len(open)-1]
		}
	}
	switch {
	case in.open && in.escaped:
		text = text[:len(text)-1] + `"`
	case in.open:
		text += `"`
	case len(open) > 0:
		text = strings.TrimSuffix(strings.TrimRight(text, " \t\r\n"), ",")
	}
	closers := make([]byte, 0, len(open))
	for i := len(open) - 1; i >= 0; i-- {
		closers = append(closers, open[i])
	}
	return text + string(closers)
}
