// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package llmopenai

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/aalis-dev/aalis-operator/runtime/contract/llm"
	"github.com/aalis-dev/aalis-operator/runtime/schema"
)

// Bounds of what an instance offers.
const (
	maxModels  = 1000
	maxModelID = 256 // UTF-16 code units
)

// parseModels reads a list of model ids, separated by commas and line breaks. Repeated ids count once.
func parseModels(text string) ([]string, error) {
	var out []string
	seen := map[string]bool{}
	for n, line := range lines(text) {
		for id := range strings.SplitSeq(line, ",") {
			id = strings.TrimSpace(id)
			if id == "" || seen[id] {
				continue
			}
			if err := checkModelID(id); err != nil {
				return nil, fmt.Errorf("line %d: %w", n, err)
			}
			if len(out) == maxModels {
				return nil, fmt.Errorf("line %d: may not hold more than %d models", n, maxModels)
			}
			seen[id] = true
			out = append(out, id)
		}
	}
	return out, nil
}

func checkModelID(id string) error {
	switch {
	case id == "":
		return errors.New("a model id must be given")
	case schema.Length(id) > maxModelID:
		return fmt.Errorf("a model id may not be longer than %d characters", maxModelID)
	case strings.ContainsFunc(id, func(r rune) bool {
		return unicode.IsSpace(r) || !unicode.IsPrint(r) || r == unicode.ReplacementChar
	}):
		return fmt.Errorf("a model id may hold no blanks and no control characters, got %q", id)
	default:
		return nil
	}
}

// parseModelCapabilities reads lines of the form "model id: capability, capability". The last colon separates, so that
// ids may hold colons. The last line about a model counts.
func parseModelCapabilities(text string) (map[string][]llm.Capability, error) {
	out := map[string][]llm.Capability{}
	for n, line := range lines(text) {
		i := strings.LastIndexByte(line, ':')
		if i < 0 {
			return nil, fmt.Errorf("line %d: must be \"model id: capability, capability\", got %q", n, line)
		}
		id := strings.TrimSpace(line[:i])
		if err := checkModelID(id); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		caps, err := parseCapabilities(line[i+1:])
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		out[id] = caps
	}
	return out, nil
}

// parseCapabilities reads names of capabilities, separated by commas and blanks.
func parseCapabilities(text string) ([]llm.Capability, error) {
	var out []llm.Capability
	words := strings.FieldsFunc(text, func(r rune) bool { return r == ',' || unicode.IsSpace(r) })
	for _, word := range words {
		c := llm.Capability(word)
		if !slices.Contains(knownCapabilities(), c) {
			return nil, fmt.Errorf("a capability must be one of %s, got %q", capabilityNames(), word)
		}
		if !slices.Contains(out, c) {
			out = append(out, c)
		}
	}
	return out, nil
}

// lines gives the lines of a text that are neither blank nor comments, trimmed, by their number from 1.
func lines(text string) func(yield func(int, string) bool) {
	return func(yield func(int, string) bool) {
		n := 0
		for line := range strings.SplitSeq(text, "\n") {
			n++
			line = strings.TrimSpace(line)
			if line == "" || strings.HasPrefix(line, "#") {
				continue
			}
			if !yield(n, line) {
				return
			}
		}
	}
}

func knownCapabilities() []llm.Capability {
	return []llm.Capability{
		llm.CapChat, llm.CapToolCalling, llm.CapStreaming, llm.CapVision, llm.CapThinking,
		"audio", "audio_transcription", "video",
	}
}

func capabilityNames() string {
	var names []string
	for _, c := range knownCapabilities() {
		names = append(names, string(c))
	}
	return strings.Join(names, ", ")
}

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

// capabilities decides what a model can do: what the config says of it, else what its name suggests; and what the config
// says of all models. An unknown model chats and streams: servers of this protocol do, and one that sends its reply in one
// piece is understood all the same.
func (s *settings) capabilities(id string) []llm.Capability {
	base, ok := s.caps[id]
	if !ok {
		base = guess(id)
	}
	out := slices.Clone(base)
	for _, c := range s.always {
		if !slices.Contains(out, c) {
			out = append(out, c)
		}
	}
	return out
}

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

// notForChat are parts of the names of models that a server lists and that do not chat.
var notForChat = []string{
	"embedding", "whisper", "tts", "dall-e", "gpt-image", "moderation", "davinci-002", "babbage-002", "sora",
	"-realtime", "-transcribe", "-rerank", "reranker",
}

// chats tells whether a listed model is worth offering. Models that the config names are never asked about.
func chats(id string) bool {
	id = strings.ToLower(id)
	return !slices.ContainsFunc(notForChat, func(part string) bool { return strings.Contains(id, part) })
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
