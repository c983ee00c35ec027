// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package commands

import (
	"cmp"
	"slices"
	"strings"

	"github.com/aalis-dev/aalis-operator/runtime/i18n"
)

const (
	// maxShown bounds, in UTF-16 code units, how much of a wrong word an answer repeats.
	maxShown = 80
	// maxSimilar is how many similar names an answer offers.
	maxSimilar = 3
	// maxCompared bounds, in bytes, what is compared with names, since the work grows with the square.
	maxCompared = 64
)

func shown(word string) string { return i18n.Cut(strings.ToValidUTF8(word, "\uFFFD"), maxShown) }

// similar picks up to three names that a wrong word may be meant to be: those that it begins, contains or ends, and those
// that differ by few letters. The nearest come first.
func similar(wrong string, names []string) []string {
	bare := func(s string) string { return strings.ToLower(strings.TrimLeft(s, "-")) }
	wrong = bare(wrong)
	if wrong == "" || len(wrong) > maxCompared {
		return nil
	}
	type near struct {
		name     string
		distance int
	}
	var found []near
	for _, name := range names {
		n := bare(name)
		d := distance(wrong, n)
		part := len(wrong) > 1 && len(n) > 1 && (strings.Contains(n, wrong) || strings.Contains(wrong, n))
		if part || d <= (len(n)+1)/3 {
			found = append(found, near{name, d})
		}
	}
	slices.SortStableFunc(found, func(a, b near) int { return cmp.Compare(a.distance, b.distance) })
	var out []string
	for _, f := range found[:min(len(found), maxSimilar)] {
		out = append(out, f.name)
	}
	return out
}

// distance is the number of bytes to insert, remove or replace to make one word the other.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			d := diagonal
			if a[i] != b[j] {
				d = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], d
		}
	}
	return row[len(b)]
}
