// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package llmopenai

import (
	"strings"
	"testing"

	"github.com/aalis-dev/aalis-operator/runtime/contract/llm"
	"github.com/aalis-dev/aalis-operator/runtime/llmhttp"
)

func checkError(t *testing.T, err error, want string) {
	t.Helper()
	switch {
	case want == "" && err != nil:
		t.Errorf("unexpected error: %v", err)
	case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
		t.Errorf("error is %v, want %q", err, want)
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
	s := llmhttp.Models{Capabilities: map[string][]llm.Capability{"overridden": {llm.CapVision}, "gpt-4o-but-overridden": nil}}
	words := func(id string) string {
		var out []string
		for _, c := range s.Can(id, guess) {
			out = append(out, string(c))
		}
		return strings.Join(out, " ")
	}
	for id, want := range tests {
		if got := words(id); got != want {
			t.Errorf("%s: got %q, want %q", id, got, want)
		}
	}
	s.Always = []llm.Capability{llm.CapChat, llm.CapThinking}
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
}
