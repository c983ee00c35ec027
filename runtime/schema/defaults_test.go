// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestDefaults(t *testing.T) {
	o := mustOf(t, sampleDefaults())
	want := map[string]any{
		"verbose": true, "name": "bot", "prompt": "", "mode": "fast", "voice": "", "heat": 0.7, "limit": 40.0, "on": false,
		"hosts": []any{"a", "b"}, "upstream": map[string]any{"url": "http://x", "port": 80.0},
		"when": "0001-01-01T00:00:00Z", "Untagged": 0.0,
	}
	got := o.Defaults()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	got["hosts"].([]any)[0] = "changed"
	if d := cmp.Diff(want, o.Defaults()); d != "" {
		t.Errorf("the defaults are shared:\n%s", d)
	}
}

func TestWithDefaults(t *testing.T) {
	o := mustOf(t, sampleDefaults())
	cfg := map[string]any{
		"heat": 0.0, "hosts": []any{}, "upstream": map[string]any{"port": 1.0}, "spare": map[string]any{"port": 2.0},
		"extra": []any{map[string]any{"a": 1.0}}, "name": nil,
	}
	got := o.WithDefaults(cfg)
	for key, want := range map[string]any{
		"heat": 0.0, "hosts": []any{}, "upstream": map[string]any{"url": "http://x", "port": 1.0},
		"spare": map[string]any{"port": 2.0}, "extra": []any{map[string]any{"a": 1.0}}, "name": nil, "limit": 40.0,
	} {
		if d := cmp.Diff(want, got[key]); d != "" {
			t.Errorf("%s (-want +got):\n%s", key, d)
		}
	}
	got["extra"].([]any)[0].(map[string]any)["a"] = 2.0
	if cfg["extra"].([]any)[0].(map[string]any)["a"] != 1.0 || len(cfg["upstream"].(map[string]any)) != 1 {
		t.Error("the config was modified")
	}
	if _, there := got["spare"]; !there {
		t.Error("spare is lost")
	}
	if _, there := o.WithDefaults(nil)["spare"]; there {
		t.Error("a pointer must have no default")
	}
	if d := cmp.Diff(o.Defaults(), o.WithDefaults(nil)); d != "" {
		t.Errorf("Defaults and WithDefaults of nothing differ:\n%s", d)
	}
	if got := o.WithDefaults(map[string]any{"upstream": "wrong"})["upstream"]; got != "wrong" {
		t.Errorf("a wrong value was replaced by %v", got)
	}
}

func TestSecretPaths(t *testing.T) {
	type cred struct {
		Token string `json:"token" secret:"true"`
	}
	o := mustOf(t, struct {
		Key     string            `json:"key" secret:"true"`
		In      cred              `json:"in"`
		List    []cred            `json:"list"`
		Map     map[string]cred   `json:"map"`
		Headers map[string]string `json:"headers" secret:"true"`
		Plain   []string          `json:"plain"`
	}{})
	want := []string{"key", "in.token", "list[].token", "map.*.token", "headers"}
	if d := cmp.Diff(want, o.SecretPaths()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestJSONSchema(t *testing.T) {
	o := mustOf(t, struct {
		Name string   `json:"name" label:"N" desc:"D" pattern:"^a" maxLength:"3" required:"true"`
		Key  string   `json:"key" secret:"true"`
		Heat float64  `json:"heat" min:"0" max:"2"`
		Mode string   `json:"mode" enum:"a|b"`
		Tags []string `json:"tags" enum:"a|*"`
		List []struct {
			N int `json:"n"`
		} `json:"list"`
		Map   map[string]bool `json:"map"`
		Model model           `json:"model" type:"llm-ref"`
		Any   any             `json:"any"`
	}{Heat: 1, Mode: "a"})
	want := `{"$schema":"https://json-schema.org/draft/2020-12/schema","additionalProperties":false,"properties":{
		"any":{},"heat":{"default":1,"maximum":2,"minimum":0,"type":"number"},"key":{"type":"string","writeOnly":true},
		"list":{"items":{"additionalProperties":false,"properties":{"n":{"type":"integer"}},"type":"object"},"type":"array"},
		"map":{"additionalProperties":{"type":"boolean"},"type":"object"},
		"mode":{"default":"a","enum":["a","b"],"type":"string"},
		"model":{"additionalProperties":false,"properties":{"id":{"type":"string"},"plugin":{"type":"string"}},"type":"object"},
		"name":{"description":"D","maxLength":3,"pattern":"^a","title":"N","type":"string"},
		"tags":{"items":{"type":"string"},"type":"array"}},"required":["name"],"type":"object"}`
	var wantV, gotV any
	raw, err := json.Marshal(o.JSONSchema())
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &gotV); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(want), &wantV); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(wantV, gotV); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if got := (Object{Fields: []Field{{Name: "a", Type: Array}, {Name: "m", Type: Map}}}).JSONSchema()["properties"]; len(got.(map[string]any)) != 2 {
		t.Errorf("got %v", got)
	}
}

