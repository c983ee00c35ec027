// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package completions

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
)

func TestCallBuffers(t *testing.T) {
	delta := func(index *int, id, name, args string) toolDelta {
		return toolDelta{Index: index, ID: id, Function: functionDelta{Name: name, Arguments: args}}
	}
	call := func(id, name, args string) message.ToolCall {
		return message.ToolCall{ID: id, Type: "function", Function: message.FunctionCall{Name: name, Arguments: args}}
	}
	tests := []struct {
		name   string
		deltas []toolDelta
		want   []message.ToolCall
		whole  bool
	}{
		{"none", nil, nil, true},
		{
			"out of order", []toolDelta{delta(new(1), "b", "g", "{"), delta(new(0), "a", "f", ""), delta(new(1), "", "", "}")},
			[]message.ToolCall{call("a", "f", "{}"), call("b", "g", "{}")}, true,
		},
		{
			"no index, ids tell them apart", []toolDelta{delta(nil, "a", "f", "{}"), delta(nil, "b", "g", "{}")},
			[]message.ToolCall{call("a", "f", "{}"), call("b", "g", "{}")}, true,
		},
		{
			"the id in every piece", []toolDelta{delta(new(0), "a", "f", `{"x"`), delta(new(0), "a", "", `:1}`)},
			[]message.ToolCall{call("a", "f", `{"x":1}`)}, true,
		},
		{"no id", []toolDelta{delta(new(0), "", "f", "{}")}, []message.ToolCall{call("call_0", "f", "{}")}, true},
		{"cut short", []toolDelta{delta(new(0), "a", "f", `{"x":`)}, []message.ToolCall{call("a", "f", `{"x":`)}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var b callBuffers
			for _, d := range tt.deltas {
				b.add(d)
			}
			if got := b.complete(); got != tt.whole {
				t.Errorf("complete is %v", got)
			}
			if d := cmp.Diff(tt.want, b.finish()); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestChats(t *testing.T) {
	for id, want := range map[string]bool{
		"gpt-4o": true, "text-embedding-3-small": false, "Whisper-1": false, "tts-1": false, "gpt-4o-realtime-preview": false,
		"omni-moderation-latest": false, "dall-e-3": false, "qwen3": true, "bge-reranker": false,
	} {
		if got := chats(id); got != want {
			t.Errorf("%s: got %v, want %v", id, got, want)
		}
	}
}
