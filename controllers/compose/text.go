// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package compose

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/aalis-dev/aalis-operator/runtime/schema"
)

// list quotes names and joins them with commas.
func list(names []string) string {
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = strconv.Quote(n)
	}
	return strings.Join(quoted, ", ")
}

// unknown says that a name is not among those that exist, what may have been meant, or, if they are few, which there are.
func unknown(what, name string, known []string) string {
	text := fmt.Sprintf("%s %q", what, name)
	if near := schema.Suggest(name, known); len(near) > 0 {
		return text + ", did you mean " + strings.Join(strings.Split(list(near), ", "), " or ") + "?"
	}
	if len(known) == 0 {
		return text + ", it has none"
	}
	const few = 10
	sorted := slices.Sorted(slices.Values(known))
	if len(sorted) > few {
		return text + ", it has " + list(sorted[:few]) + fmt.Sprintf(" and %d more", len(sorted)-few)
	}
	return text + ", it has " + list(sorted)
}
