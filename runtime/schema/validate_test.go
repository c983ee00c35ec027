// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestValidate(t *testing.T) {
	o := mustOf(t, sampleDefaults())
	valid := func() map[string]any { return map[string]any{"apiKey": "k", "must": "m"} }
	with := func(kv ...any) map[string]any {
		m := valid()
		for i := 0; i < len(kv); i += 2 {
			m[kv[i].(string)] = kv[i+1]
		}
		return m
	}
	tests := map[string]struct {
		cfg  map[string]any
		want []string
	}{
		"valid":            {cfg: valid()},
		"all defaults":     {cfg: o.WithDefaults(valid())},
		"nothing given":    {cfg: nil, want: []string{"apiKey: must be given (from a Secret)", "must: must be given"}},
		"null is no value": {cfg: with("must", nil, "heat", nil), want: []string{"must: must be given"}},
		"empty is a value": {cfg: with("must", "", "hosts", []any{})},
		"unknown keys": {cfg: with("tempx", 1, "heaat", 2), want: []string{
			`heaat: unknown key, did you mean "heat"?`, "tempx: unknown key",
		}},
		"wrong types": {
			cfg: with("name", 3.0, "verbose", "yes", "heat", "hot", "limit", "4", "mode", true, "groups", "x", "hosts", map[string]any{},
				"headers", []any{}, "upstream", "u", "model", "m", "when", 1.5),
			want: []string{
				`verbose: must be true or false, got the string "yes"`, "name: must be a string, got 3",
				"mode: must be a string, got true", `groups: must be a list of strings, got the string "x"`,
				`heat: must be a number, got the string "hot"`, `limit: must be a whole number, got the string "4"`,
				"hosts: must be a list, got an object", "headers: must be an object, got a list",
				`upstream: must be an object, got the string "u"`, `model: must be an object, got the string "m"`,
				"when: must be a string, got 1.5",
			},
		},
		"bounds": {
			cfg: with("name", "Über langer", "heat", 2.1, "limit", 0, "maybe", 1.5),
			want: []string{
				"name: may not be longer than 8 characters, got 11", "heat: must be at most 2, got 2.1",
				"limit: must be at least 1, got 0", "maybe: must be a whole number, got 1.5",
			},
		},
		"pattern":                {cfg: with("name", "Bot"), want: []string{`name: must match ^[a-z], got the string "Bot"`}},
		"length in code units":   {cfg: with("name", "a😀😀😀😀"), want: []string{"name: may not be longer than 8 characters, got 9"}},
		"eight code units":       {cfg: with("name", "ab😀😀😀")},
		"NaN":                    {cfg: with("heat", math.NaN()), want: []string{"heat: must be a number, got NaN"}},
		"infinite":               {cfg: with("heat", math.Inf(1)), want: []string{"heat: must be a number, got +Inf"}},
		"too large a number":     {cfg: with("heat", json.Number("1e999")), want: []string{"heat: must be a number, got 1e999"}},
		"too large an integer":   {cfg: with("limit", 1e300), want: []string{"limit: must be a whole number between -9007199254740991 and 9007199254740991, got 1" + strings.Repeat("0", 5)}},
		"every kind of number":   {cfg: with("heat", json.Number("1.5"), "limit", int64(3), "maybe", uint8(4), "Untagged", float32(2))},
		"select":                 {cfg: with("mode", "warp"), want: []string{`mode: must be one of "fast", "slow", got the string "warp"`}},
		"select of one's own":    {cfg: with("voice", "mine")},
		"multiselect":            {cfg: with("groups", []any{"x", "z", 1.0}), want: []string{`groups[1]: must be one of "x", "y", got the string "z"`, "groups[2]: must be a string, got 1"}},
		"multiselect of strings": {cfg: with("groups", []string{"x", "y"})},
		"list elements": {
			cfg:  with("hosts", []any{"ok", "toolong", nil, 3}),
			want: []string{"hosts[1]: may not be longer than 5 characters, got 7", "hosts[2]: must be a value, got null", "hosts[3]: must be a string, got 3"},
		},
		"map values":   {cfg: with("headers", map[string]any{"b": 1, "a": "x"}), want: []string{"headers.b: must be a string, got 1"}},
		"nested":       {cfg: with("upstream", map[string]any{"url": "ftp://x", "prot": 1}), want: []string{`upstream.url: must match ^https?://, got the string "ftp://x"`, `upstream.prot: unknown key, did you mean "port"?`}},
		"in a list":    {cfg: with("list", []any{map[string]any{"port": -1}}), want: []string{"list[0].port: must be at least 0, got -1"}},
		"llm-ref":      {cfg: with("model", map[string]any{"plugin": "main", "id": "a/b"})},
		"bad llm-ref":  {cfg: with("model", map[string]any{"plugin": 1, "model": "x"}), want: []string{"model.plugin: must be a string, got 1", `model.model: unknown key, allowed are "id" and "plugin"`}},
		"any value":    {cfg: with("any", []any{1, "x"}, "raw", map[string]any{"a": nil})},
		"bad secret":   {cfg: with("apiKey", 12345), want: []string{"apiKey: must be a string"}},
		"odd Go value": {cfg: with("name", struct{}{}), want: []string{"name: must be a string, got a value of another kind"}},
		"long text": {cfg: with("mode", strings.Repeat("😀", 50)), want: []string{
			`mode: must be one of "fast", "slow", got the string "` + strings.Repeat("😀", 40) + `"...`,
		}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			before := fmt.Sprint(tc.cfg)
			var got []string
			for _, i := range o.Validate(tc.cfg) {
				got = append(got, i.Error())
			}
			for i, w := range tc.want {
				if i >= len(got) || !strings.HasPrefix(got[i], w) {
					t.Errorf("issue %d: want %q in %q", i, w, got)
				}
			}
			if len(got) != len(tc.want) {
				t.Errorf("got %d issues, want %d: %q", len(got), len(tc.want), got)
			}
			if fmt.Sprint(tc.cfg) != before {
				t.Error("the config was modified")
			}
		})
	}
}

