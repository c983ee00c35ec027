// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"maps"
	"slices"

	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
)

// Clone copies a message so deeply that the copy shares nothing that can be changed.
func Clone(m message.Message) message.Message {
	m.ToolCalls = slices.Clone(m.ToolCalls)
	m.Images = slices.Clone(m.Images)
	m.Segments = slices.Clone(m.Segments)
	for i := range m.Segments {
		m.Segments[i].Args = cloneMap(m.Segments[i].Args)
	}
	m.Metadata = cloneMap(m.Metadata)
	return m
}

func cloneMap(in map[string]any) map[string]any {
	if in == nil {
		return nil
	}
	out := maps.Clone(in)
	for key, v := range in {
		switch v.(type) {
		case map[string]any, map[string]string, []any, []string:
			out[key] = cloneValue(v)
		}
	}
	return out
}

// cloneValue copies the maps and lists that JSON values consist of. Other values are taken to be immutable.
func cloneValue(v any) any {
	switch v := v.(type) {
	case map[string]any:
		return cloneMap(v)
	case map[string]string:
		return maps.Clone(v)
	case []any:
		out := slices.Clone(v)
		for i := range out {
			out[i] = cloneValue(out[i])
		}
		return out
	case []string:
		return slices.Clone(v)
	default:
		return v
	}
}
