// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package llmhttp

import (
	"fmt"
	"strings"

	"github.com/aalis-dev/aalis-operator/runtime/contract/llm"
	"github.com/aalis-dev/aalis-operator/runtime/money"
)

// priceForm is what a line of prices looks like, for errors.
const priceForm = `"model id: USD prompt=0.15 cached=0.075 completion=0.60"`

// ParsePrices reads prices, by model id, one model a line in the form that priceForm shows. Figures are for a million tokens,
// in units of the currency with at most nine decimals; cached is that of prompt where it is not given. The last colon
// separates, so that ids may hold some.
func ParsePrices(text string) (map[string]llm.Price, error) {
	out := map[string]llm.Price{}
	for n, line := range lines(text) {
		i := strings.LastIndexByte(line, ':')
		if i < 0 {
			return nil, fmt.Errorf("line %d: must be %s, got %q", n, priceForm, line)
		}
		id := strings.TrimSpace(line[:i])
		if err := CheckModelID(id); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		if _, twice := out[id]; twice {
			return nil, fmt.Errorf("line %d: model %q has a price already", n, id)
		}
		if len(out) == MaxModels {
			return nil, fmt.Errorf("line %d: may not hold more than %d models", n, MaxModels)
		}
		price, err := parsePrice(line[i+1:])
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		out[id] = price
	}
	return out, nil
}

func parsePrice(text string) (llm.Price, error) {
	var out llm.Price
	words := strings.Fields(text)
	if len(words) == 0 || !money.IsCurrency(words[0]) {
		return out, fmt.Errorf("must name a currency by its three capital letters, as in %s", priceForm)
	}
	out.Currency = words[0]
	fields := map[string]*llm.Nanos{"prompt": &out.Prompt, "cached": &out.CachedPrompt, "completion": &out.Completion}
	given := map[string]bool{}
	for _, word := range words[1:] {
		name, value, _ := strings.Cut(word, "=")
		field := fields[name]
		switch {
		case field == nil:
			return out, fmt.Errorf("a figure must be prompt=, cached= or completion=, got %q", word)
		case given[name]:
			return out, fmt.Errorf("%s is given twice", name)
		}
		n, err := money.Parse(value)
		if err != nil {
			return out, fmt.Errorf("%s: %w", name, err)
		}
		*field = llm.Nanos(n)
		given[name] = true
	}
	if !given["prompt"] || !given["completion"] {
		return out, fmt.Errorf("prompt and completion must be given, as in %s", priceForm)
	}
	if !given["cached"] {
		out.CachedPrompt = out.Prompt
	}
	return out, nil
}
