// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package completions

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
	"github.com/aalis-dev/aalis-operator/runtime/schema"
)

// toolDelta is a piece of a tool call.
type toolDelta struct {
	Index    *int          `json:"index"`
	ID       string        `json:"id"`
	Function functionDelta `json:"function"`
}

type functionDelta struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// callBuffers puts the tool calls of one reply together. The zero value is ready.
type callBuffers struct{ list []*callBuffer }

type callBuffer struct {
	index int
	id    string
	name  string
	args  strings.Builder
	chars int // UTF-16 code units of args
}

// add takes a piece and tells how far its call has come. A piece belongs to the last call of its index (0 if it has none),
// unless its id is another than that call's.
func (b *callBuffers) add(d toolDelta) message.ToolCallProgress {
	index := 0
	if d.Index != nil {
		index = *d.Index
	}
	var buf *callBuffer
	for _, c := range slices.Backward(b.list) {
		if c.index == index {
			buf = c
			break
		}
	}
	if buf == nil || d.ID != "" && buf.id != "" && buf.id != d.ID {
		buf = &callBuffer{index: index}
		b.list = append(b.list, buf)
	}
	if d.ID != "" {
		buf.id = d.ID
	}
	if d.Function.Name != "" {
		buf.name = d.Function.Name
	}
	buf.args.WriteString(d.Function.Arguments)
	buf.chars += schema.Length(d.Function.Arguments)
	return message.ToolCallProgress{Index: index, Name: buf.name, CharsAccumulated: buf.chars}
}

// complete tells whether the arguments of every call are whole. It matters only when a stream ended without saying so.
func (b *callBuffers) complete() bool {
	return !slices.ContainsFunc(b.list, func(c *callBuffer) bool {
		return c.args.Len() > 0 && !json.Valid([]byte(c.args.String()))
	})
}

// finish gives the calls in the order of their index. A call without an id gets one that is unique in the reply; a call
// without arguments gets an empty object.
func (b *callBuffers) finish() []message.ToolCall {
	if len(b.list) == 0 {
		return nil
	}
	slices.SortStableFunc(b.list, func(x, y *callBuffer) int { return cmp.Compare(x.index, y.index) })
	out := make([]message.ToolCall, len(b.list))
	for i, c := range b.list {
		out[i] = message.ToolCall{ID: c.id, Type: "function", Function: message.FunctionCall{Name: c.name, Arguments: c.args.String()}}
		if out[i].ID == "" {
			out[i].ID = "call_" + strconv.Itoa(i)
		}
		if out[i].Function.Arguments == "" {
			out[i].Function.Arguments = "{}"
		}
	}
	return out
}
