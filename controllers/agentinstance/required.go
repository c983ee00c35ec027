// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package agentinstance

import (
	"slices"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
	"github.com/aalis-dev/aalis-operator/controllers/compose"
	"github.com/aalis-dev/aalis-operator/controllers/plan"
	"github.com/aalis-dev/aalis-operator/runtime/catalog"
	"github.com/aalis-dev/aalis-operator/runtime/kernelconfig"
)

// sortPlugins takes the plugins that do not run apart: required ones in error, required ones that wait (or start), and the
// optional ones of both sorts. Disabled plugins are as they should be. Where no kernel reports, the plan speaks for it.
func (p *pass) sortPlugins() (failed, pending, optional []v1alpha1.PluginStatus) {
	required := requiredPlugins(p.composed.Config, p.listed(), p.input.Catalog)
	for _, plugin := range p.plugins() {
		switch {
		case plugin.State == v1alpha1.StateActive || plugin.State == v1alpha1.StateDisabled:
		case !required[plugin.ID]:
			optional = append(optional, plugin)
		case plugin.State == v1alpha1.StateError || plugin.State == v1alpha1.StateDisposed:
			failed = append(failed, plugin)
		default:
			pending = append(pending, plugin)
		}
	}
	return failed, pending, optional
}

// plugins are the states that the kernel reports, or, without a kernel, those that the plan predicts.
func (p *pass) plugins() []v1alpha1.PluginStatus {
	if p.world.replica != nil {
		return p.world.replica.Status.Plugins
	}
	if !p.composed.Deployable() {
		return nil
	}
	predicted := plan.Predict(p.composed.Config, p.input.Catalog).Plugins
	out := make([]v1alpha1.PluginStatus, 0, len(predicted))
	for _, plugin := range predicted {
		out = append(out, v1alpha1.PluginStatus{ID: plugin.ID, State: v1alpha1.State(plugin.State), Message: plugin.Message})
	}
	return out
}

// listed gives the full names of the modules that spec.plugins asks for, by itself or through Plugin objects.
func (p *pass) listed() map[string]bool {
	modules := map[string]string{}
	for i := range p.input.Plugins {
		modules[p.input.Plugins[i].Name] = p.input.Plugins[i].Spec.Module
	}
	out := map[string]bool{}
	for _, selected := range compose.SelectedPlugins(p.instance, p.input.Plugins) {
		if module, ok := p.input.Catalog.Lookup(selected.Spec.Module); ok {
			out[module.Name] = true
		}
	}
	for _, entry := range p.instance.Spec.Plugins {
		name := entry.Module
		if name == "" {
			name = modules[entry.Name]
		}
		if module, ok := p.input.Catalog.Lookup(name); ok {
			out[module.Name] = true
		}
	}
	return out
}

// requiredPlugins tells which plugins of a config a bot is not Ready without: those that its declaration lists, the core,
// and those that provide, directly or through others, a service that one of these requires.
func requiredPlugins(config kernelconfig.Config, listed map[string]bool, cat catalog.Catalog) map[string]bool {
	required := map[string]bool{}
	var queue []catalog.Module
	add := func(p kernelconfig.Plugin, m catalog.Module) {
		if !required[p.ID] {
			required[p.ID] = true
			queue = append(queue, m)
		}
	}
	modules := make([]catalog.Module, len(config.Plugins))
	for i, p := range config.Plugins {
		modules[i], _ = cat.Lookup(p.Module)
		if !p.Disabled && (listed[p.Module] || modules[i].Core) {
			add(p, modules[i])
		}
	}
	for len(queue) > 0 {
		consumer := queue[0]
		queue = queue[1:]
		for i, p := range config.Plugins {
			if !p.Disabled && slices.ContainsFunc(consumer.Required, func(s string) bool { return slices.Contains(modules[i].Provides, s) }) {
				add(p, modules[i])
			}
		}
	}
	return required
}
