// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aalis-dev/aalis-operator/runtime/contract/agent"
	"github.com/aalis-dev/aalis-operator/runtime/contract/llm"
	"github.com/aalis-dev/aalis-operator/runtime/i18n"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
	"github.com/aalis-dev/aalis-operator/runtime/kerneltest"
	"github.com/aalis-dev/aalis-operator/runtime/recompute"
)

func modelNamed(provider, id string, caps ...llm.Capability) *scriptedModel {
	m := saying(text(id))
	m.info.Provider, m.info.ID = provider, id
	if caps != nil {
		m.info.Capabilities = caps
	}
	return m
}

func withConfig(cfg map[string]any) kerneltest.Option { return kerneltest.WithPlugin(Plugin, "", cfg) }

func defaultLLM(plugin, id string) map[string]any {
	return map[string]any{"defaultLLM": map[string]any{"plugin": plugin, "id": id}}
}

func TestWhichModelAnswers(t *testing.T) {
	for name, tc := range map[string]struct {
		ref    llm.Ref
		cfg    map[string]any
		prefer []string
		want   string
		err    string
	}{
		"first registered":                {want: "a/embed-and-chat"},
		"preferred":                       {prefer: []string{"b/two"}, want: "b/two"},
		"preferred one cannot chat":       {prefer: []string{"a/embed", "b/two"}, want: "b/two"},
		"default of the config":           {cfg: defaultLLM("b", "two"), prefer: []string{"a/embed-and-chat"}, want: "b/two"},
		"default is missing":              {cfg: defaultLLM("b", "none"), want: "a/embed-and-chat"},
		"default is missing, preferences": {cfg: defaultLLM("b", "none"), prefer: []string{"b/two/three"}, want: "b/two/three"},
		"declared":                        {ref: llm.Ref{Provider: "b", ID: "two/three"}, cfg: defaultLLM("b", "two"), want: "b/two/three"},
		"declared by id":                  {ref: llm.Ref{ID: "two"}, want: "b/two"},
		"declared by provider":            {ref: llm.Ref{Provider: "b"}, want: "b/two"},
		"declared one is missing": {
			ref: llm.Ref{Provider: "b", ID: "none"},
			err: `The configured model "b/none" was not found. Available: a/embed-and-chat, b/two, b/two/three.`,
		},
		"declared one cannot chat": {
			ref: llm.Ref{Provider: "a", ID: "embed"},
			err: `The configured model "a/embed" was not found. Available: a/embed-and-chat, b/two, b/two/three.`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBot(t, modelNamed("a", "embed", "embedding"), withConfig(tc.cfg),
				kerneltest.WithSetting(agent.ModelSetting.Key(), tc.ref),
				kerneltest.WithOptions(func(o *kernel.Options) {
					if tc.prefer != nil {
						o.Config.Preferences = map[string][]string{"llm": tc.prefer}
					}
				}))
			for _, m := range []*scriptedModel{
				modelNamed("a", "embed-and-chat", "embedding", llm.CapChat), modelNamed("b", "two"), modelNamed("b", "two/three"),
			} {
				provide(b.Root(), m)
			}
			got, err := b.agent.DefaultModel()
			if got != tc.want || err == nil != (tc.err == "") || err != nil && err.Error() != tc.err {
				t.Errorf("got %q, %v", got, err)
			}
			b.handle(hello())
			want := "[系统] " + tc.err
			if tc.err == "" {
				want = strings.TrimPrefix(strings.TrimPrefix(tc.want, "a/"), "b/")
			}
			if diff := cmp.Diff([]string{want}, contents(b.out)); diff != "" {
				t.Errorf("sent (-want +got):\n%s", diff)
			}
		})
	}
}

func TestADeclaredModelChangesWithoutABounce(t *testing.T) {
	b := newBot(t, modelNamed("a", "one"))
	provide(b.Root(), modelNamed("a", "two"))
	for _, want := range []string{"two", "one"} {
		raw, err := json.Marshal(llm.Ref{Provider: "a", ID: want})
		if err != nil {
			t.Fatal(err)
		}
		b.Apply(func(cfg *kernel.Config) { cfg.Settings[agent.ModelSetting.Key()] = raw })
		if got, err := b.agent.DefaultModel(); got != "a/"+want || err != nil {
			t.Errorf("got %q, %v", got, err)
		}
	}
}

