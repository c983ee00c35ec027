// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package llmhttp

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aalis-dev/aalis-operator/runtime/contract/llm"
)

func TestParseModels(t *testing.T) {
	tests := []struct {
		name, text string
		want       []string
		err        string
	}{
		{"empty", " \n,\n#a, b\n", nil, ""},
		{"commas and lines", "a, b,\r\nc:7b\n\nvendor/d , a", []string{"a", "b", "c:7b", "vendor/d"}, ""},
		{"blank inside", "ok\nnot ok", nil, `line 2: a model id may hold no blanks and no control characters, got "not ok"`},
		{"too long", strings.Repeat("模", 257), nil, "line 1: a model id may not be longer than 256 characters"},
		{"just long enough", strings.Repeat("模", 256), []string{strings.Repeat("模", 256)}, ""},
		{"not UTF-8", "a\xff", nil, "line 1: a model id may hold no blanks"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := ParseModels(tt.text)
			checkError(t, err, tt.err)
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Error(d)
			}
		})
	}
	var many []string
	for i := range MaxModels + 1 {
		many = append(many, fmt.Sprint("m", i))
	}
	_, err := ParseModels(strings.Join(many, ","))
	checkError(t, err, "may not hold more than 1000 models")
}

func checkError(t *testing.T, err error, want string) {
	t.Helper()
	switch {
	case want == "" && err != nil:
		t.Errorf("unexpected error: %v", err)
	case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
		t.Errorf("error is %v, want %q", err, want)
	}
}

func TestParseModelCapabilities(t *testing.T) {
	tests := []struct {
		name, text string
		want       map[string][]llm.Capability
		err        string
	}{
		{"empty", "\n# a: chat\n", map[string][]llm.Capability{}, ""},
		{
			"ids with colons", "llama3:8b: chat, streaming,chat\n a : vision audio\na:video\nnone:",
			map[string][]llm.Capability{
				"llama3:8b": {llm.CapChat, llm.CapStreaming}, "a": {"video"}, "none": nil,
			}, "",
		},
		{"no colon", "a: chat\nchat", nil, `line 2: must be "model id: capability, capability", got "chat"`},
		{"no id", ": chat", nil, "line 1: a model id must be given"},
		{"unknown", "a: chat, fly", nil, `line 1: a capability must be one of chat, tool_calling, streaming, vision, thinking, audio, audio_transcription, video, got "fly"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := parseModelCapabilities(tt.text)
			checkError(t, err, tt.err)
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func FuzzParseModels(f *testing.F) {
	for _, seed := range []string{"", "a,b\nc", "# x\n a , ,b", "m: chat, vision\nx:y: thinking", "\xff,\u2028"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		ids, err := ParseModels(text)
		if err == nil {
			for i, id := range ids {
				if CheckModelID(id) != nil || slices.Index(ids, id) != i {
					t.Errorf("%q: id %q is bad or repeated", text, id)
				}
			}
			again, err := ParseModels(strings.Join(ids, "\n"))
			// An id that begins with # is only one behind a comma.
			comment := slices.ContainsFunc(ids, func(id string) bool { return strings.HasPrefix(id, "#") })
			if err != nil || !comment && !slices.Equal(ids, again) {
				t.Errorf("%q: %q reads as %q, %v", text, ids, again, err)
			}
		}
		caps, err := parseModelCapabilities(text)
		for id, list := range caps {
			if err != nil || CheckModelID(id) != nil || len(list) > len(llm.Capabilities()) {
				t.Errorf("%q: %q can %v, %v", text, id, list, err)
			}
		}
	})
}
