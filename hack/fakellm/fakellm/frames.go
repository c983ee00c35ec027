// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package fakellm

import (
	"strconv"
	"unicode/utf8"
)

const (
	fingerprint = "fp_fakellm"
	doneFrame   = "data: [DONE]\n\n"
	// malformedFrame ends in the middle of a JSON string.
	malformedFrame = "data: {\"id\":\"broken\",\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"bro\n\n"
)

// frames builds the server-sent events of one stream. Everything that is the same in all frames is encoded once; a
// frame only appends its text. The returned slice is valid until the next call.
type frames struct {
	head []byte // up to the delta
	tail []byte // behind the delta of an ordinary frame
	end  []byte // behind the finish reason
	buf  []byte
	open int // length of the part of buf before choices
}

func newFrames(id, model string, created int64, includeUsage bool) *frames {
	f := &frames{}
	b := append([]byte(nil), `data: {"id":`...)
	b = appendString(b, id)
	b = append(b, `,"object":"chat.completion.chunk","created":`...)
	b = strconv.AppendInt(b, created, 10)
	b = append(b, `,"model":`...)
	b = appendString(b, model)
	b = append(b, `,"system_fingerprint":"`+fingerprint+`","choices":[`...)
	f.open = len(b)
	b = append(b, `{"index":0,"delta":`...)
	f.head = b
	f.end = []byte("}]}\n\n")
	if includeUsage {
		f.end = []byte("}],\"usage\":null}\n\n")
	}
	f.tail = append([]byte(`,"logprobs":null,"finish_reason":null`), f.end...)
	f.buf = append(make([]byte, 0, len(b)+len(f.tail)+256), b...)
	return f
}

// delta builds a frame around a delta that is JSON already.
func (f *frames) delta(raw string) []byte {
	f.buf = append(f.buf[:len(f.head)], raw...)
	f.buf = append(f.buf, f.tail...)
	return f.buf
}

// text builds a frame whose delta is {field: s}. The field must need no escapes.
func (f *frames) text(field, s string) []byte {
	f.buf = append(f.buf[:len(f.head)], `{"`...)
	f.buf = append(f.buf, field...)
	f.buf = append(f.buf, `":`...)
	f.buf = appendString(f.buf, s)
	f.buf = append(f.buf, '}')
	f.buf = append(f.buf, f.tail...)
	return f.buf
}

// call builds the frame that opens a tool call, with empty arguments.
func (f *frames) call(index int, c toolCall) []byte {
	f.buf = append(f.buf[:len(f.head)], `{"tool_calls":[{"index":`...)
	f.buf = strconv.AppendInt(f.buf, int64(index), 10)
	f.buf = append(f.buf, `,"id":`...)
	f.buf = appendString(f.buf, c.ID)
	f.buf = append(f.buf, `,"type":"function","function":{"name":`...)
	f.buf = appendString(f.buf, c.Function.Name)
	f.buf = append(f.buf, `,"arguments":""}}]}`...)
	f.buf = append(f.buf, f.tail...)
	return f.buf
}

// arguments builds a frame with a piece of a tool call's arguments.
func (f *frames) arguments(index int, piece string) []byte {
	f.buf = append(f.buf[:len(f.head)], `{"tool_calls":[{"index":`...)
	f.buf = strconv.AppendInt(f.buf, int64(index), 10)
	f.buf = append(f.buf, `,"function":{"arguments":`...)
	f.buf = appendString(f.buf, piece)
	f.buf = append(f.buf, `}}]}`...)
	f.buf = append(f.buf, f.tail...)
	return f.buf
}

// finish builds the frame with the finish reason.
func (f *frames) finish(reason string) []byte {
	f.buf = append(f.buf[:len(f.head)], `{},"logprobs":null,"finish_reason":`...)
	f.buf = appendString(f.buf, reason)
	f.buf = append(f.buf, f.end...)
	return f.buf
}

// usage builds the frame with the usage and no choices. The shared head is spoilt: it must be the last frame.
func (f *frames) usage(usage []byte) []byte {
	f.buf = append(f.buf[:f.open], `],"usage":`...)
	f.buf = append(f.buf, usage...)
	f.buf = append(f.buf, "}\n\n"...)
	return f.buf
}

const hexDigits = "0123456789abcdef"

// appendString appends s as a JSON string. Bytes that are not UTF-8 become U+FFFD, as encoding/json does.
func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= 0x20 && c != '"' && c != '\\' && c < utf8.RuneSelf {
			i++
			continue
		}
		if c < utf8.RuneSelf {
			b = append(b, s[start:i]...)
			b = appendEscape(b, c)
			i++
			start = i
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && size == 1 {
			b = append(b, s[start:i]...)
			b = append(b, `\ufffd`...)
			start = i + size
		}
		i += size
	}
	b = append(b, s[start:]...)
	return append(b, '"')
}

func appendEscape(b []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(b, '\\', c)
	case '\n':
		return append(b, `\n`...)
	case '\r':
		return append(b, `\r`...)
	case '\t':
		return append(b, `\t`...)
	}
	return append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&0xF])
}
