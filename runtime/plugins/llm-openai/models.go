// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package llmopenai

import (
	"slices"
	"strings"

	"github.com/aalis-dev/aalis-operator/runtime/contract/llm"
)

// capability sets that the table shares.
var (
	capsText     = []llm.Capability{llm.CapChat, llm.CapToolCalling, llm.CapStreaming}
	capsVision   = append(slices.Clip(capsText), llm.CapVision)
	capsThinking = append(slices.Clip(capsText), llm.CapThinking)
	capsAll      = append(slices.Clip(capsVision), llm.CapThinking)
)

// nameTable says what the well-known model families can do. A name that equals no key is matched to the first key that it
// begins with, so longer keys stand before shorter ones.
var nameTable = []struct {
	name string
	caps []llm.Capability
}{
	{"gpt-5-chat", capsVision},
	{"gpt-5", capsAll},
	{"gpt-4.1", capsVision},
	{"gpt-4o", capsVision},
	{"gpt-4-turbo", capsVision},
	{"gpt-4", capsText},
	{"gpt-3.5-turbo", capsText},
	{"o1-mini", []llm.Capability{llm.CapChat, llm.CapStreaming, llm.CapThinking}},
	{"o1-preview", []llm.Capability{llm.CapChat, llm.CapStreaming, llm.CapThinking}},
	{"o1", capsAll},
	{"o3-mini", capsThinking},
	{"o3", capsAll},
	{"o4-mini", capsAll},
}

// guess says what a model's name suggests. An unknown model chats and streams: servers of this protocol do, and one that
// sends its reply in one piece is understood all the same.
func guess(id string) []llm.Capability {
	for _, row := range nameTable {
		if row.name == id {
			return row.caps
		}
	}
	for _, row := range nameTable {
		if strings.HasPrefix(id, row.name) {
			return row.caps
		}
	}
	return []llm.Capability{llm.CapChat, llm.CapStreaming}
}

// reasons tells the models that take max_completion_tokens instead of max_tokens and no temperature: the o series and
// GPT-5 and later, with or without a vendor before a slash.
func reasons(id string) bool {
	name := id[strings.LastIndexByte(id, '/')+1:]
	if rest, ok := strings.CutPrefix(name, "o"); ok {
		return rest != "" && isDigit(rest[0])
	}
	if rest, ok := strings.CutPrefix(name, "gpt-"); ok && rest != "" {
		return rest[0] >= '5' && rest[0] <= '9' || len(rest) > 1 && isDigit(rest[0]) && isDigit(rest[1])
	}
	return false
}

func isDigit(b byte) bool { return b >= '0' && b <= '9' }
