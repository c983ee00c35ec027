// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package fakellm_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aalis-dev/aalis-operator/hack/fakellm/fakellm"
)

// turn asks and answers every tool call with "r:<name>" until there is none, at most steps times. It returns the names called a
// step and the last text.
func turn(t *testing.T, f *fake, text, extra string, steps int) (calls [][]string, answer string) {
	t.Helper()
	messages := []map[string]any{{"role": "system", "content": "S"}, {"role": "user", "content": text}}
	ids := map[string]bool{}
	for range steps {
		body := `{"model":"fake-1","tools":[{"type":"function","function":{"name":"a"}},{"type":"function","function":{"name":"b"}}],"messages":` +
			encode(messages) + extra + `}`
		c := parseWhole(t, f.chat(body)).Choices[0]
		if len(c.Message.ToolCalls) == 0 {
			return calls, str(c.Message.Content)
		}
		if str(c.FinishReason) != "tool_calls" {
			t.Fatalf("finish reason %q", str(c.FinishReason))
		}
		var names []string
		var wire []map[string]any
		for _, call := range c.Message.ToolCalls {
			if ids[call.ID] {
				t.Fatalf("the id %s comes twice", call.ID)
			}
			ids[call.ID] = true
			names = append(names, call.Function.Name+call.Function.Arguments)
			wire = append(wire, map[string]any{"id": call.ID, "type": "function",
				"function": map[string]string{"name": call.Function.Name, "arguments": call.Function.Arguments}})
		}
		calls = append(calls, names)
		messages = append(messages, map[string]any{"role": "assistant", "content": c.Message.Content, "tool_calls": wire})
		for _, call := range c.Message.ToolCalls {
			messages = append(messages, map[string]any{"role": "tool", "tool_call_id": call.ID, "content": "r:" + call.Function.Name})
		}
	}
	return calls, "(still calling)"
}

func TestTools(t *testing.T) {
	t.Parallel()
	f := start(t, fakellm.Options{})
	tests := map[string]struct {
		text, extra string
		calls       [][]string
		answer      string
	}{
		"none": {text: "hi", answer: "[S] You said: hi"},
		"one":  {text: `#tool a {"x":1}`, calls: [][]string{{`a{"x":1}`}}, answer: "[S] Tool a returned: r:a"},
		"parallel": {
			text: `#tool a {"x":1} #tool b`, calls: [][]string{{`a{"x":1}`, `b{}`}},
			answer: "[S] Tool a returned: r:a\nTool b returned: r:b",
		},
		"in sequence": {
			text: `#tool a #tool b`, extra: `,"parallel_tool_calls":false`, calls: [][]string{{`a{}`}, {`b{}`}},
			answer: "[S] Tool a returned: r:a\nTool b returned: r:b",
		},
		"loop":             {text: "#toolloop a #tool b", calls: [][]string{{"a{}", "b{}"}, {"a{}"}, {"a{}"}}, answer: "(still calling)"},
		"loop in sequence": {text: "#toolloop a #toolloop b", extra: `,"parallel_tool_calls":false`, calls: [][]string{{"a{}"}, {"b{}"}, {"a{}"}}, answer: "(still calling)"},
		"not offered":      {text: "#tool zzz", calls: [][]string{{"zzz{}"}}, answer: "[S] Tool zzz returned: r:zzz"},
		"broken arguments": {text: `#toolraw a {"x`, calls: [][]string{{`a{"x`}}, answer: "[S] Tool a returned: r:a"},
		"forbidden":        {text: "#tool a", extra: `,"tool_choice":"none"`, answer: "[S] You said: #tool a"},
		"required":         {text: "hi", extra: `,"tool_choice":"required"`, calls: [][]string{{"a{}"}, {"a{}"}, {"a{}"}}, answer: "(still calling)"},
		"forced": {
			text: "hi", extra: `,"tool_choice":{"type":"function","function":{"name":"b"}}`,
			calls: [][]string{{"b{}"}, {"b{}"}, {"b{}"}}, answer: "(still calling)",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			calls, answer := turn(t, f, tt.text, tt.extra, 3)
			if diff := cmp.Diff(tt.calls, calls); diff != "" {
				t.Errorf("calls (-want +got)\n%s", diff)
			}
			if answer != tt.answer {
				t.Errorf("answer %q, want %q", answer, tt.answer)
			}
		})
	}
}

func TestToolsPrefixCacheCountsTools(t *testing.T) {
	t.Parallel()
	f := start(t, fakellm.Options{})
	turn(t, f, "#tool a", "", 3)
	var cached []int
	for _, e := range f.Requests() {
		cached = append(cached, e.CachedMessages)
	}
	// The second step repeats the tools, the system and the user message of the first.
	if diff := cmp.Diff([]int{0, 3}, cached); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestToolsStreamed(t *testing.T) {
	t.Parallel()
	f := start(t, fakellm.Options{})
	arguments := `{"text":"a long one, 你好 \"quoted\" 😀 for several pieces"}`
	body := `{"model":"fake-1","stream":true,"tools":[{"type":"function","function":{"name":"a"}}],"messages":` +
		encode([]map[string]string{{"role": "user", "content": "#tool a " + arguments + " #tool b\n#say one moment"}}) + `}`
	r := f.chat(body)
	got := map[int]string{}
	pieces := map[int]int{}
	for _, f := range frames(t, r.body) {
		for _, c := range f.Choices {
			for _, call := range c.Delta.ToolCalls {
				got[call.Index] += call.Function.Name + call.Function.Arguments
				pieces[call.Index]++
			}
		}
	}
	if diff := cmp.Diff(map[int]string{0: "a" + arguments, 1: "b{}"}, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if pieces[0] < 4 {
		t.Errorf("the arguments came in %d pieces", pieces[0])
	}
	if s := parseStream(t, r.body); s.content != "one moment" || s.finish != "tool_calls" || !s.done {
		t.Errorf("got %+v", s)
	}
}

func frames(t *testing.T, body string) []frame {
	t.Helper()
	var out []frame
	for _, data := range dataLines(body) {
		if data == "[DONE]" {
			continue
		}
		var f frame
		if err := json.Unmarshal([]byte(data), &f); err != nil {
			t.Fatalf("frame %s: %v", data, err)
		}
		out = append(out, f)
	}
	return out
}
