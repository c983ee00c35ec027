// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package compose

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
)

// MaxPlugins is how many plugins a bot may have, listed and selected ones together.
const MaxPlugins = maxPlugins

// SelectedPlugins are the Plugins that spec.pluginSelector adds to what spec.plugins lists, sorted by name. A Plugin that is being
// deleted is none, and a selector that cannot be read selects none.
func SelectedPlugins(instance *v1alpha1.AgentInstance, plugins []v1alpha1.Plugin) []v1alpha1.Plugin {
	if instance.Spec.PluginSelector == nil {
		return nil
	}
	selector, err := metav1.LabelSelectorAsSelector(instance.Spec.PluginSelector)
	if err != nil {
		return nil
	}
	listed := make(map[string]bool, len(instance.Spec.Plugins))
	for _, p := range instance.Spec.Plugins {
		listed[p.Name] = true
	}
	var out []v1alpha1.Plugin
	for i := range plugins {
		p := &plugins[i]
		if !listed[p.Name] && p.DeletionTimestamp.IsZero() && namespaceOf(p.Namespace) == namespaceOf(instance.Namespace) && selector.Matches(labels.Set(p.Labels)) {
			out = append(out, *p)
		}
	}
	slices.SortFunc(out, func(a, b v1alpha1.Plugin) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// selectorPath is the field that a selected plugin comes from.
const selectorPath = "spec.pluginSelector"

// addSelected adds the selected Plugins. One whose module runs in the bot already, and can run only once, is left out: whoever wrote the
// bot need not know every Plugin that somebody labels later.
func (c *composer) addSelected() {
	if c.instance.Spec.PluginSelector == nil {
		return
	}
	if _, err := metav1.LabelSelectorAsSelector(c.instance.Spec.PluginSelector); err != nil {
		c.bad(v1alpha1.ReasonInvalidSpec, selectorPath, "must be a label selector: %v", err)
		return
	}
	selected := SelectedPlugins(c.instance, c.in.Plugins)
	if n := len(selected) + len(c.instance.Spec.Plugins); n > maxPlugins {
		c.bad(v1alpha1.ReasonInvalidSpec, selectorPath, "may not select so many Plugins that the bot has more than %d plugins in all", maxPlugins)
		return
	}
	for _, p := range selected {
		if slices.ContainsFunc(c.entries, func(e entry) bool { return e.name == p.Name }) {
			c.twice("Plugin", p.Name)
			continue
		}
		e := entry{name: p.Name, listed: true, refPath: selectorPath + "[" + p.Name + "]"}
		if m, err := c.in.Catalog.Resolve(p.Spec.Module); err == nil && !m.Reusable {
			if other := c.byID(m.Name); other != nil {
				c.at(SeverityWarning, v1alpha1.ReasonInvalidSpec, c.object, e.refPath, "is left out: module %s can run only once in a bot, and %s already is it", m.Name, other.refPath)
				continue
			}
		}
		c.addObject(e, p)
	}
}
