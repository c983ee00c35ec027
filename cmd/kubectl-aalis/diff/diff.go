// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
	"github.com/aalis-dev/aalis-operator/cmd/kubectl-aalis/cluster"
	"github.com/aalis-dev/aalis-operator/controllers/compose"
	"github.com/aalis-dev/aalis-operator/controllers/plan"
	"github.com/aalis-dev/aalis-operator/runtime/catalog"
	"github.com/aalis-dev/aalis-operator/runtime/kernelconfig"
	"github.com/aalis-dev/aalis-operator/runtime/recompute"
)

// Effect is what a change means for a bot.
type Effect string

// The effects. Reload and Restart are those of the operator's own plan.
const (
	None    = Effect(plan.None)
	Reload  = Effect(plan.Reload)
	Restart = Effect(plan.Restart)
	// Create and Delete: the bot is not there before, or not there afterwards.
	Create Effect = "Create"
	Delete Effect = "Delete"
	// Refused: what is declared makes no config; what runs goes on.
	Refused Effect = "Refused"
)

// Bot is what changes for one bot.
type Bot struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Effect    Effect `json:"effect"`
	// Reasons say what changes, the restarts first.
	Reasons []Reason `json:"reasons,omitempty"`
	// Plugins are those that the change touches, sorted by id.
	Plugins []Plugin `json:"plugins,omitempty"`
	// Problems are what is wrong with what is declared afterwards.
	Problems []Problem `json:"problems,omitempty"`
	// Diffs are unified diffs of the personas and the config.
	Diffs []Text `json:"diffs,omitempty"`
}

// Problem is one thing that is wrong with what is declared, as compose finds it.
type Problem struct {
	Severity compose.Severity `json:"severity"`
	Reason   string           `json:"reason"`
	Object   string           `json:"object"`
	Path     string           `json:"path,omitempty"`
	Message  string           `json:"message"`
}

// Reason is one thing that changes.
type Reason struct {
	Effect Effect `json:"effect"`
	Text   string `json:"text"`
}

// Plugin is one plugin that a change touches.
type Plugin struct {
	ID string `json:"id"`
	// Change is added, removed, enabled, disabled or reconfigured; or waiting, of one that would have to wait for something
	// that it has now.
	Change string `json:"change"`
	// Message says what a waiting plugin waits for.
	Message string `json:"message,omitempty"`
}

// Text is a unified diff.
type Text struct {
	// Title says of what, as "persona night-owl" or "config".
	Title string `json:"title"`
	// Diff has no header lines.
	Diff string `json:"diff"`
}

// Input is what is compared.
type Input struct {
	Before, After cluster.Objects
	// Running are the configs that bots run whose objects make none any more.
	Running map[types.NamespacedName]kernelconfig.Config
	// Catalog of the runtime image.
	Catalog catalog.Catalog
}

// Bots compares and gives the bots for which something changes, sorted by namespace and name.
func Bots(in Input) []Bot {
	var out []Bot
	for _, key := range keys(in.Before.Instances, in.After.Instances) {
		before, after := find(in.Before.Instances, key), find(in.After.Instances, key)
		if bot := in.compare(key, before, after); bot.Effect != None {
			out = append(out, bot)
		}
	}
	return out
}

func keys(lists ...[]v1alpha1.AgentInstance) []types.NamespacedName {
	var out []types.NamespacedName
	for _, list := range lists {
		for i := range list {
			out = append(out, types.NamespacedName{Namespace: list[i].Namespace, Name: list[i].Name})
		}
	}
	slices.SortFunc(out, func(a, b types.NamespacedName) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return slices.Compact(out)
}

func find(list []v1alpha1.AgentInstance, key types.NamespacedName) *v1alpha1.AgentInstance {
	for i := range list {
		if list[i].Namespace == key.Namespace && list[i].Name == key.Name {
			return &list[i]
		}
	}
	return nil
}

func (in Input) compose(objects cluster.Objects, bot *v1alpha1.AgentInstance) compose.Result {
	input := objects.Input(bot)
	input.Catalog = in.Catalog
	return compose.Compose(input)
}

func (in Input) compare(key types.NamespacedName, before, after *v1alpha1.AgentInstance) Bot {
	bot := Bot{Namespace: key.Namespace, Name: key.Name, Effect: None}
	if after == nil {
		bot.Effect = Delete
		return bot
	}
	will := in.compose(in.After, after)
	for _, p := range will.Problems {
		bot.Problems = append(bot.Problems, Problem(p))
	}
	if before == nil {
		bot.Effect = Create
		if !will.Deployable() {
			bot.Effect = Refused
			return bot
		}
		in.describe(&bot, kernelconfig.Config{}, will.Config)
		return bot
	}
	was := in.compose(in.Before, before)
	if !will.Deployable() {
		if !slices.Equal(was.Problems, will.Problems) {
			bot.Effect = Refused
		}
		return bot
	}
	config := was.Config
	if !was.Deployable() {
		config = in.Running[key]
	}
	change := plan.Diff(
		plan.Target{Config: config, Spec: before.Spec, Catalog: in.Catalog},
		plan.Target{Config: will.Config, Spec: after.Spec, Catalog: in.Catalog},
	)
	bot.Effect = Effect(change.Effect)
	for _, r := range change.Reasons {
		bot.Reasons = append(bot.Reasons, Reason{Effect: Effect(r.Effect), Text: r.Text})
	}
	if bot.Effect == None && !was.Deployable() {
		bot.Effect = Reload // what is declared is sound again, and is what runs
		bot.Reasons = []Reason{{Effect: Reload, Text: "what is declared is accepted again"}}
	}
	in.describe(&bot, config, will.Config)
	return bot
}

// describe adds the touched plugins and the texts.
func (in Input) describe(bot *Bot, before, after kernelconfig.Config) {
	bot.Plugins = in.plugins(before, after)
	bot.Diffs = texts(before, after)
}

func (in Input) plugins(before, after kernelconfig.Config) []Plugin {
	was, will := byID(before), byID(after)
	var out []Plugin
	touched := map[string]bool{}
	add := func(id, change string) {
		out = append(out, Plugin{ID: id, Change: change})
		touched[id] = true
	}
	for id, p := range will {
		old, there := was[id]
		switch {
		case !there:
			add(id, "added")
		case old.Disabled && !p.Disabled:
			add(id, "enabled")
		case !old.Disabled && p.Disabled:
			add(id, "disabled")
		case pluginText(old) != pluginText(p):
			add(id, "reconfigured")
		}
	}
	for id := range was {
		if _, there := will[id]; !there {
			add(id, "removed")
		}
	}
	active := map[string]bool{}
	for _, p := range plan.Predict(before, in.Catalog).Plugins {
		active[p.ID] = p.State == recompute.Active
	}
	for _, p := range plan.Predict(after, in.Catalog).Plugins {
		if p.State == recompute.Pending && (active[p.ID] || touched[p.ID]) {
			out = append(out, Plugin{ID: p.ID, Change: "waiting", Message: p.Message})
		}
	}
	slices.SortFunc(out, func(a, b Plugin) int { return cmp.Or(cmp.Compare(a.ID, b.ID), cmp.Compare(a.Change, b.Change)) })
	return out
}

func byID(c kernelconfig.Config) map[string]kernelconfig.Plugin {
	out := make(map[string]kernelconfig.Plugin, len(c.Plugins))
	for _, p := range c.Plugins {
		out[p.ID] = p
	}
	return out
}
