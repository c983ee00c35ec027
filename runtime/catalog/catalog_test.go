// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aalis-dev/aalis-operator/runtime/schema"
)

func testCatalog(tb testing.TB) Catalog {
	tb.Helper()
	c, err := New([]Module{
		{Name: "@aalis/plugin-memory-inmemory", OnByDefault: true},
		{Name: "@aalis/plugin-llm-openai", Reusable: true, Permissions: []string{"network"}, Stability: "beta", Config: schema.Object{Fields: []schema.Field{
			{Name: "apiKey", Type: schema.String, Label: "Key", Secret: true},
			{Name: "mode", Type: schema.Select, Options: []schema.Option{{Value: "a", Label: "A"}}},
			{Name: "list", Type: schema.Array, Items: &schema.Field{Type: schema.ObjectType, Fields: []schema.Field{{Name: "x", Type: schema.Number, Description: "X"}}}},
		}}},
		{Name: "@aalis/plugin-agent", OnByDefault: true, Provides: []string{"agent"}},
		{Name: "@acme/echo"},
	})
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

func TestLookup(t *testing.T) {
	c := testCatalog(t)
	for name, want := range map[string]string{
		"agent": "@aalis/plugin-agent", "@aalis/plugin-agent": "@aalis/plugin-agent", "llm-openai": "@aalis/plugin-llm-openai",
		"@acme/echo": "@acme/echo", "echo": "", "": "", "Agent": "", "@aalis/plugin-": "", "plugin-agent": "",
	} {
		m, ok := c.Lookup(name)
		if m.Name != want || ok != (want != "") {
			t.Errorf("%q: got %q, %v; want %q", name, m.Name, ok, want)
		}
	}
	if m, err := c.Resolve("agent"); err != nil || m.ShortName != "agent" {
		t.Errorf("got %+v, %v", m, err)
	}
	if m, _ := c.Lookup("@acme/echo"); m.ShortName != "" {
		t.Errorf("a foreign module got the short name %q", m.ShortName)
	}
}

func TestResolveUnknown(t *testing.T) {
	c := testCatalog(t)
	for name, want := range map[string]string{
		"llm-opnai":               `unknown module "llm-opnai", the runtime image does not ship it; did you mean "llm-openai"?`,
		"@aalis/plugin-llm-opnai": `unknown module "@aalis/plugin-llm-opnai", the runtime image does not ship it; did you mean "@aalis/plugin-llm-openai"?`,
		"zebra":                   `unknown module "zebra", the runtime image does not ship it`,
		"memory":                  `unknown module "memory", the runtime image does not ship it; did you mean "memory-inmemory"?`,
	} {
		_, err := c.Resolve(name)
		var unknown *UnknownModuleError
		if !errors.As(err, &unknown) || unknown.Name != name || err.Error() != want {
			t.Errorf("%s: got %v", name, err)
		}
	}
	two := &UnknownModuleError{Name: "x", Suggestions: []string{"a", "b"}}
	if !strings.HasSuffix(two.Error(), `did you mean "a" or "b"?`) {
		t.Errorf("got %v", two)
	}
}

func TestNewErrors(t *testing.T) {
	many := make([]Module, maxModules+1)
	for i := range many {
		many[i].Name = fmt.Sprint("m", i)
	}
	tests := map[string]struct {
		modules []Module
		want    string
	}{
		"no name":     {[]Module{{}}, `module name "" must be of the form`},
		"odd name":    {[]Module{{Name: "@aalis/Plugin X"}}, "must be of the form"},
		"long name":   {[]Module{{Name: strings.Repeat("a", 129)}}, "at most 128"},
		"colon":       {[]Module{{Name: "@aalis/plugin-a:b"}}, "must be of the form"},
		"twice":       {[]Module{{Name: "a"}, {Name: "b"}, {Name: "a"}}, "module a is listed twice"},
		"stability":   {[]Module{{Name: "a", Stability: "fine"}}, `module a: stability must be alpha, beta, stable or deprecated, got "fine"`},
		"permissions": {[]Module{{Name: "a", Permissions: []string{"root"}}}, `module a: permissions must be network, filesystem, exec or secrets, got "root"`},
		"too many":    {many, "more than 1024 modules"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if _, err := New(tc.modules); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q in it", err, tc.want)
			}
			if _, err := (Catalog{Modules: tc.modules}).Encode(); err == nil {
				t.Error("such a catalog must not encode")
			}
		})
	}
}

