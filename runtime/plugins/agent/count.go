// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"encoding/json"
	"unicode/utf8"

	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
	"github.com/aalis-dev/aalis-operator/runtime/contract/tokens"
)

// messageTokens is what a message costs before its text.
const messageTokens = 4

// minCached is the length in bytes from which looking a text up is cheaper than counting it again.
const minCached = 32

// counts counts tokens for one turn and remembers what it has counted, so that no text is counted twice although a
// prompt is measured before each call, stage by stage while it is trimmed, and again for the report. It belongs to one
// goroutine.
type counts struct {
	counter tokens.Counter
	shared  *textCounts // of earlier turns; nil if counting is as cheap as looking up
	texts   map[string]int
	calls   map[*message.ToolCall]int
	tools   toolCount
	buf     []byte
}

// toolCount is the count of a list of definitions.
type toolCount struct {
	list  []message.ToolDefinition
	count int
}

func newCounts(counter tokens.Counter, shared *textCounts) *counts {
	c := &counts{counter: counter, texts: map[string]int{}, calls: map[*message.ToolCall]int{}}
	if counter.Exact() {
		c.shared = shared
	}
	return c
}

// text counts a text.
func (c *counts) text(s string) int {
	if len(s) < minCached {
		return c.counter.Count(s)
	}
	if n, ok := c.texts[s]; ok {
		return n
	}
	n := c.count(s)
	c.texts[s] = n
	return n
}

func (c *counts) count(s string) int {
	if c.shared == nil {
		return c.counter.Count(s)
	}
	return c.shared.count(c.counter, s)
}

// message counts a message. Images, the name and segments are free.
func (c *counts) message(m *message.Message) int {
	n := messageTokens + c.text(m.Content) + c.text(m.ReasoningContent)
	if len(m.ToolCalls) > 0 {
		n += c.toolCalls(m.ToolCalls)
	}
	return n
}

// toolCalls counts calls as the JSON that providers send.
func (c *counts) toolCalls(calls []message.ToolCall) int {
	if n, ok := c.calls[&calls[0]]; ok {
		return n
	}
	c.buf = appendToolCalls(c.buf[:0], calls)
	n := c.count(string(c.buf))
	c.calls[&calls[0]] = n
	return n
}

// definitions counts what the definitions of tools add to a request.
func (c *counts) definitions(list []message.ToolDefinition) int {
	if len(list) == 0 {
		return 0
	}
	if len(c.tools.list) == len(list) && &c.tools.list[0] == &list[0] {
		return c.tools.count
	}
	c.tools = toolCount{list, c.counter.Count(jsonOf(list))}
	return c.tools.count
}

// jsonOf writes a value as providers send it, which is without escaping for HTML.
func jsonOf(v any) string {
	buf := &jsonBuffer{}
	enc := json.NewEncoder(buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return "" // it cannot be sent either
	}
	return string(buf.b[:len(buf.b)-1]) // without the line break
}

type jsonBuffer struct{ b []byte }

func (j *jsonBuffer) Write(b []byte) (int, error) {
	j.b = append(j.b, b...)
	return len(b), nil
}

// appendToolCalls writes calls as JSON, in the order of keys that providers send.
func appendToolCalls(b []byte, calls []message.ToolCall) []byte {
	b = append(b, '[')
	for i := range calls {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, `{"id":`...)
		b = appendQuoted(b, calls[i].ID)
		b = append(b, `,"type":`...)
		b = appendQuoted(b, calls[i].Type)
		b = append(b, `,"function":{"name":`...)
		b = appendQuoted(b, calls[i].Function.Name)
		b = append(b, `,"arguments":`...)
		b = appendQuoted(b, calls[i].Function.Arguments)
		b = append(b, "}}"...)
	}
	return append(b, ']')
}

// appendQuoted writes a JSON string that escapes no more than JSON asks for.
func appendQuoted(b []byte, s string) []byte {
	const hex = "0123456789abcdef"
	b = append(b, '"')
	from := 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= 0x20 && c != '"' && c != '\\' {
			continue
		}
		b = append(b, s[from:i]...)
		from = i + 1
		switch c {
		case '"', '\\':
			b = append(b, '\\', c)
		case '\n':
			b = append(b, `\n`...)
		case '\r':
			b = append(b, `\r`...)
		case '\t':
			b = append(b, `\t`...)
		case '\b':
			b = append(b, `\b`...)
		case '\f':
			b = append(b, `\f`...)
		default:
			b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
	}
	return append(append(b, s[from:]...), '"')
}

// cutUnits gives the beginning of a text that is at most limit UTF-16 code units long, and whether anything was left
// out. No character is split.
func cutUnits(s string, limit int) (head string, cut bool) {
	if len(s) <= limit {
		return s, false
	}
	n := 0
	for i := 0; i < len(s); {
		size, width := 1, 1
		if s[i] >= utf8.RuneSelf {
			var r rune
			if r, size = utf8.DecodeRuneInString(s[i:]); r > 0xFFFF {
				width = 2
			}
		}
		if n+width > limit {
			return s[:i], true
		}
		n += width
		i += size
	}
	return s, false
}
