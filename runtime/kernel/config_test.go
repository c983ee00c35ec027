// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kernel_test

import (
	"context"
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/aalis-dev/aalis-operator/runtime/kernel"
	"github.com/aalis-dev/aalis-operator/runtime/kerneltest"
	"github.com/aalis-dev/aalis-operator/runtime/schema"
)

func TestConfigValidation(t *testing.T) {
	modules := []kernel.Module{
		traced(&trace{}, "@aalis/plugin-llm", nil),
		spec{name: "@aalis/plugin-agent", core: true}.module(),
	}
	now := func() time.Time { return time.Time{} }
	cases := []struct {
		name string
		cfg  kernel.Config
		want []string // parts of the error; none means valid
	}{
		{"8.4.1 empty", kernel.Config{}, nil},
		{"all right", kernel.Config{
			LogLevel: "debug",
			Plugins:  map[string]kernel.PluginConfig{"@aalis/plugin-llm:main": limit(2), "@aalis/plugin-agent": {}},
		}, nil},
		{"log level", kernel.Config{LogLevel: "loud"}, []string{"logLevel: must be one of", `"loud"`}},
		{"unknown module", kernel.Config{Plugins: map[string]kernel.PluginConfig{"@aalis/plugin-lm": {}}},
			[]string{`plugins[@aalis/plugin-lm]: unknown module "@aalis/plugin-lm", did you mean "@aalis/plugin-llm"`}},
		{"unknown key, wrong type, bound", kernel.Config{Plugins: map[string]kernel.PluginConfig{
			"@aalis/plugin-llm:main": {Config: map[string]any{"limt": 1, "limit": 0, "ratio": "x"}},
		}}, []string{
			"plugins[@aalis/plugin-llm:main].config.limt: ", `did you mean "limit"?`,
			"plugins[@aalis/plugin-llm:main].config.limit: must be at least 1, got 0",
			"plugins[@aalis/plugin-llm:main].config.ratio: must be a number",
		}},
		{"not reusable", kernel.Config{Plugins: map[string]kernel.PluginConfig{"@aalis/plugin-agent:two": {}}},
			[]string{"plugins[@aalis/plugin-agent:two]: instance id must not have the suffix \"two\""}},
		{"another module's id", kernel.Config{Plugins: map[string]kernel.PluginConfig{"agent": {Module: "@aalis/plugin-agent"}}},
			[]string{"plugins[agent]: instance id must begin with the module's name @aalis/plugin-agent"}},
		{"bad id", kernel.Config{Plugins: map[string]kernel.PluginConfig{"a b": {}}}, []string{"plugins[a b]: instance id", "must be letters"}},
		{"core disabled", kernel.Config{Plugins: map[string]kernel.PluginConfig{"@aalis/plugin-agent": {Disabled: true}}},
			[]string{"plugins[@aalis/plugin-agent].disabled: must not be true"}},
		{"empty requirement", kernel.Config{Plugins: map[string]kernel.PluginConfig{"@aalis/plugin-agent": {Requires: []string{"a", ""}}}},
			[]string{"plugins[@aalis/plugin-agent].requires[1]: must be non-empty"}},
		{"preferences", kernel.Config{Preferences: map[string][]string{"": {"a"}, "llm": {"a", "", "a"}}}, []string{
			"preferences[]: service must be non-empty", "preferences[llm][1]: must be non-empty", `preferences[llm][2]: must be listed once, got "a" again`,
		}},
		{"settings", kernel.Config{Settings: map[string]json.RawMessage{"persona": []byte("{"), "fine": []byte("1")}}, []string{"persona: must be JSON"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := kernel.New(kernel.Options{Modules: modules, Config: c.cfg, Now: now})
			app, made := kernel.New(kernel.Options{Modules: modules, Now: now})
			must(t, made)
			for _, err := range []error{err, app.Validate(c.cfg)} {
				if len(c.want) == 0 {
					must(t, err)
					continue
				}
				wantError(t, err, c.want...)
			}
		})
	}
	t.Run("8.4.5 a plugin is applied with derived defaults, and what is given stays", bubble(func(t *testing.T) {
		var got limits
		m := kernel.Define(kernel.Module{Name: "p"}, limits{Limit: 1, Ratio: 2}, func(_ *kernel.Context, c limits) error { got = c; return nil })
		kerneltest.New(t, kerneltest.WithPlugin(m, "", map[string]any{"limit": 5}))
		if got != (limits{Limit: 5, Ratio: 2}) {
			t.Errorf("applied with %+v", got)
		}
	}))
	t.Run("8.4.1 missing fields have defaults", func(t *testing.T) {
		app, err := kernel.New(kernel.Options{Now: now})
		must(t, err)
		if cfg := app.Config(); cfg.Name != "Aalis" || cfg.LogLevel != "info" || len(cfg.Plugins) != 0 {
			t.Errorf("config %+v", cfg)
		}
	})
	t.Run("options", func(t *testing.T) {
		_, err := kernel.New(kernel.Options{})
		wantError(t, err, "options.now must be set")
		p := spec{name: "p"}.module()
		_, err = kernel.New(kernel.Options{Now: now, Modules: []kernel.Module{p, p, {Name: "q"}, {Name: "@x"}}})
		wantError(t, err, "modules[1]: module p is listed twice", "modules[2]: module q: apply must be set", "modules[3]: module name")
	})
}

