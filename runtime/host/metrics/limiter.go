// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"strings"
	"sync"

	"github.com/aalis-dev/aalis-operator/runtime/schema"
)

// The bounds of a label whose values come from elsewhere.
const (
	maxValues     = 64
	maxCharacters = 128
	other         = "other"
)

// limiter bounds the distinct values of one label. The zero value is ready.
type limiter struct {
	mu   sync.Mutex
	seen map[string]string // by what was given, as it is shown
}

// value is what to show: the value itself, cut, or "other" when there are too many.
func (l *limiter) value(v string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if shown, ok := l.seen[v]; ok {
		return shown
	}
	shown := cut(v)
	if len(l.seen) >= maxValues {
		return other
	}
	if l.seen == nil {
		l.seen = map[string]string{}
	}
	l.seen[strings.Clone(v)] = shown
	return shown
}

// cut repairs and shortens a label value to 128 characters.
func cut(v string) string {
	v = strings.ToValidUTF8(v, "\uFFFD")
	if len(v) <= maxCharacters {
		return v
	}
	units := 0
	for i, r := range v {
		units += schema.Length(string(r))
		if units > maxCharacters {
			return v[:i]
		}
	}
	return v
}
