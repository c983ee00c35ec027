// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package schema

// Type is the type of a field. The set is open: a field of an unknown type is shown but its value is not checked.
type Type string

// The known types.
const (
	// String is one line of text.
	String Type = "string"
	// Textarea is text of any number of lines.
	Textarea Type = "textarea"
	// Number is a finite number.
	Number Type = "number"
	// Integer is a number without a fraction.
	Integer Type = "integer"
	// Boolean is true or false.
	Boolean Type = "boolean"
	// Select is one of Options, or any string if AllowCustom is set.
	Select Type = "select"
	// MultiSelect is a list of Options, or of any strings if AllowCustom is set.
	MultiSelect Type = "multiselect"
	// ObjectType is a group of Fields.
	ObjectType Type = "object"
	// Array is a list of Items.
	Array Type = "array"
	// Map is a map from names to Items.
	Map Type = "map"
	// LLMRef names a model: an object of the strings plugin and id.
	LLMRef Type = "llm-ref"
)

// Field describes one key of a config. The zero values of the optional parts mean "not limited" and "not given".
type Field struct {
	// Name is the key; empty for Items of an array or a map.
	Name string `json:"name,omitempty"`
	Type Type   `json:"type"`
	// Label and Description are for people.
	Label       string `json:"label,omitempty"`
	Description string `json:"description,omitempty"`
	// Default is the value used when the key is absent. It counts only if HasDefault is set, so that false, 0 and "" can
	// be defaults.
	Default    any  `json:"default,omitempty"`
	HasDefault bool `json:"hasDefault,omitempty"`
	// Required fields without a default must be given.
	Required bool `json:"required,omitempty"`
	// Secret fields must come from a Secret and are never shown.
	Secret bool `json:"secret,omitempty"`
	// Min and Max bound a number, inclusively.
	Min *float64 `json:"min,omitempty"`
	Max *float64 `json:"max,omitempty"`
	// MaxLength bounds a text, in UTF-16 code units.
	MaxLength *int `json:"maxLength,omitempty"`
	// Options are the values of a select or a multiselect.
	Options     []Option `json:"options,omitempty"`
	AllowCustom bool     `json:"allowCustom,omitempty"`
	// Pattern is an unanchored regular expression (RE2) that a text must match. One that does not compile is ignored.
	Pattern string `json:"pattern,omitempty"`
	// Fields are the keys of an object, in order.
	Fields []Field `json:"fields,omitempty"`
	// Items describes the elements of an array or the values of a map.
	Items *Field `json:"items,omitempty"`
}

// Option is one choice of a select or a multiselect.
type Option struct {
	Label string `json:"label,omitempty"`
	Value string `json:"value"`
}

// Object is an ordered list of fields: the schema of a whole config or of a group in it.
type Object struct {
	Fields []Field `json:"fields,omitempty"`
}

// Field returns the field of that name.
func (o Object) Field(name string) (Field, bool) {
	for _, f := range o.Fields {
		if f.Name == name {
			return f, true
		}
	}
	return Field{}, false
}
