// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tools

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// checks is what the schema of a tool says about its arguments, as far as the registry enforces it: which must be
// there, and whether others than the declared are taken. Their values are for the tool to judge.
type checks struct {
	required []string
	closed   bool
	known    []string // sorted
}

// checksOf reads a schema, which may be Go values or decoded JSON.
func checksOf(schema map[string]any) checks {
	c := checks{required: texts(schema["required"])}
	if open, ok := schema["additionalProperties"].(bool); ok && !open {
		c.closed = true
	}
	if properties, ok := schema["properties"].(map[string]any); ok {
		c.known = slices.Sorted(maps.Keys(properties))
	}
	return c
}

func texts(v any) []string {
	switch list := v.(type) {
	case []string:
		return slices.Clone(list)
	case []any:
		var out []string
		for _, item := range list {
			if s, ok := item.(string); ok {
				out = append(out, s)
			}
		}
		return out
	}
	return nil
}

// of lists what is wrong with some arguments, in a stable order.
func (c checks) of(args map[string]any) []string {
	var problems []string
	for _, key := range c.required {
		if _, ok := args[key]; !ok {
			problems = append(problems, fmt.Sprintf(textMissing, key))
		}
	}
	if !c.closed {
		return problems
	}
	for _, key := range slices.Sorted(maps.Keys(args)) {
		if _, known := slices.BinarySearch(c.known, key); known {
			continue
		}
		problem := fmt.Sprintf(textExtra, shown(key))
		switch similar := suggest(key, c.known); {
		case len(similar) > 0:
			problem += fmt.Sprintf(textSuggest, strings.Join(similar, ", "))
		case len(c.known) > 0:
			problem += fmt.Sprintf(textAllowed, strings.Join(c.known, ", "))
		default:
			problem += textNone
		}
		problems = append(problems, problem)
	}
	return problems
}
