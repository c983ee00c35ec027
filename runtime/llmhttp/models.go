// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package llmhttp

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
	// MaxModels bounds each list of models.
	MaxModels  = 1000
	maxModelID = 256 // UTF-16 code units
)

// Models is what a config says of models. It is never modified.
type Models struct {
	// Custom ids, offered without asking the server.
	Custom []string
	// Capabilities of single models, instead of what is known of them.
	Capabilities map[string][]llm.Capability
	// Always are capabilities that all models have in addition.
	Always []llm.Capability
	// Prices of models; one that is not listed has none.
	Prices map[string]llm.Price
}

// Price of a model; nil if none is declared.
func (m Models) Price(id string) *llm.Price {
	if p, ok := m.Prices[id]; ok {
		return &p
	}
	return nil
}

// ReadModels reads the fields customModels, modelCapabilities, providerCapabilities and prices of a config. Its errors name
// them.
func ReadModels(custom, capabilities, always, prices string) (Models, error) {
	var out Models
	var err, errs error
	if out.Custom, err = ParseModels(custom); err != nil {
		errs = errors.Join(errs, fmt.Errorf("config.customModels: %w", err))
	}
	if out.Capabilities, err = parseModelCapabilities(capabilities); err != nil {
		errs = errors.Join(errs, fmt.Errorf("config.modelCapabilities: %w", err))
	}
	if out.Always, err = parseCapabilities(always); err != nil {
		errs = errors.Join(errs, fmt.Errorf("config.providerCapabilities: %w", err))
	}
	if out.Prices, err = ParsePrices(prices); err != nil {
		errs = errors.Join(errs, fmt.Errorf("config.prices: %w", err))
	}
	return out, errs
}

// Can decides what a model can do: what the config says of it, else guess; and what the config says of all models.
func (m Models) Can(id string, guess func(id string) []llm.Capability) []llm.Capability {
	base, ok := m.Capabilities[id]
	if !ok {
		base = guess(id)
	}
	out := slices.Clone(base)
	for _, c := range m.Always {
		if !slices.Contains(out, c) {
			out = append(out, c)
		}
	}
	return out
}

// ParseModels reads a list of model ids, separated by commas and line breaks. Repeated ids count once.
func ParseModels(text string) ([]string, error) {
	var out []string
	seen := map[string]bool{}
	for n, line := range lines(text) {
		for id := range strings.SplitSeq(line, ",") {
			id = strings.TrimSpace(id)
			if id == "" || seen[id] {
				continue
			}
			if err := CheckModelID(id); err != nil {
				return nil, fmt.Errorf("line %d: %w", n, err)
			}
			if len(out) == MaxModels {
				return nil, fmt.Errorf("line %d: may not hold more than %d models", n, MaxModels)
			}
			seen[id] = true
			out = append(out, id)
		}
	}
	return out, nil
}

// CheckModelID says what is wrong with a model id, or nil.
func CheckModelID(id string) error {
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
		if err := CheckModelID(id); err != nil {
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
		if !slices.Contains(llm.Capabilities(), c) {
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

func capabilityNames() string {
	var names []string
	for _, c := range llm.Capabilities() {
		names = append(names, string(c))
	}
	return strings.Join(names, ", ")
}
