// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tools

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/aalis-dev/aalis-operator/runtime/i18n"
)

const (
	// maxSuggestions is how many similar names a failure offers.
	maxSuggestions = 3
	// maxShown bounds, in UTF-16 code units, how much of a made-up name a failure repeats.
	maxShown = 80
)

// unknown says that there is no tool of a name, with those offered to the caller that resemble it.
func (r *registry) unknown(name string, groups []string) string {
	enabled := setOf(groups)
	var names []string
	for _, e := range r.all() {
		if offered(e.Groups, enabled) {
			names = append(names, e.Definition.Function.Name)
		}
	}
	text := fmt.Sprintf(textUnknown, shown(name))
	if similar := suggest(name, names); len(similar) > 0 {
		text += fmt.Sprintf(textSuggest, strings.Join(similar, ", "))
	}
	return text
}

func shown(name string) string { return i18n.Cut(strings.ToValidUTF8(name, "\uFFFD"), maxShown) }

// suggest picks up to three names that resemble a wrong one: two points when one contains the other, one for each word
// they share. Equal points keep the order of the names.
func suggest(wrong string, names []string) []string {
	wrong = strings.ToLower(strings.TrimSpace(wrong))
	if wrong == "" {
		return nil
	}
	words := setOf(split(wrong))
	type scored struct {
		name  string
		score int
	}
	var found []scored
	for _, name := range names {
		lower := strings.ToLower(name)
		score := 0
		if strings.Contains(lower, wrong) || strings.Contains(wrong, lower) {
			score = 2
		}
		for w := range setOf(split(lower)) {
			if words[w] {
				score++
			}
		}
		if score > 0 {
			found = append(found, scored{name, score})
		}
	}
	slices.SortStableFunc(found, func(a, b scored) int { return cmp.Compare(b.score, a.score) })
	var out []string
	for _, f := range found[:min(len(found), maxSuggestions)] {
		out = append(out, f.name)
	}
	return out
}

// split takes a name into its words.
func split(name string) []string {
	return strings.FieldsFunc(name, func(r rune) bool { return r == '_' || r == '-' || r == ' ' })
}
