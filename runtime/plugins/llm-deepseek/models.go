// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package llmdeepseek

import (
	"regexp"
	"strings"

	"github.com/aalis-dev/aalis-operator/runtime/contract/llm"
)

// Sets of capabilities.
var (
	capsTools    = []llm.Capability{llm.CapChat, llm.CapToolCalling, llm.CapStreaming}
	capsThinking = []llm.Capability{llm.CapChat, llm.CapToolCalling, llm.CapStreaming, llm.CapThinking}
	capsChat     = []llm.Capability{llm.CapChat}
)

// thinks finds the names of the model generations that think.
var thinks = regexp.MustCompile(`\bv[4-9]\b|-(?:pro|flash)\b`)

// guess says what a model's name suggests.
func guess(id string) []llm.Capability {
	id = strings.ToLower(id)
	switch {
	case strings.Contains(id, "reasoner"), thinks.MatchString(id):
		return capsThinking
	case strings.Contains(id, "chat"):
		return capsTools
	default:
		return capsChat
	}
}
