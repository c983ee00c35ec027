// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package rollback

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/pmezard/go-difflib/difflib"
)

// maxChanges is how many changed fields a summary names.
const maxChanges = 4

// Summary names the fields in which two specs differ, with the number of lines of a text of several: "prompt (+2 -1
// lines), config.temperature". Values are not shown: they may be long.
func Summary(before, after []byte) string {
	var a, b any
	if json.Unmarshal(before, &a) != nil || json.Unmarshal(after, &b) != nil {
		return "cannot be read"
	}
	changes := changes("", a, b)
	switch {
	case len(changes) == 0:
		return "no change"
	case len(changes) > maxChanges:
		return strings.Join(changes[:maxChanges], ", ") + fmt.Sprintf(" and %d more", len(changes)-maxChanges)
	}
	return strings.Join(changes, ", ")
}

func changes(path string, a, b any) []string {
	if reflect.DeepEqual(a, b) {
		return nil
	}
	x, isMap := a.(map[string]any)
	y, both := b.(map[string]any)
	if !isMap || !both {
		return []string{strings.TrimSpace(path + " " + size(a, b))}
	}
	var out []string
	keys := slices.Sorted(maps.Keys(x))
	for _, k := range slices.Sorted(maps.Keys(y)) {
		if _, ok := x[k]; !ok {
			keys = append(keys, k)
		}
	}
	for _, k := range keys {
		below := k
		if path != "" {
			below = path + "." + k
		}
		out = append(out, changes(below, x[k], y[k])...)
	}
	return out
}

// size says how much of a text changed, or whether a field came or went.
func size(a, b any) string {
	switch {
	case a == nil:
		return "(new)"
	case b == nil:
		return "(gone)"
	}
	x, isText := a.(string)
	y, both := b.(string)
	if !isText || !both || !strings.Contains(x+y, "\n") {
		return ""
	}
	added, removed := 0, 0
	for _, op := range difflib.NewMatcher(strings.Split(x, "\n"), strings.Split(y, "\n")).GetOpCodes() {
		if op.Tag != 'e' {
			removed += op.I2 - op.I1
			added += op.J2 - op.J1
		}
	}
	return fmt.Sprintf("(+%d -%d lines)", added, removed)
}
