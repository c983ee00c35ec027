// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package compose

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
)

func labelled(name, labels, spec string) string {
	return fmt.Sprintf("apiVersion: aalis.dev/v1alpha1\nkind: Plugin\nmetadata: {name: %s, labels: %s}\nspec: %s\n", name, labels, spec)
}

// ids are the ids of the config's plugins of a module, off ones marked.
func ids(r Result, module string) []string {
	var out []string
	for _, p := range r.Config.Plugins {
		if strings.HasPrefix(p.ID, module) {
			id := strings.TrimPrefix(p.ID, module)
			if p.Disabled {
				id += " off"
			}
			out = append(out, id)
		}
	}
	return out
}

func TestSelectedPlugins(t *testing.T) {
	t.Parallel()
	const module = "@aalis/plugin-llm-openai"
	objects := []string{
		labelled("b", "{use: all}", "{module: llm-openai}"), labelled("a", "{use: all, tier: x}", "{module: llm-openai}"),
		labelled("resting", "{use: all}", "{module: llm-openai, state: Disabled}"), labelled("other", "{use: none}", "{module: llm-openai}"),
		labelled("search", "{use: search}", "{module: tool-search}"), labelled("search-too", "{use: search}", "{module: tool-search}"),
	}
	for name, c := range map[string]struct {
		spec     string
		want     []string
		problems []string
		refused  bool
	}{
		"by a label":            {"{pluginSelector: {matchLabels: {use: all}}}", []string{":a", ":b", ":resting off"}, nil, false},
		"by an expression":      {"{pluginSelector: {matchExpressions: [{key: tier, operator: Exists}]}}", []string{":a"}, nil, false},
		"listed goes before":    {"{pluginSelector: {matchLabels: {use: all}}, plugins: [{name: b, state: Disabled}]}", []string{":a", ":b off", ":resting off"}, nil, false},
		"listed in addition":    {"{pluginSelector: {matchLabels: {tier: x}}, plugins: [{name: other}]}", []string{":a", ":other"}, nil, false},
		"nothing selected":      {"{pluginSelector: {matchLabels: {use: nobody}}}", nil, nil, false},
		"a model of a selected": {"{pluginSelector: {matchLabels: {tier: x}}, model: {plugin: a, id: m}}", []string{":a"}, nil, false},
		"once only": {"{pluginSelector: {matchLabels: {use: search}}}", nil, []string{
			"Warning InvalidSpec: AgentInstance b: spec.pluginSelector[search-too]: is left out: module @aalis/plugin-tool-search can run only once in a bot, and spec.pluginSelector[search] already is it",
		}, false},
		"no selector": {"{pluginSelector: {matchExpressions: [{key: tier, operator: Sounds}]}}", nil, []string{
			`Error InvalidSpec: AgentInstance b: spec.pluginSelector: must be a label selector: "Sounds" is not a valid label selector operator`,
		}, true},
	} {
		r := Compose(load(t, docs(append(slices.Clone(objects), bot(c.spec))...)))
		if d := cmp.Diff(c.want, ids(r, module)); d != "" {
			t.Errorf("%s: %v %s", name, texts(r), d)
		}
		if d := cmp.Diff(c.problems, texts(r)); d != "" || r.Deployable() == c.refused {
			t.Errorf("%s: %s", name, d)
		}
	}
}

// TestSelectsEverything: a selector that selects everything is refused once that is too much, and not before.
func TestSelectsEverything(t *testing.T) {
	t.Parallel()
	objects := []string{bot("{pluginSelector: {}}")}
	for i := range MaxPlugins {
		objects = append(objects, labelled(fmt.Sprint("p", i), "{}", "{module: llm-openai}"))
	}
	if r := Compose(load(t, docs(objects...))); !r.Deployable() || len(ids(r, "@aalis/plugin-llm-openai")) != MaxPlugins {
		t.Errorf("%d: %v", MaxPlugins, texts(r))
	}
	r := Compose(load(t, docs(append(objects, labelled("more", "{}", "{module: llm-openai}"))...)))
	if got := strings.Join(texts(r), "\n"); r.Deployable() || !strings.Contains(got, "more than 64 plugins in all") {
		t.Error(got)
	}
	gone := metav1.Now()
	in := load(t, docs(bot("{pluginSelector: {}}"), labelled("a", "{}", "{module: llm-openai}")))
	in.Plugins[0].DeletionTimestamp = &gone
	if r := Compose(in); !r.Deployable() || len(ids(r, "@aalis/plugin-llm-openai")) != 0 {
		t.Errorf("a Plugin that is being deleted: %v", texts(r))
	}
}

// TestSelectedOrder: the order in which Plugins come makes no other bytes.
func TestSelectedOrder(t *testing.T) {
	t.Parallel()
	objects := []string{bot("{pluginSelector: {}}")}
	for _, name := range []string{"c", "a", "b"} {
		objects = append(objects, labelled(name, "{}", "{module: llm-openai}"))
	}
	in := load(t, docs(append(objects, labelled("d1", "{}", "{module: tool-search}"), labelled("d2", "{}", "{module: tool-search}"))...))
	want := Compose(in)
	rapid.Check(t, func(t *rapid.T) {
		again := in
		again.Plugins = shuffled[v1alpha1.Plugin](t, in.Plugins)
		got := Compose(again)
		if got.Delivery.Revision != want.Delivery.Revision || !slices.Equal(texts(got), texts(want)) {
			t.Fatalf("%v, want %v", texts(got), texts(want))
		}
	})
}