// drawValue makes any value of encoding/json.
func drawValue(t *rapid.T, depth int) any {
	switch n := rapid.IntRange(0, 7).Draw(t, "kind"); {
	case n == 0:
		return nil
	case n == 1:
		return rapid.Bool().Draw(t, "bool")
	case n == 2:
		return rapid.Float64().Draw(t, "number")
	case n < 5 || depth == 0:
		return rapid.SampledFrom([]string{"", "x", "fast", "bot", "http://x", "😀😀😀😀😀😀"}).Draw(t, "text")
	case n == 5:
		var out []any
		for range rapid.IntRange(0, 3).Draw(t, "length") {
			out = append(out, drawValue(t, depth-1))
		}
		return out
	default:
		return drawConfig(t, depth-1)
	}
}

func drawConfig(t *rapid.T, depth int) map[string]any {
	keys := rapid.SampledFrom([]string{
		"name", "mode", "groups", "heat", "limit", "hosts", "headers", "upstream", "spare", "list", "model", "any", "url", "port",
		"plugin", "id", "apiKey", "must", "odd",
	})
	out := map[string]any{}
	for range rapid.IntRange(0, 8).Draw(t, "keys") {
		out[keys.Draw(t, "key")] = drawValue(t, depth)
	}
	return out
}

func TestProperties(t *testing.T) {
	o := mustOf(t, sampleDefaults())
	rapid.Check(t, func(t *rapid.T) {
		cfg := drawConfig(t, 3)
		issues := o.Validate(cfg)
		if d := cmp.Diff(issues, o.Validate(cfg)); d != "" {
			t.Fatalf("two runs differ: %s", d)
		}
		full := o.WithDefaults(cfg)
		if d := cmp.Diff(full, o.WithDefaults(full), equateNaN); d != "" {
			t.Fatalf("defaults are not idempotent: %s", d)
		}
		if len(issues) == 0 && len(o.Validate(full)) > 0 {
			t.Fatalf("defaults made a valid config invalid: %v", o.Validate(full))
		}
		for key, v := range cfg {
			if _, group := v.(map[string]any); group {
				continue
			}
			if d := cmp.Diff(v, full[key], equateNaN); d != "" {
				t.Fatalf("%s was overwritten: %s", key, d)
			}
		}
	})
}

var equateNaN = cmp.Comparer(func(a, b float64) bool { return a == b || a != a && b != b })

func FuzzValidate(f *testing.F) {
	o := mustOf(f, sampleDefaults())
	raw, err := json.Marshal(o)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(raw, []byte(`{"name":"x","must":"y","upstream":{"url":1},"hosts":[1,2]}`))
	f.Add([]byte(`{"fields":[{"name":"a","type":"select","options":[{}]},{"name":"a","type":"map"}]}`), []byte(`{"a":{"b":null}}`))
	f.Fuzz(func(t *testing.T, schemaJSON, cfgJSON []byte) {
		var s Object
		var cfg map[string]any
		if json.Unmarshal(schemaJSON, &s) != nil || json.Unmarshal(cfgJSON, &cfg) != nil {
			return
		}
		for _, i := range s.Validate(cfg) {
			if i.Message == "" || i.Kind == "" {
				t.Fatalf("empty issue %+v", i)
			}
		}
		full := s.WithDefaults(cfg)
		s.Validate(full)
		s.Defaults()
		s.SecretPaths()
		if _, err := json.Marshal(s.JSONSchema()); err != nil {
			t.Fatal(err)
		}
	})
}
