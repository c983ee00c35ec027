// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestCases names the cases of the behaviour that are about config and schema alone.
func TestCases(t *testing.T) {
	object := Object{Fields: []Field{
		{Name: "off", Type: Boolean, Default: false, HasDefault: true},
		{Name: "zero", Type: Number, Default: 0.0, HasDefault: true, Min: new(float64)},
		{Name: "empty", Type: String, Default: "", HasDefault: true},
		{Name: "name", Type: String, Required: true},
		{Name: "odd", Type: String, Pattern: "("},
		{Name: "group", Type: ObjectType, Fields: []Field{
			{Name: "a", Type: Integer, Default: 1.0, HasDefault: true}, {Name: "b", Type: String, Default: "b", HasDefault: true},
		}},
		{Name: "items", Type: Array, Items: &Field{Type: ObjectType, Fields: []Field{
			{Name: "n", Type: Integer, Required: true, Default: 3.0, HasDefault: true},
		}}},
	}}
	t.Run("8.4.5 missing defaults are filled in deeply, what is there stays", func(t *testing.T) {
		given := map[string]any{"name": "x", "group": map[string]any{"a": 7.0}, "items": []any{map[string]any{}}}
		want := map[string]any{
			"off": false, "zero": 0.0, "empty": "", "name": "x", "group": map[string]any{"a": 7.0, "b": "b"}, "items": []any{map[string]any{}},
		}
		if d := cmp.Diff(want, object.WithDefaults(given)); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
	})
	for name, tc := range map[string]struct {
		cfg  map[string]any
		want []Issue
	}{
		"8.4.5 an unknown key is refused with its path": {
			map[string]any{"name": "x", "group": map[string]any{"aa": 1.0}},
			[]Issue{{"group.aa", `unknown key, did you mean "a"?`, Unknown}},
		},
		"8.4.5 a required key without a default is missed": {nil, []Issue{{"name", "must be given", Missing}}},
		"8.4.6 NaN is no number": {
			map[string]any{"name": "x", "zero": math.NaN()}, []Issue{{"zero", "must be a number, got NaN", Invalid}},
		},
		"8.4.6 infinity is no number": {
			map[string]any{"name": "x", "zero": math.Inf(1)}, []Issue{{"zero", "must be a number, got +Inf", Invalid}},
		},
		"8.4.6 an item may leave out what has a default": {map[string]any{"name": "x", "items": []any{map[string]any{}}}, nil},
		"8.4.6 a pattern that does not compile is skipped": {
			map[string]any{"name": "x", "odd": "anything"}, nil,
		},
		"8.4.6 bounds of a value of the wrong type are not checked": {
			map[string]any{"name": "x", "zero": "-1"}, []Issue{{"zero", `must be a number, got the string "-1"`, Invalid}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			before := object.WithDefaults(nil)
			given := Object{}.WithDefaults(tc.cfg)
			if d := cmp.Diff(tc.want, object.Validate(given)); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			if d := cmp.Diff(Object{}.WithDefaults(tc.cfg), given, cmp.Comparer(func(a, b float64) bool { return a == b || a != a && b != b })); d != "" {
				t.Errorf("8.4.6 the config was modified:\n%s", d)
			}
			if d := cmp.Diff(before, object.WithDefaults(nil)); d != "" {
				t.Errorf("8.4.6 the schema was modified:\n%s", d)
			}
		})
	}
	t.Run("8.4.6 false, 0 and the empty text are defaults", func(t *testing.T) {
		want := map[string]any{"off": false, "zero": 0.0, "empty": "", "group": map[string]any{"a": 1.0, "b": "b"}}
		if d := cmp.Diff(want, object.Defaults()); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
	})
}
