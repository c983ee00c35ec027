// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package llmopenai

import (
	"fmt"
	"net/url"
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
			got, err := parseModels(tt.text)
			checkError(t, err, tt.err)
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Error(d)
			}
		})
	}
	var many []string
	for i := range maxModels + 1 {
		many = append(many, fmt.Sprint("m", i))
	}
	_, err := parseModels(strings.Join(many, ","))
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

func TestCapabilities(t *testing.T) {
	tests := map[string]string{
		"gpt-4o":                "chat tool_calling streaming vision",
		"gpt-4o-mini":           "chat tool_calling streaming vision",
		"gpt-4.1-nano":          "chat tool_calling streaming vision",
		"gpt-4":                 "chat tool_calling streaming",
		"gpt-4-0613":            "chat tool_calling streaming",
		"gpt-4-turbo-2024":      "chat tool_calling streaming vision",
		"gpt-3.5-turbo-16k":     "chat tool_calling streaming",
		"gpt-5-mini":            "chat tool_calling streaming vision thinking",
		"gpt-5-chat-latest":     "chat tool_calling streaming vision",
		"o1-mini":               "chat streaming thinking",
		"o1":                    "chat tool_calling streaming vision thinking",
		"o3-mini-high":          "chat tool_calling streaming thinking",
		"o4-mini":               "chat tool_calling streaming vision thinking",
		"qwen3":                 "chat streaming",
		"overridden":            "vision",
		"gpt-4o-but-overridden": "",
	}
	s := &settings{caps: map[string][]llm.Capability{"overridden": {llm.CapVision}, "gpt-4o-but-overridden": nil}}
	words := func(id string) string {
		var out []string
		for _, c := range s.capabilities(id) {
			out = append(out, string(c))
		}
		return strings.Join(out, " ")
	}
	for id, want := range tests {
		if got := words(id); got != want {
			t.Errorf("%s: got %q, want %q", id, got, want)
		}
	}
	s.always = []llm.Capability{llm.CapChat, llm.CapThinking}
	if got := words("overridden"); got != "vision chat thinking" {
		t.Errorf("got %q, want what all models can do to be added", got)
	}
	if got := words("gpt-4o"); got != "chat tool_calling streaming vision thinking" || len(capsVision) != 4 {
		t.Errorf("got %q and table %v", got, capsVision)
	}
}

func TestNames(t *testing.T) {
	reasoning := []string{"o1", "o3-mini", "o10", "openai/o4-mini", "gpt-5", "gpt-5-mini", "gpt-6-sol", "gpt-10", "x/gpt-5"}
	plain := []string{"", "o", "olmo", "gpt-4o", "gpt-4.1", "gpt-3.5-turbo", "gpt-oss-120b", "gpt-", "gpt-1", "qwen", "o1/x"}
	for _, id := range reasoning {
		if !reasons(id) {
			t.Errorf("%s should take max_completion_tokens", id)
		}
	}
	for _, id := range plain {
		if reasons(id) {
			t.Errorf("%s should take max_tokens", id)
		}
	}
	for id, want := range map[string]bool{
		"gpt-4o": true, "text-embedding-3-small": false, "Whisper-1": false, "tts-1": false, "gpt-4o-realtime-preview": false,
		"omni-moderation-latest": false, "dall-e-3": false, "qwen3": true, "bge-reranker": false,
	} {
		if got := chats(id); got != want {
			t.Errorf("%s: got %v, want %v", id, got, want)
		}
	}
}

func TestAPIURL(t *testing.T) {
	tests := map[string]string{
		"https://api.openai.com":                 "https://api.openai.com/v1",
		"https://api.openai.com/":                "https://api.openai.com/v1",
		"http://llm:8000/v1":                     "http://llm:8000/v1",
		"http://llm:8000/v1/":                    "http://llm:8000/v1",
		"https://gw.example/openai":              "https://gw.example/openai/v1",
		"https://gw.example/openai/v1//":         "https://gw.example/openai/v1",
		"https://open.example/api/paas/v4":       "https://open.example/api/paas/v4",
		"https://gl.example/v1beta/openai/":      "https://gl.example/v1beta/openai",
		"https://gw.example/vendor":              "https://gw.example/vendor/v1",
		"https://gw.example/a%2Fb":               "https://gw.example/a/b/v1",
		"https://gw.example/version-1/v2024test": "https://gw.example/version-1/v2024test",
	}
	for in, want := range tests {
		u, err := url.Parse(in)
		if err != nil {
			t.Fatal(err)
		}
		if got := apiURL(u).String(); got != want {
			t.Errorf("%s: got %s, want %s", in, got, want)
		}
	}
}

func FuzzParseModels(f *testing.F) {
	for _, seed := range []string{"", "a,b\nc", "# x\n a , ,b", "m: chat, vision\nx:y: thinking", "\xff,\u2028"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		ids, err := parseModels(text)
		if err == nil {
			for i, id := range ids {
				if checkModelID(id) != nil || slices.Index(ids, id) != i {
					t.Errorf("%q: id %q is bad or repeated", text, id)
				}
			}
			again, err := parseModels(strings.Join(ids, "\n"))
			// An id that begins with # is only one behind a comma.
			comment := slices.ContainsFunc(ids, func(id string) bool { return strings.HasPrefix(id, "#") })
			if err != nil || !comment && !slices.Equal(ids, again) {
				t.Errorf("%q: %q reads as %q, %v", text, ids, again, err)
			}
		}
		caps, err := parseModelCapabilities(text)
		for id, list := range caps {
			if err != nil || checkModelID(id) != nil || len(list) > len(knownCapabilities()) {
				t.Errorf("%q: %q can %v, %v", text, id, list, err)
			}
		}
	})
}