func TestNoModelTexts(t *testing.T) {
	long := strings.Repeat("模型😀", 60)
	for name, tc := range map[string]struct {
		ref    llm.Ref
		models []*scriptedModel
		want   string // in the English text
	}{
		"none":              {want: "no provider offers any"},
		"none can chat":     {models: []*scriptedModel{modelNamed("a", "x", "embedding"), modelNamed("a", "y", "embedding")}, want: "2 registered"},
		"wanted, none":      {ref: llm.Ref{Provider: "a", ID: "b"}, want: `"a/b"`},
		"forty":             {ref: llm.Ref{Provider: "a", ID: "b"}, models: forty("model-%d"), want: "p/model-0, p/model-1, p/model-2, p/model-3, p/model-4, and others, 40 in total"},
		"forty long names":  {ref: llm.Ref{Provider: long, ID: long}, models: forty(long + "%d"), want: "40 in total"},
		"forty wide names":  {ref: llm.Ref{ID: long}, models: forty(strings.Repeat("w", 47) + "%d"), want: "40 in total"},
		"one very long one": {ref: llm.Ref{ID: "x"}, models: []*scriptedModel{modelNamed(long, long)}, want: "Available: 模型"},
	} {
		b := newBot(t, nil, kerneltest.WithSetting(agent.ModelSetting.Key(), tc.ref))
		for _, m := range tc.models {
			provide(b.Root(), m)
		}
		_, err := b.agent.(*conductor).resolve(llm.Ref{})
		why, ok := isNoModel(err)
		if !ok || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: got %v, want it to contain %q", name, err, tc.want)
			continue
		}
		for _, l := range []i18n.Language{i18n.English, i18n.Chinese} {
			if text := why.Notice(l); i18n.Units(text) >= 300 {
				t.Errorf("%s in %s: %d units: %s", name, l, i18n.Units(text), text)
			}
		}
	}
}

func forty(format string) (out []*scriptedModel) {
	for i := range 40 {
		out = append(out, modelNamed("p", fmt.Sprintf(format, i)))
	}
	return out
}

// The default model leads the order of providers that every plugin sees, whoever else sets that order.
func TestTheDefaultModelLeadsThePreferences(t *testing.T) {
	b := newBot(t, modelNamed("a", "one"), withConfig(defaultLLM("a", "one")), kerneltest.WithOptions(func(o *kernel.Options) {
		o.Config.Preferences = map[string][]string{"llm": {"c/three", "a/one"}}
	}))
	want := func(ids ...string) {
		t.Helper()
		if got := b.Root().Preferred("llm"); !slices.Equal(got, ids) {
			t.Errorf("preferred %v, want %v", got, ids)
		}
	}
	want("a/one", "c/three")
	b.Apply(func(cfg *kernel.Config) { cfg.Preferences["llm"] = []string{"d/four"} })
	want("a/one", "d/four")
	b.Apply(func(cfg *kernel.Config) {
		cfg.Plugins[Plugin.Name] = kernel.PluginConfig{Config: defaultLLM("b", "two")}
	})
	want("b/two", "d/four")
	b.Apply(func(cfg *kernel.Config) { cfg.Plugins[Plugin.Name] = kernel.PluginConfig{} })
	want("d/four")
	b.Apply(func(cfg *kernel.Config) { cfg.Preferences["llm"] = nil })
	want()
}

func TestHalfADefaultModelIsRefused(t *testing.T) {
	for name, tc := range map[string]struct {
		cfg  map[string]any
		want string
	}{
		"no id":     {map[string]any{"defaultLLM": map[string]any{"plugin": "a"}}, "config.defaultLLM.id: must be set"},
		"no plugin": {map[string]any{"defaultLLM": map[string]any{"id": "a"}}, "config.defaultLLM.plugin: must be set"},
	} {
		h := kerneltest.New(t, withConfig(tc.cfg))
		h.WantState(Plugin.Name, recompute.Error)
		if got := h.Plugin(Plugin.Name).Error; !strings.Contains(got, tc.want) {
			t.Errorf("%s: got %q", name, got)
		}
	}
	b := newBot(t, saying(text("x")))
	b.Apply(func(cfg *kernel.Config) {
		cfg.Plugins[Plugin.Name] = kernel.PluginConfig{Config: map[string]any{"defaultLLM": map[string]any{"id": "a"}}}
	})
	b.WantState(Plugin.Name, recompute.Error)
}