func TestEncodeDecode(t *testing.T) {
	c := testCatalog(t)
	data, err := c.Encode()
	if err != nil {
		t.Fatal(err)
	}
	back, err := Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(c, back); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	reversed := Catalog{Modules: slices.Clone(c.Modules)}
	slices.Reverse(reversed.Modules)
	again, err := reversed.Encode()
	if err != nil || !bytes.Equal(data, again) {
		t.Errorf("the order of modules changes the bytes (%v)", err)
	}
	empty, err := Catalog{}.Encode()
	if err != nil || !strings.Contains(string(empty), `"modules": []`) {
		t.Errorf("got %s, %v", empty, err)
	}
}

func TestDecodeErrors(t *testing.T) {
	for data, want := range map[string]string{
		``:           "EOF",
		`{"x":1}`:    `unknown field "x"`,
		`{}`:         `format must be "aalis.dev/catalog/v1", got ""`,
		`{} {}`:      "data after the document",
		`[]`:         "decoding the catalog",
		`{"modules"`: "EOF",
		`{"format":"aalis.dev/catalog/v1","modules":[{"name":"a","config":{"fields":[{"typ":"x"}]}}]}`: `unknown field "typ"`,
		`{"format":"aalis.dev/catalog/v1","modules":[{"name":"a"},{"name":"a"}]}`:                      "listed twice",
	} {
		if _, err := Decode([]byte(data)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q in it", data, err, want)
		}
	}
}

func TestHash(t *testing.T) {
	hash := func(c Catalog) string {
		h, err := c.Hash()
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	base := hash(testCatalog(t))
	if len(base) != hashLength {
		t.Errorf("got %q", base)
	}
	texts := testCatalog(t)
	m := &texts.Modules[1]
	m.Summary, m.DisplayName, m.Stability = "other", "Other", "alpha"
	m.Config.Fields[0].Label = "Other"
	m.Config.Fields[1].Options[0].Label = "Other"
	m.Config.Fields[2].Items.Fields[0].Description = "Other"
	if hash(texts) != base {
		t.Error("texts for people change the hash")
	}
	if texts.Modules[1].Config.Fields[0].Label != "Other" {
		t.Error("Hash changed its catalog")
	}
	for name, change := range map[string]func(*Catalog){
		"a module":     func(c *Catalog) { c.Modules = c.Modules[1:] },
		"a service":    func(c *Catalog) { c.Modules[0].Provides = nil },
		"a default":    func(c *Catalog) { c.Modules[0].OnByDefault = false },
		"a field":      func(c *Catalog) { c.Modules[1].Config.Fields[0].Secret = false },
		"a item field": func(c *Catalog) { c.Modules[1].Config.Fields[2].Items.Fields[0].Name = "y" },
		"an option":    func(c *Catalog) { c.Modules[1].Config.Fields[1].Options[0].Value = "b" },
	} {
		c := testCatalog(t)
		change(&c)
		if hash(c) == base {
			t.Errorf("%s does not change the hash", name)
		}
	}
	if _, err := (Catalog{Modules: []Module{{}}}).Hash(); err == nil {
		t.Error("a catalog that makes no sense has no hash")
	}
}

// TestDefault checks the embedded catalog: it decodes, has every module of the first bot, its defaults fit its schemas,
// and every service that a module which is on by default requires is provided by one that is on by default, too.
func TestDefault(t *testing.T) {
	c, err := Default()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"gateway", "agent", "persona", "memory-inmemory", "message-archive", "llm-openai", "platform-openai"} {
		if _, ok := c.Lookup(name); !ok {
			t.Errorf("%s is missing", name)
		}
	}
	provided := map[string]bool{}
	for _, m := range c.DefaultOn() {
		if m.Reusable {
			t.Errorf("%s is reusable and on by default", m.Name)
		}
		for _, s := range m.Provides {
			provided[s] = true
		}
	}
	for _, m := range c.DefaultOn() {
		for _, s := range m.Required {
			if !provided[s] {
				t.Errorf("%s is on by default and requires %s, which nothing on by default provides", m.Name, s)
			}
		}
	}
	for _, m := range c.Modules {
		for _, issue := range m.Config.Validate(m.Config.Defaults()) {
			if issue.Kind != schema.Missing {
				t.Errorf("%s: default of %v", m.Name, issue)
			}
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(shipped)
	f.Add([]byte(`{"format":"aalis.dev/catalog/v1","modules":[{"name":"a"}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := Decode(data)
		if err != nil {
			return
		}
		first, err := c.Encode()
		if err != nil {
			t.Fatal(err)
		}
		back, err := Decode(first)
		if err != nil {
			t.Fatalf("%v in\n%s", err, first)
		}
		second, err := back.Encode()
		if err != nil || !bytes.Equal(first, second) || !json.Valid(first) {
			t.Fatalf("not stable (%v):\n%s\n%s", err, first, second)
		}
		c.suggest(string(data))
	})
}
