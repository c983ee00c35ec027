// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Of derives a schema from a config struct: each exported field becomes a Field named by its json tag, with the value
// found in defaults as its default. A pointer field has a default only if it is not nil; a nil slice or map has none.
// Fields tagged json:"-" are left out; embedded structs are merged in.
//
// Go types map to field types: string, bool, the integer and float kinds, struct (object), slice (array), map with string
// keys (map), any (a field of the open type "any", whose value is not checked). These tags refine them:
//
//	desc:"text"  label:"text"     what people read
//	enum:"a|b"                    the choices of a string or a list of strings; "a=Label|b" gives a choice a label, and
//	                              a last "|*" also allows values of one's own
//	min:"0" max:"1"               inclusive bounds of a number
//	maxLength:"80" pattern:"re"   bounds of a text: UTF-16 code units, unanchored RE2
//	secret:"true" required:"true" the value must come from a Secret; the value must be given
//	type:"textarea"               another type than the Go type suggests: textarea on a string, llm-ref on a struct, or a
//	                              type of one's own
//
// Text tags on a list or a map of texts bound its elements. Errors name the Go field; they are programming errors.
func Of(defaults any) (Object, error) {
	v := reflect.ValueOf(defaults)
	for v.Kind() == reflect.Pointer && !v.IsNil() {
		v = v.Elem()
	}
	if v.Kind() != reflect.Struct {
		return Object{}, fmt.Errorf("config defaults must be a struct, got %T", defaults)
	}
	fields, err := structFields(v, v.Type().Name(), 0)
	if err != nil {
		return Object{}, err
	}
	o := Object{Fields: fields}
	for _, issue := range o.Validate(o.Defaults()) {
		if issue.Kind != Missing {
			return Object{}, fmt.Errorf("default of %w; use a pointer for a field with no default", issue)
		}
	}
	return o, nil
}

// maxDepth bounds nesting, in structs (a type that contains itself would never end) as in values.
const maxDepth = 16

func structFields(v reflect.Value, at string, depth int) ([]Field, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("%s: nested deeper than %d levels", at, maxDepth)
	}
	var out []Field
	for i := range v.NumField() {
		sf := v.Type().Field(i)
		name, skip := jsonName(sf)
		if skip {
			continue
		}
		where := strings.TrimPrefix(at+"."+sf.Name, ".")
		if name == "" {
			inner, err := structFields(v.Field(i), where, depth+1)
			if err != nil {
				return nil, err
			}
			out = append(out, inner...)
			continue
		}
		f, err := fieldOf(sf, v.Field(i), depth)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", where, err)
		}
		f.Name = name
		out = append(out, f)
	}
	for i, f := range out {
		if slices.ContainsFunc(out[:i], func(g Field) bool { return g.Name == f.Name }) {
			return nil, fmt.Errorf("%s: two fields are named %q", at, f.Name)
		}
	}
	return out, nil
}

// jsonName returns the key of a struct field; "" stands for an embedded struct whose fields are merged in.
func jsonName(sf reflect.StructField) (name string, skip bool) {
	tag := sf.Tag.Get("json")
	if tag == "-" {
		return "", true
	}
	name, _, _ = strings.Cut(tag, ",")
	if sf.Anonymous && name == "" && sf.Type.Kind() == reflect.Struct && !isText(sf.Type) {
		return "", false
	}
	if !sf.IsExported() {
		return "", true
	}
	if name == "" {
		name = sf.Name
	}
	return name, false
}

func fieldOf(sf reflect.StructField, v reflect.Value, depth int) (Field, error) {
	f, err := typed(v.Type(), v, depth)
	if err != nil {
		return f, err
	}
	f.Label, f.Description = sf.Tag.Get("label"), sf.Tag.Get("desc")
	if f.Required, err = boolTag(sf, "required"); err != nil {
		return f, err
	}
	if f.Secret, err = boolTag(sf, "secret"); err != nil {
		return f, err
	}
	if err := retype(&f, Type(sf.Tag.Get("type"))); err != nil {
		return f, err
	}
	if err := bounds(&f, sf); err != nil {
		return f, err
	}
	return f, defaultOf(&f, v)
}

var textUnmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()

// isText reports whether JSON holds the type as a string because the type reads itself from text.
func isText(t reflect.Type) bool {
	return t.Kind() != reflect.Interface && reflect.PointerTo(t).Implements(textUnmarshaler)
}

// typed maps a Go type to a field type. The value serves for the defaults of nested structs.
func typed(t reflect.Type, v reflect.Value, depth int) (Field, error) {
	if isText(t) {
		return Field{Type: String}, nil
	}
	switch t.Kind() {
	case reflect.String:
		return Field{Type: String}, nil
	case reflect.Bool:
		return Field{Type: Boolean}, nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return Field{Type: Integer}, nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return Field{Type: Integer, Min: new(float64)}, nil
	case reflect.Float32, reflect.Float64:
		return Field{Type: Number}, nil
	case reflect.Interface:
		return Field{Type: anyType}, nil
	case reflect.Pointer:
		if !v.IsNil() {
			return typed(t.Elem(), v.Elem(), depth)
		}
		f, err := typed(t.Elem(), reflect.Zero(t.Elem()), depth)
		clearDefaults(f.Fields)
		return f, err
	case reflect.Struct:
		fields, err := structFields(v, "", depth+1)
		return Field{Type: ObjectType, Fields: fields}, err
	case reflect.Slice, reflect.Map:
		return collection(t, depth)
	default:
		return Field{}, fmt.Errorf("type %s is not supported in a config", t)
	}
}

// anyType marks a field that takes any value.
const anyType Type = "any"

func collection(t reflect.Type, depth int) (Field, error) {
	if t == reflect.TypeFor[json.RawMessage]() {
		return Field{Type: anyType}, nil
	}
	if t.Kind() == reflect.Map && t.Key().Kind() != reflect.String {
		return Field{}, fmt.Errorf("type %s is not supported in a config: map keys must be strings", t)
	}
	if t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8 {
		return Field{}, fmt.Errorf("type %s is not supported in a config: JSON has no bytes", t)
	}
	if depth >= maxDepth {
		return Field{}, fmt.Errorf("nested deeper than %d levels", maxDepth)
	}
	items, err := typed(t.Elem(), reflect.Zero(t.Elem()), depth+1)
	if err != nil {
		return Field{}, err
	}
	clearDefaults(items.Fields)
	f := Field{Type: Array, Items: &items}
	if t.Kind() == reflect.Map {
		f.Type = Map
	}
	return f, nil
}

// clearDefaults removes the defaults of element fields: zero values of a type nobody chose are no defaults.
func clearDefaults(fields []Field) {
	for i := range fields {
		fields[i].Default, fields[i].HasDefault = nil, false
		clearDefaults(fields[i].Fields)
	}
}

// defaultOf takes the default from the value, in the form encoding/json would give it. Objects have no default of their
// own: their fields have; only a nil pointer to a struct defaults to null, to stay nil. A secret never has a default, and
// what is required has one only if it is not the zero value.
func defaultOf(f *Field, v reflect.Value) error {
	switch v.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map, reflect.Interface:
		if v.IsNil() {
			f.HasDefault = f.Type == ObjectType && !f.Required
			return nil
		}
	}
	if f.Type == ObjectType || f.Secret || (f.Required || f.Type == LLMRef) && v.IsZero() {
		return nil
	}
	if f.Type == Select && v.IsZero() && !f.allows("") {
		return nil
	}
	raw, err := json.Marshal(v.Interface())
	if err != nil {
		return fmt.Errorf("default: %w", err)
	}
	f.HasDefault = true
	return json.Unmarshal(raw, &f.Default)
}

// allows reports whether a text is one of the choices of a select.
func (f *Field) allows(text string) bool {
	return f.AllowCustom || len(f.Options) == 0 || slices.ContainsFunc(f.Options, func(o Option) bool { return o.Value == text })
}