func TestInstanceIDs(t *testing.T) {
	long := strings.Repeat("a", kernel.MaxIDLength)
	for id, want := range map[string]kernel.InstanceID{
		"agent":                        {Module: "agent"},
		"@aalis/plugin-agent":          {Module: "@aalis/plugin-agent"},
		"@aalis/plugin-llm-openai:b.c": {Module: "@aalis/plugin-llm-openai", Suffix: "b.c"},
		long + ":" + long:              {Module: long, Suffix: long},
	} {
		got, err := kernel.ParseInstanceID(id)
		if err != nil || got != want || got.String() != id {
			t.Errorf("%q: %+v, %v", id, got, err)
		}
	}
	for _, id := range []string{
		"", ":", "a:", ":a", "@", "@a", "@a/", "@/b", "@a:b/c", "a/b", "a:b:c", "a:b/c", "a\n", "é", "-a", "a-", "a:-", "root", "a b", long + "a", "a:" + long + "a",
	} {
		if got, err := kernel.ParseInstanceID(id); err == nil {
			t.Errorf("%q was accepted as %+v", id, got)
		}
	}
}

func FuzzInstanceID(f *testing.F) {
	for _, id := range []string{"a", "@a/b", "@a/b:c", "a:b", "@a:b/c", ":", "root", "@a/b:c:d", "é"} {
		f.Add(id)
	}
	f.Fuzz(func(t *testing.T, id string) {
		parsed, err := kernel.ParseInstanceID(id)
		if err != nil {
			return
		}
		if parsed.String() != id {
			t.Errorf("%q became %q", id, parsed)
		}
		if again, err := kernel.ParseInstanceID(parsed.Module); err != nil || again.Suffix != "" || again.Module != parsed.Module {
			t.Errorf("the module of %q is %+v, %v", id, again, err)
		}
	})
}

type nested struct {
	Name  string            `json:"name"`
	Count int64             `json:"count"`
	Tags  []string          `json:"tags"`
	Heads map[string]string `json:"heads"`
	Group struct {
		On   bool    `json:"on"`
		Rate float64 `json:"rate"`
	} `json:"group"`
	Extra *int `json:"extra"`
}

func TestDecode(t *testing.T) {
	defaults := func() nested {
		n := nested{Name: "d", Count: math.MaxInt64, Tags: []string{"a", "b"}, Heads: map[string]string{"h": "1"}}
		n.Group.On, n.Group.Rate = true, 0.5
		return n
	}
	given := defaults()
	got, err := kernel.Decode(given, nil)
	must(t, err)
	if diff := cmp.Diff(given, got); diff != "" {
		t.Errorf("defaults alone:\n%s", diff)
	}
	got.Tags[0], got.Heads["h"] = "changed", "changed"
	if diff := cmp.Diff(defaults(), given); diff != "" {
		t.Errorf("the defaults changed:\n%s", diff)
	}
	cfg := map[string]any{
		"name": nil, "tags": []any{"c"}, "heads": map[string]any{"i": "2"}, "group": map[string]any{"on": false}, "extra": json.Number("3"),
	}
	got, err = kernel.Decode(given, cfg)
	must(t, err)
	want := defaults()
	want.Tags, want.Group.On, want.Extra = []string{"c"}, false, new(int)
	want.Heads["i"], *want.Extra = "2", 3
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("decoded (-want +got):\n%s", diff)
	}
	for name, bad := range map[string]map[string]any{
		"unknown": {"nmae": "x"}, "type": {"count": "x"}, "deep": {"group": map[string]any{"of": true}}, "not JSON": {"name": math.NaN()},
	} {
		if _, err := kernel.Decode(given, bad); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
	if _, err := kernel.Decode(7, nil); err == nil {
		t.Error("a config that is no object was accepted")
	}
	if _, err := kernel.Decode(math.Inf(1), nil); err == nil {
		t.Error("a config that is no JSON was accepted")
	}
}

