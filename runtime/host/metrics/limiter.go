// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"strings"
	"sync"

	"github.com/aalis-dev/aalis-operator/runtime/schema"
)

// The bounds of labels whose values come from elsewhere.
const (
	maxCharacters = 128
	other         = "other"
)

// limiter bounds the distinct combinations of the values of some labels. Labels are bounded together because the series of
// a metric are their combinations: four labels of 64 values each would be 16 million.
type limiter struct {
	most int

	mu   sync.Mutex
	seen map[string][]string // by what was given, as it is shown
}

func newLimiter(most int) *limiter { return &limiter{most: most, seen: map[string][]string{}} }

// values are what to show: the values themselves, cut, or "other" for each when there are too many combinations. The slice
// must not be changed.
func (l *limiter) values(in ...string) []string {
	var b strings.Builder
	for _, v := range in {
		b.WriteString(v)
		b.WriteByte(0xFF) // in no valid text
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if shown, ok := l.seen[b.String()]; ok {
		return shown
	}
	shown := make([]string, len(in))
	full := len(l.seen) >= l.most
	for i, v := range in {
		if shown[i] = other; !full {
			shown[i] = cut(v)
		}
	}
	if !full {
		l.seen[b.String()] = shown
	}
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
			return strings.Clone(v[:i])
		}
	}
	return v
}

// oneOf is v, or "other" if it is none of the known ones.
func oneOf[S ~string](v S, known ...S) string {
	for _, k := range known {
		if v == k {
			return string(v)
		}
	}
	return other
}
