// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

type base struct {
	Verbose bool `json:"verbose" desc:"Say more"`
}

type inner struct {
	URL  string `json:"url" pattern:"^https?://" maxLength:"20"`
	Port uint16 `json:"port" max:"65535"`
}

type model struct {
	Plugin string `json:"plugin"`
	ID     string `json:"id"`
}

type sample struct {
	base
	Name     string            `json:"name" label:"Name" desc:"How it is called" maxLength:"8" pattern:"^[a-z]"`
	Prompt   string            `json:"prompt" type:"textarea"`
	APIKey   string            `json:"apiKey" secret:"true" required:"true"`
	Mode     string            `json:"mode" enum:"fast=Fast|slow"`
	Voice    string            `json:"voice" enum:"a|b|*"`
	Groups   []string          `json:"groups" enum:"x|y"`
	Heat     float64           `json:"heat" min:"0" max:"2"`
	Limit    int               `json:"limit,omitempty" min:"1"`
	Maybe    *int              `json:"maybe" max:"9"`
	On       *bool             `json:"on"`
	Hosts    []string          `json:"hosts" maxLength:"5"`
	Headers  map[string]string `json:"headers"`
	Upstream inner             `json:"upstream"`
	Spare    *inner            `json:"spare"`
	List     []inner           `json:"list"`
	Model    model             `json:"model" type:"llm-ref"`
	Any      any               `json:"any"`
	Raw      json.RawMessage   `json:"raw"`
	When     time.Time         `json:"when"`
	Must     string            `json:"must" required:"true"`
	Hidden   string            `json:"-"`
	private  string
	Untagged int
}

func mustOf(tb testing.TB, v any) Object {
	tb.Helper()
	o, err := Of(v)
	if err != nil {
		tb.Fatal(err)
	}
	return o
}

func sampleDefaults() sample {
	on := false
	return sample{
		base: base{Verbose: true}, Name: "bot", Mode: "fast", Heat: 0.7, Limit: 40, On: &on, Hosts: []string{"a", "b"},
		Upstream: inner{URL: "http://x", Port: 80}, private: "x",
	}
}

func ptr[T any](v T) *T { return &v }

func TestOf(t *testing.T) {
	o := mustOf(t, sampleDefaults())
	want := Object{Fields: []Field{
		{Name: "verbose", Type: Boolean, Description: "Say more", Default: true, HasDefault: true},
		{Name: "name", Type: String, Label: "Name", Description: "How it is called", Default: "bot", HasDefault: true, MaxLength: ptr(8), Pattern: "^[a-z]"},
		{Name: "prompt", Type: Textarea, Default: "", HasDefault: true},
		{Name: "apiKey", Type: String, Secret: true, Required: true},
		{Name: "mode", Type: Select, Default: "fast", HasDefault: true, Options: []Option{{Label: "Fast", Value: "fast"}, {Value: "slow"}}},
		{Name: "voice", Type: Select, Default: "", HasDefault: true, Options: []Option{{Value: "a"}, {Value: "b"}}, AllowCustom: true},
		{Name: "groups", Type: MultiSelect, Options: []Option{{Value: "x"}, {Value: "y"}}},
		{Name: "heat", Type: Number, Default: 0.7, HasDefault: true, Min: ptr(0.0), Max: ptr(2.0)},
		{Name: "limit", Type: Integer, Default: 40.0, HasDefault: true, Min: ptr(1.0)},
		{Name: "maybe", Type: Integer, Max: ptr(9.0)},
		{Name: "on", Type: Boolean, Default: false, HasDefault: true},
		{Name: "hosts", Type: Array, Default: []any{"a", "b"}, HasDefault: true, Items: &Field{Type: String, MaxLength: ptr(5)}},
		{Name: "headers", Type: Map, Items: &Field{Type: String}},
		{Name: "upstream", Type: ObjectType, Fields: []Field{
			{Name: "url", Type: String, Default: "http://x", HasDefault: true, Pattern: "^https?://", MaxLength: ptr(20)},
			{Name: "port", Type: Integer, Default: 80.0, HasDefault: true, Min: ptr(0.0), Max: ptr(65535.0)},
		}},
		{Name: "spare", Type: ObjectType, HasDefault: true, Fields: []Field{
			{Name: "url", Type: String, Pattern: "^https?://", MaxLength: ptr(20)},
			{Name: "port", Type: Integer, Min: ptr(0.0), Max: ptr(65535.0)},
		}},
		{Name: "list", Type: Array, Items: &Field{Type: ObjectType, Fields: []Field{
			{Name: "url", Type: String, Pattern: "^https?://", MaxLength: ptr(20)},
			{Name: "port", Type: Integer, Min: ptr(0.0), Max: ptr(65535.0)},
		}}},
		{Name: "model", Type: LLMRef},
		{Name: "any", Type: anyType},
		{Name: "raw", Type: anyType},
		{Name: "when", Type: String, Default: "0001-01-01T00:00:00Z", HasDefault: true},
		{Name: "must", Type: String, Required: true},
		{Name: "Untagged", Type: Integer, Default: 0.0, HasDefault: true},
	}}
	if d := cmp.Diff(want, o); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if d := cmp.Diff(o, mustOf(t, ptr(sampleDefaults()))); d != "" {
		t.Errorf("a pointer to the defaults gives another schema:\n%s", d)
	}
	if f, ok := o.Field("heat"); !ok || f.Type != Number {
		t.Error("Field does not find heat")
	}
	if _, ok := o.Field("nobody"); ok {
		t.Error("Field finds what is not there")
	}
}