func TestDefine(t *testing.T) {
	t.Run("wrong tags panic", func(t *testing.T) {
		defer func() {
			if r := recover(); r == nil || !strings.Contains(r.(string), "module broken") {
				t.Errorf("recovered %v", r)
			}
		}()
		type broken struct {
			N int `json:"n" min:"low"`
		}
		kernel.Define(kernel.Module{Name: "broken"}, broken{}, func(*kernel.Context, broken) error { return nil })
	})
	t.Run("apply gets the defaults and refuses what it cannot decode", func(t *testing.T) {
		h := kerneltest.New(t)
		var got limits
		m := kernel.Define(kernel.Module{Name: "p"}, limits{Limit: 5}, func(_ *kernel.Context, c limits) error { got = c; return nil })
		must(t, m.Apply(h.Root(), nil))
		if got.Limit != 5 {
			t.Errorf("got %+v", got)
		}
		wantError(t, m.Apply(h.Root(), map[string]any{"limit": "x"}), "decoding config")
	})
	t.Run("an odd reconfigure bounces", func(t *testing.T) {
		r := &trace{}
		m := kernel.Module{Name: "p", Config: traced(r, "p", nil).Config, Apply: func(k *kernel.Context, _ map[string]any) error {
			r.add("start")
			type other struct {
				Limit string `json:"limit"`
			}
			kernel.OnReconfigure(k, func(_ ctxt, _, _ other) error { r.add("reconfigured"); return nil })
			return nil
		}}
		h := kerneltest.New(t, kerneltest.WithPlugin(m, "", nil))
		h.Apply(func(c *kernel.Config) { c.Plugins["p"] = limit(2) })
		r.want(t, "start", "start")
	})
}

func TestConfigClone(t *testing.T) {
	h := kerneltest.New(t, kerneltest.WithPlugin(traced(&trace{}, "p", nil), "", map[string]any{"limit": 3}),
		kerneltest.WithSetting("persona", card{"owl"}), kerneltest.WithOptions(func(o *kernel.Options) {
			o.Config.Preferences["llm"] = []string{"a"}
		}))
	first := h.App.Config()
	first.Plugins["p"].Config["limit"] = 9
	first.Preferences["llm"][0] = "b"
	first.Settings["persona"][0] = '['
	second := h.App.Config()
	if second.Plugins["p"].Config["limit"] != 3 || second.Preferences["llm"][0] != "a" || second.Settings["persona"][0] != '{' {
		t.Errorf("the config in effect was changed from outside: %+v", second)
	}
}

func limitsSchema(t *testing.T) schema.Object {
	t.Helper()
	o, err := schema.Of(limits{Limit: 1, Ratio: 2})
	must(t, err)
	return o
}

type fuzzed struct {
	nested
	Level  string             `json:"level" enum:"low|high"`
	Any    any                `json:"any"`
	List   []limits           `json:"list"`
	ByName map[string]*limits `json:"byName"`
}

// FuzzConfig checks that any JSON as a plugin's config is refused with an error that names its path, or is one that the
// plugin can decode, and that neither changes it.
func FuzzConfig(f *testing.F) {
	for _, seed := range []string{
		`{}`, `null`, `{"name":"x","count":3}`, `{"name":7}`, `{"count":1.5}`, `{"count":1e300}`, `{"group":{"on":"x"}}`, `{"extra":null}`,
		`{"list":[{"limit":1,"ratio":0.5},{}]}`, `{"list":[null]}`, `{"byName":{"a":{"limit":0}}}`, `{"level":"mid"}`, `{"any":[{"x":[]}]}`,
		`{"NAME":"x"}`, `{"tags":["a",1]}`, `{"heads":{"a":"b"}}`, `{"nmae":"x"}`, `{"count":9007199254740993}`, `{"group":null}`,
	} {
		f.Add(seed)
	}
	app, err := kernel.New(kernel.Options{Now: time.Now, Modules: []kernel.Module{
		kernel.Define(kernel.Module{Name: "p"}, fuzzed{}, func(*kernel.Context, fuzzed) error { return nil }),
	}})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = app.Stop(context.Background()) })
	f.Fuzz(func(t *testing.T, text string) {
		var cfg map[string]any
		if json.Unmarshal([]byte(text), &cfg) != nil {
			t.Skip()
		}
		before, err := json.Marshal(cfg)
		must(t, err)
		err = app.Validate(kernel.Config{Plugins: map[string]kernel.PluginConfig{"p": {Config: cfg}}})
		if err != nil && !strings.HasPrefix(err.Error(), "plugins[p].config.") {
			t.Errorf("the error does not name the path: %v", err)
		}
		if _, derr := kernel.Decode(fuzzed{}, cfg); err == nil && derr != nil {
			t.Errorf("%s is valid and cannot be decoded: %v", text, derr)
		}
		if after, _ := json.Marshal(cfg); string(after) != string(before) {
			t.Errorf("the config changed from %s to %s", before, after)
		}
	})
}
