// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"strings"
)

func boolTag(sf reflect.StructField, key string) (bool, error) {
	text, ok := sf.Tag.Lookup(key)
	if !ok {
		return false, nil
	}
	b, err := strconv.ParseBool(text)
	if err != nil {
		return false, fmt.Errorf("tag %s must be true or false, got %q", key, text)
	}
	return b, nil
}

// retype applies the type tag.
func retype(f *Field, t Type) error {
	switch t {
	case "":
		return nil
	case Textarea, Select:
		if f.Type != String {
			return fmt.Errorf("type %s needs a string, got %s", t, f.Type)
		}
	case LLMRef:
		if f.Type != ObjectType {
			return fmt.Errorf("type %s needs a struct of the strings plugin and id, got %s", t, f.Type)
		}
		f.Fields = nil
	case String, Number, Integer, Boolean, ObjectType, Array, Map, MultiSelect:
		if f.Type != t {
			return fmt.Errorf("type %s does not fit a Go field of type %s", t, f.Type)
		}
	}
	f.Type = t
	return nil
}

// bounds applies the tags that limit a value: of the field itself, or of the elements of a list or a map.
func bounds(f *Field, sf reflect.StructField) error {
	target := f
	if f.Items != nil {
		target = f.Items
	}
	if err := numberBounds(target, sf); err != nil {
		return err
	}
	if err := textBounds(target, sf); err != nil {
		return err
	}
	return enum(f, sf)
}

func numberBounds(f *Field, sf reflect.StructField) error {
	least, err := numberTag(sf, "min")
	if err != nil {
		return err
	}
	most, err := numberTag(sf, "max")
	if err != nil {
		return err
	}
	if (least != nil || most != nil) && f.Type != Number && f.Type != Integer {
		return fmt.Errorf("min and max need a number, got %s", f.Type)
	}
	if least != nil {
		f.Min = least
	}
	f.Max = most
	if f.Min != nil && f.Max != nil && *f.Min > *f.Max {
		return errors.New("min is above max")
	}
	return nil
}

func textBounds(f *Field, sf reflect.StructField) error {
	text := f.Type == String || f.Type == Textarea
	l, err := numberTag(sf, "maxLength")
	if err != nil {
		return err
	}
	if l != nil {
		n := int(*l)
		if n < 1 || *l != float64(n) || !text {
			return fmt.Errorf("maxLength needs a text and a whole number of at least 1, got %q on %s", sf.Tag.Get("maxLength"), f.Type)
		}
		f.MaxLength = &n
	}
	if f.Pattern = sf.Tag.Get("pattern"); f.Pattern == "" {
		return nil
	}
	if _, err := regexp.Compile(f.Pattern); err != nil || !text {
		return fmt.Errorf("pattern needs a text and a regular expression, got %q on %s", f.Pattern, f.Type)
	}
	return nil
}

func numberTag(sf reflect.StructField, key string) (*float64, error) {
	text, ok := sf.Tag.Lookup(key)
	if !ok {
		return nil, nil
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || n != n {
		return nil, fmt.Errorf("tag %s must be a number, got %q", key, text)
	}
	return &n, nil
}

func enum(f *Field, sf reflect.StructField) error {
	text, ok := sf.Tag.Lookup("enum")
	if !ok {
		return nil
	}
	switch {
	case f.Type == String || f.Type == Select:
		f.Type = Select
	case f.Type == Array && f.Items.Type == String:
		f.Type, f.Items = MultiSelect, nil
	default:
		return fmt.Errorf("enum needs a string or a list of strings, got %s", f.Type)
	}
	for _, choice := range strings.Split(text, "|") {
		if choice == "*" {
			f.AllowCustom = true
			continue
		}
		value, label, _ := strings.Cut(choice, "=")
		f.Options = append(f.Options, Option{Value: value, Label: label})
	}
	return nil
}
