// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package shared

import (
	"encoding/json"
	"testing"
)

func parse(t testing.TB, text string) any {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestSubset(t *testing.T) {
	cases := map[string]struct {
		want, have string
		holds      bool
	}{
		"same":                     {`{"a":1}`, `{"a":1}`, true},
		"server default":           {`{"a":1}`, `{"a":1,"b":2}`, true},
		"nested default":           {`{"a":{"b":1}}`, `{"a":{"b":1,"c":2}}`, true},
		"missing":                  {`{"a":1}`, `{}`, false},
		"changed":                  {`{"a":1}`, `{"a":2}`, false},
		"default in a list":        {`[{"port":1}]`, `[{"port":1,"protocol":"TCP"}]`, true},
		"longer list":              {`[1]`, `[1,2]`, false},
		"shorter list":             {`[1,2]`, `[1]`, false},
		"order":                    {`[1,2]`, `[2,1]`, false},
		"empty map wanted":         {`{"a":{}}`, `{}`, true},
		"empty map against a list": {`{"a":{}}`, `{"a":[]}`, false},
		"empty list wanted":        {`{"a":[]}`, `{}`, true},
		"empty list against items": {`{"a":[]}`, `{"a":[1]}`, false},
		"null wanted":              {`{"a":null}`, `{}`, true},
		"map against text":         {`{"a":{"b":1}}`, `{"a":"b"}`, false},
		"list against map":         {`[1]`, `{"0":1}`, false},
		"number against text":      {`1`, `"1"`, false},
		"text":                     {`"a"`, `"a"`, true},
		"false wanted":             {`{"a":false}`, `{}`, false},
		"zero wanted":              {`{"a":0}`, `{"a":0}`, true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := Subset(parse(t, c.want), parse(t, c.have)); got != c.holds {
				t.Errorf("Subset(%s, %s) = %t", c.want, c.have, got)
			}
		})
	}
	if !Subset(map[string]any{"n": int64(3)}, map[string]any{"n": float64(3)}) {
		t.Error("numbers compare by value, whatever their type")
	}
}

// FuzzSubset: everything holds itself, and itself with more keys; nothing holds itself with a key changed.
func FuzzSubset(f *testing.F) {
	for _, seed := range []string{`{}`, `[]`, `null`, `{"a":[1,{"b":"c"}],"d":null}`, `"x"`, `1.5`, `[[],{}]`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var v any
		if json.Unmarshal([]byte(text), &v) != nil {
			return
		}
		if !Subset(v, v) {
			t.Fatalf("%s does not hold itself", text)
		}
		m, ok := v.(map[string]any)
		if !ok {
			return
		}
		more := map[string]any{"one more key, nowhere else": true}
		for k, e := range m {
			more[k] = e
		}
		if !Subset(m, more) {
			t.Fatalf("%s with one more key does not hold it", text)
		}
		if Subset(more, m) {
			t.Fatalf("%s holds a key that it lacks", text)
		}
	})
}
