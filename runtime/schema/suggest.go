// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"slices"
	"strconv"
	"strings"
)

// maxSuggestions is how many near names a message offers.
const maxSuggestions = 3

// Suggest returns up to three of the known names that look like what was meant, nearest first, ties by name. Case does not
// count. A name is near if at most a third of it, and at least one character, would have to change, or if one of the
// two begins with the other.
func Suggest(name string, known []string) []string {
	type near struct {
		name     string
		distance int
	}
	var found []near
	low := strings.ToLower(name)
	if len(low) > maxSuggestLength {
		return nil
	}
	for _, k := range known {
		l := strings.ToLower(k)
		if k == name || len(l) > maxSuggestLength {
			continue
		}
		d := distance(low, l)
		prefix := len(low) >= 3 && len(l) >= 3 && (strings.HasPrefix(l, low) || strings.HasPrefix(low, l))
		if d <= max(1, len(low)/3) || prefix {
			found = append(found, near{k, d})
		}
	}
	slices.SortFunc(found, func(a, b near) int {
		if a.distance != b.distance {
			return a.distance - b.distance
		}
		return strings.Compare(a.name, b.name)
	})
	var out []string
	for _, n := range found[:min(len(found), maxSuggestions)] {
		out = append(out, n.name)
	}
	return slices.Compact(out)
}

// maxSuggestLength bounds the work spent on a guess, in bytes.
const maxSuggestLength = 128

// UnknownName says that a name is unknown and what may have been meant:
// `unknown key, did you mean "temperature"?`. With no near name it lists the known ones if they are few.
func UnknownName(what, name string, known []string) string {
	if near := Suggest(name, known); len(near) > 0 {
		return what + ", did you mean " + quoted(near, " or ") + "?"
	}
	if len(known) == 0 {
		return what + ", none is allowed here"
	}
	if len(known) <= maxListed {
		sorted := slices.Sorted(slices.Values(known))
		return what + ", allowed are " + quoted(sorted, " and ")
	}
	return what
}

// quoted joins names with commas and a last word.
func quoted(names []string, last string) string {
	var b strings.Builder
	for i, n := range names {
		switch {
		case i == 0:
		case i == len(names)-1:
			b.WriteString(last)
		default:
			b.WriteString(", ")
		}
		b.WriteString(strconv.Quote(n))
	}
	return b.String()
}

// distance is the number of insertions, deletions, replacements and swaps of neighbours that turn a into b.
func distance(a, b string) int {
	ra, rb := []rune(a), []rune(b)
	before, prev, cur := make([]int, len(rb)+1), make([]int, len(rb)+1), make([]int, len(rb)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(ra); i++ {
		cur[0] = i
		for j := 1; j <= len(rb); j++ {
			cost := 1
			if ra[i-1] == rb[j-1] {
				cost = 0
			}
			cur[j] = min(prev[j]+1, cur[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && ra[i-1] == rb[j-2] && ra[i-2] == rb[j-1] {
				cur[j] = min(cur[j], before[j-2]+1)
			}
		}
		before, prev, cur = prev, cur, before
	}
	return prev[len(rb)]
}
