// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"encoding/json"
	"math"
	"reflect"
	"strconv"
)

// toNumber reads a finite number of any of the accepted kinds.
func toNumber(value any) (float64, bool) {
	if n, ok := value.(json.Number); ok {
		f, err := n.Float64()
		return f, err == nil && !math.IsInf(f, 0)
	}
	v := reflect.ValueOf(value)
	switch {
	case v.CanInt():
		return float64(v.Int()), true
	case v.CanUint():
		return float64(v.Uint()), true
	case v.CanFloat():
		f := v.Float()
		return f, !math.IsNaN(f) && !math.IsInf(f, 0)
	default:
		return 0, false
	}
}

func toList(value any) ([]any, bool) {
	switch v := value.(type) {
	case []any:
		return v, true
	case []string:
		out := make([]any, len(v))
		for i, s := range v {
			out[i] = s
		}
		return out, true
	default:
		return nil, false
	}
}

func plain(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }

// maxShown is how many characters of a wrong text a message repeats.
const maxShown = 40

// show describes a value in a message: scalars as they are, texts quoted and cut, the rest by kind.
func show(value any) string {
	switch v := value.(type) {
	case nil:
		return "null"
	case bool:
		return strconv.FormatBool(v)
	case string:
		runes := []rune(v)
		if len(runes) > maxShown {
			return "the string " + strconv.Quote(string(runes[:maxShown])) + "..."
		}
		return "the string " + strconv.Quote(v)
	case json.Number:
		return v.String()
	case []any, []string:
		return "a list"
	case map[string]any:
		return "an object"
	}
	if n, ok := toNumber(value); ok {
		return plain(n)
	}
	if f, ok := value.(float64); ok {
		return strconv.FormatFloat(f, 'g', -1, 64)
	}
	return "a value of another kind"
}
