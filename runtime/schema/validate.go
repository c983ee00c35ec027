// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
)

// Validate checks a config against the schema and returns every mistake, in the order of the schema, unknown keys last by
// name. It is strict: a key that the schema does not have is a mistake. A null counts as not given; an empty text or list
// counts as given. A value whose type is wrong gets that one issue, its bounds are not checked. Fields of an unknown type
// are not checked except for being required.
//
// Values are those of encoding/json; json.Number, Go's own numbers and lists of strings are understood, too. The config is
// never modified, and a schema that makes no sense never panics. The value of a secret field is never in a message.
func (o Object) Validate(cfg map[string]any) []Issue {
	var v validator
	v.object("", o.Fields, cfg, 0)
	return v.issues
}

type validator struct{ issues []Issue }

func (v *validator) add(path string, kind Kind, format string, args ...any) {
	v.issues = append(v.issues, Issue{Path: path, Kind: kind, Message: fmt.Sprintf(format, args...)})
}

func (v *validator) wrong(path string, value any, must string) {
	v.add(path, Invalid, "must be %s, got %s", must, show(value))
}

func (v *validator) object(path string, fields []Field, cfg map[string]any, depth int) {
	known := make([]string, 0, len(fields))
	for _, f := range fields {
		known = append(known, f.Name)
		v.field(join(path, f.Name), f, cfg[f.Name], depth)
	}
	for _, key := range slices.Sorted(maps.Keys(cfg)) {
		if !slices.Contains(known, key) {
			v.add(join(path, key), Unknown, "%s", UnknownName("unknown key", key, known))
		}
	}
}

func (v *validator) field(path string, f Field, value any, depth int) {
	if f.Secret && value != nil {
		v.secret(path, f, value, depth)
		return
	}
	switch {
	case value == nil:
		v.absent(path, f, depth)
	case depth > maxDepth:
		v.add(path, Invalid, "may not be nested deeper than %d levels", maxDepth)
	default:
		v.value(path, f, value, depth)
	}
}

// value checks a value that is there.
func (v *validator) value(path string, f Field, value any, depth int) {
	switch f.Type {
	case String, Textarea:
		v.text(path, f, value)
	case Select:
		v.choice(path, f, value)
	case Number, Integer:
		v.number(path, f, value)
	case Boolean:
		if _, ok := value.(bool); !ok {
			v.wrong(path, value, "true or false")
		}
	case MultiSelect:
		v.choices(path, f, value)
	case ObjectType, LLMRef:
		v.group(path, f, value, depth)
	case Array:
		v.array(path, f, value, depth)
	case Map:
		v.mapping(path, f, value, depth)
	}
}

// absent checks a field that is not given. The required fields of an object that is not given are missing, too, unless it
// is null by default: then they are required only once it is given.
func (v *validator) absent(path string, f Field, depth int) {
	switch {
	case f.HasDefault:
	case f.Required:
		v.add(path, Missing, "must be given%s", hint(f))
	case f.Type == ObjectType && depth < maxDepth:
		for _, inner := range f.Fields {
			v.absent(join(path, inner.Name), inner, depth+1)
		}
	}
}

func hint(f Field) string {
	if f.Secret {
		return " (from a Secret)"
	}
	return ""
}

func (v *validator) text(path string, f Field, value any) {
	s, ok := value.(string)
	if !ok {
		v.wrong(path, value, "a string")
		return
	}
	if f.MaxLength != nil {
		if n := Length(s); n > *f.MaxLength {
			v.add(path, Invalid, "may not be longer than %d characters, got %d", *f.MaxLength, n)
			return
		}
	}
	if f.Pattern == "" {
		return
	}
	if re, err := regexp.Compile(f.Pattern); err == nil && !re.MatchString(s) {
		v.add(path, Invalid, "must match %s, got %s", f.Pattern, show(value))
	}
}

// secret checks the value of a secret field and leaves what it is out of every message.
func (v *validator) secret(path string, f Field, value any, depth int) {
	var inner validator
	f.Secret = false
	inner.field(path, f, value, depth)
	for _, issue := range inner.issues {
		before, _, _ := strings.Cut(issue.Message, ", got ")
		v.add(issue.Path, issue.Kind, "%s", before)
	}
}

func (v *validator) choice(path string, f Field, value any) {
	s, ok := value.(string)
	if !ok {
		v.wrong(path, value, "a string")
		return
	}
	if !f.allows(s) {
		v.wrong(path, value, "one of "+optionList(f.Options))
	}
}

func (v *validator) choices(path string, f Field, value any) {
	list, ok := toList(value)
	if !ok {
		v.wrong(path, value, "a list of strings")
		return
	}
	for i, e := range list {
		v.choice(fmt.Sprintf("%s[%d]", path, i), f, e)
	}
}

const maxOptionsShown = 12

func optionList(options []Option) string {
	var names []string
	for i, o := range options {
		if i == maxOptionsShown {
			names = append(names, fmt.Sprintf("%d more", len(options)-i))
			break
		}
		names = append(names, strconv.Quote(o.Value))
	}
	return strings.Join(names, ", ")
}

// maxInteger is the largest integer that JSON numbers hold exactly.
const maxInteger = 1<<53 - 1

func (v *validator) number(path string, f Field, value any) {
	n, ok := toNumber(value)
	if !ok {
		must := "a number"
		if f.Type == Integer {
			must = "a whole number"
		}
		v.wrong(path, value, must)
		return
	}
	switch {
	case f.Type == Integer && n != math.Trunc(n):
		v.wrong(path, value, "a whole number")
	case f.Type == Integer && math.Abs(n) > maxInteger:
		v.wrong(path, value, "a whole number between -"+plain(maxInteger)+" and "+plain(maxInteger))
	case f.Min != nil && n < *f.Min:
		v.wrong(path, value, "at least "+plain(*f.Min))
	case f.Max != nil && n > *f.Max:
		v.wrong(path, value, "at most "+plain(*f.Max))
	}
}

func (v *validator) group(path string, f Field, value any, depth int) {
	m, ok := value.(map[string]any)
	if !ok {
		v.wrong(path, value, "an object")
		return
	}
	fields := f.Fields
	if f.Type == LLMRef {
		fields = llmRefFields
	}
	v.object(path, fields, m, depth+1)
}

var llmRefFields = []Field{{Name: "plugin", Type: String}, {Name: "id", Type: String}}

func (v *validator) array(path string, f Field, value any, depth int) {
	list, ok := toList(value)
	if !ok {
		v.wrong(path, value, "a list")
		return
	}
	if f.Items == nil {
		return
	}
	for i, e := range list {
		v.element(fmt.Sprintf("%s[%d]", path, i), *f.Items, e, depth)
	}
}

func (v *validator) mapping(path string, f Field, value any, depth int) {
	m, ok := value.(map[string]any)
	if !ok {
		v.wrong(path, value, "an object")
		return
	}
	if f.Items == nil {
		return
	}
	for _, k := range slices.Sorted(maps.Keys(m)) {
		v.element(join(path, k), *f.Items, m[k], depth)
	}
}

func (v *validator) element(path string, f Field, value any, depth int) {
	if value == nil && f.Type != anyType {
		v.wrong(path, value, "a value")
		return
	}
	v.field(path, f, value, depth+1)
}

// Length counts UTF-16 code units, the unit of every text limit.
func Length(s string) int {
	n := 0
	for _, r := range s {
		n += max(1, utf16.RuneLen(r))
	}
	return n
}