func TestOfJSONRoundTrip(t *testing.T) {
	o := mustOf(t, sampleDefaults())
	first, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	var back Object
	if err := json.Unmarshal(first, &back); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(o, back); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

type loop struct {
	Next *loop `json:"next"`
}

type loopList struct {
	Next []loopList `json:"next"`
}

func TestOfErrors(t *testing.T) {
	tests := map[string]struct {
		defaults any
		want     string
	}{
		"no struct":      {map[string]any{}, "must be a struct, got map"},
		"nil":            {nil, "must be a struct"},
		"nil pointer":    {(*inner)(nil), "must be a struct"},
		"channel":        {struct{ C chan int }{}, "C: type chan int is not supported"},
		"bytes":          {struct{ B []byte }{}, "JSON has no bytes"},
		"map of ints":    {struct{ M map[int]string }{}, "map keys must be strings"},
		"list of funcs":  {struct{ F []func() }{}, "is not supported"},
		"recursive":      {loop{}, "nested deeper than 16"},
		"recursive list": {loopList{}, "nested deeper than 16"},
		"same name twice": {struct {
			twin
			B int `json:"a"`
		}{}, `two fields are named "a"`},
		"bad bool tag": {struct {
			A int `required:"yes"`
		}{}, `tag required must be true or false, got "yes"`},
		"bad secret tag": {struct {
			A int `secret:"y"`
		}{}, "tag secret must be"},
		"bad min": {struct {
			A int `min:"x"`
		}{}, `tag min must be a number, got "x"`},
		"bad max": {struct {
			A int `max:"NaN"`
		}{}, "tag max must be a number"},
		"min on text": {struct {
			A string `min:"1"`
		}{}, "min and max need a number"},
		"min above max": {struct {
			A int `min:"3" max:"2"`
		}{}, "min is above max"},
		"length of a number": {struct {
			A int `maxLength:"3"`
		}{}, "maxLength needs a text"},
		"length of none": {struct {
			A string `maxLength:"0"`
		}{}, "maxLength needs a text"},
		"pattern that is none": {struct {
			A string `pattern:"("`
		}{}, "pattern needs a text and a regular expression"},
		"pattern on a number": {struct {
			A int `pattern:"a"`
		}{}, "pattern needs a text"},
		"enum of a number": {struct {
			A int `enum:"1|2"`
		}{}, "enum needs a string"},
		"textarea of a number": {struct {
			A int `type:"textarea"`
		}{}, "textarea needs a string"},
		"llm-ref of a string": {struct {
			A string `type:"llm-ref"`
		}{}, "llm-ref needs a struct"},
		"contradicting type": {struct {
			A string `type:"number"`
		}{}, "does not fit"},
		"default below its bound": {struct {
			A int `json:"a" min:"1"`
		}{}, "default of a: must be at least 1, got 0; use a pointer"},
		"nested": {struct {
			In struct {
				C chan int
			}
		}{}, "In: C: type chan int"},
		"embedded": {struct{ base2 }{}, "base2.C: type chan int"},
		"default that is no JSON": {struct {
			A any
		}{A: func() {}}, "A: default: "},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := Of(tc.defaults)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q in it", err, tc.want)
			}
		})
	}
}

type twin struct {
	A int `json:"a"`
}

type base2 struct{ C chan int }

func TestCustomType(t *testing.T) {
	o := mustOf(t, struct {
		Colour string `json:"colour" type:"colour"`
	}{"red"})
	if o.Fields[0].Type != "colour" || o.Fields[0].Default != "red" {
		t.Errorf("got %+v", o.Fields[0])
	}
	if issues := o.Validate(map[string]any{"colour": 3}); issues != nil {
		t.Errorf("a value of an unknown type was checked: %v", issues)
	}
}