func TestValidateOddSchemas(t *testing.T) {
	bottomless := Field{Name: "f", Type: Array}
	for range 40 {
		items := bottomless
		bottomless = Field{Name: "f", Type: Array, Items: &items}
	}
	var deep any = "x"
	for range 40 {
		deep = []any{deep}
	}
	tests := map[string]struct {
		field Field
		value any
		want  string
	}{
		"invalid pattern is skipped":       {Field{Name: "f", Type: String, Pattern: "("}, "x", ""},
		"list without items":               {Field{Name: "f", Type: Array}, []any{1}, ""},
		"map without items":                {Field{Name: "f", Type: Map}, map[string]any{"a": 1}, ""},
		"select without options":           {Field{Name: "f", Type: Select}, "x", ""},
		"object without fields":            {Field{Name: "f", Type: ObjectType}, map[string]any{"a": 1}, "f.a: unknown key, none is allowed here"},
		"required with a default":          {Field{Name: "f", Type: String, Required: true, HasDefault: true}, nil, ""},
		"required of an unknown type":      {Field{Name: "f", Type: "colour", Required: true}, nil, "f: must be given"},
		"required item with a default":     {Field{Name: "f", Type: Array, Items: &Field{Type: ObjectType, Fields: []Field{{Name: "x", Type: String, Required: true, HasDefault: true}}}}, []any{map[string]any{}}, ""},
		"required in an absent object":     {Field{Name: "f", Type: ObjectType, Fields: []Field{{Name: "x", Type: String, Required: true}}}, nil, "f.x: must be given"},
		"required in an optional object":   {Field{Name: "f", Type: ObjectType, HasDefault: true, Fields: []Field{{Name: "x", Type: String, Required: true}}}, nil, ""},
		"secret pattern tells no value":    {Field{Name: "f", Type: String, Secret: true, Pattern: "^sk-"}, "hunter2", "f: must match ^sk-"},
		"secret number tells no value":     {Field{Name: "f", Type: Number, Secret: true}, "hunter2", "f: must be a number"},
		"deeper than anything makes sense": {bottomless, deep, "f" + strings.Repeat("[0]", 17) + ": may not be nested deeper than 16 levels"},
		"many options":                     {Field{Name: "f", Type: Select, Options: make([]Option, 20)}, "x", `f: must be one of "", "", "", "", "", "", "", "", "", "", "", "", 8 more, got the string "x"`},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			err := Errors(Object{Fields: []Field{tc.field}}.Validate(map[string]any{"f": tc.value}))
			got := ""
			if err != nil {
				got = err.Error()
			}
			if got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestErrors(t *testing.T) {
	if Errors(nil) != nil {
		t.Error("no issues must be no error")
	}
	var issues []Issue
	for i := range 12 {
		issues = append(issues, Issue{Path: fmt.Sprint("p", i), Message: "bad"})
	}
	lines := strings.Split(Errors(issues).Error(), "\n")
	if len(lines) != 11 || lines[9] != "p9: bad" || lines[10] != "and 2 more" {
		t.Errorf("got %q", lines)
	}
	if got := (Issue{Message: "bad"}).Error(); got != "bad" {
		t.Errorf("got %q", got)
	}
}

func TestSuggest(t *testing.T) {
	known := []string{"temperature", "topP", "timeoutMs", "baseUrl", "models", "model", "maxTokens"}
	tests := map[string][]string{
		"temperatur": {"temperature"}, "temperture": {"temperature"}, "BASEURL": {"baseUrl"}, "modle": {"model"},
		"max": {"maxTokens"}, "zzz": nil, "": nil, "model": {"models"}, strings.Repeat("x", 200): nil, "topp": {"topP"},
	}
	for name, want := range tests {
		if d := cmp.Diff(want, Suggest(name, known)); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
	if got := UnknownName("unknown key", "x", []string{"b", "a", "c1234"}); got != `unknown key, did you mean "a" or "b"?` {
		t.Errorf("got %s", got)
	}
	if got := UnknownName("unknown key", "abc", []string{"abd", "abe", "abf", "abg"}); got != `unknown key, did you mean "abd", "abe" or "abf"?` {
		t.Errorf("got %s", got)
	}
}

func TestLength(t *testing.T) {
	for s, want := range map[string]int{"": 0, "abc": 3, "夜猫子": 3, "😀": 2, "\xff\xfe": 2, "e\u0301": 2} {
		if got := Length(s); got != want {
			t.Errorf("%q: got %d, want %d", s, got, want)
		}
	}
}
