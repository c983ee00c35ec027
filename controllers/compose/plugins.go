// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package compose

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
	"github.com/aalis-dev/aalis-operator/runtime/catalog"
	"github.com/aalis-dev/aalis-operator/runtime/kernelconfig"
)

// entry is one plugin of the bot on its way into the config.
type entry struct {
	name     string // in spec.plugins; the module's short name for one that is on by default
	listed   bool   // in spec.plugins
	absent   bool   // refers to a Plugin that is not there
	id       string
	module   catalog.Module
	disabled bool
	raw      *runtime.RawExtension
	secrets  []v1alpha1.PluginSecret
	object   string // the object that holds config and secrets, as problems name it
	path     string // where in that object the config is
	refPath  string // the entry in the instance
}

// inline reports whether the config is written in the instance rather than in a Plugin object.
func (e *entry) inline() bool { return e.path != "spec" }

// composePlugins collects the plugins of the bot: what is listed, what the catalog has on by default and what the storage
// type asks for; then checks and adds the config of each.
func (c *composer) composePlugins() {
	storage := c.storageModule()
	for _, p := range c.instance.Spec.Plugins {
		c.addListed(p)
	}
	c.addSelected()
	for _, m := range c.in.Catalog.Modules {
		wanted := m.OnByDefault && !c.otherStorage(m.Name, storage) || m.Name == storage
		if m.Reusable || !wanted || c.byID(m.Name) != nil {
			continue
		}
		name := m.ShortName
		if name == "" {
			name = m.Name
		}
		c.entries = append(c.entries, entry{name: name, id: m.Name, module: m, object: c.object, path: "spec.plugins[" + name + "]"})
	}
	for i := range c.entries {
		if !c.entries[i].absent {
			c.addStorage(&c.entries[i], storage)
			c.addConfig(&c.entries[i], storage)
		}
	}
}

// addListed adds one entry of spec.plugins.
func (c *composer) addListed(p v1alpha1.InstancePlugin) {
	path := "spec.plugins[" + p.Name + "]"
	switch {
	case !dnsLabel.MatchString(p.Name):
		c.bad(v1alpha1.ReasonInvalidSpec, path+".name", "must be a DNS label: lower case letters, digits and '-', at most 63 characters, got %q", p.Name)
		return
	case slices.ContainsFunc(c.entries, func(e entry) bool { return e.name == p.Name }):
		c.bad(v1alpha1.ReasonInvalidSpec, path, "may not be listed twice")
		return
	}
	c.oneOf(path+".state", string(p.State), string(v1alpha1.RunStateEnabled), string(v1alpha1.RunStateDisabled))
	e := entry{name: p.Name, listed: true, disabled: p.State == v1alpha1.RunStateDisabled, refPath: path}
	if p.Module != "" {
		e.object, e.path, e.raw = c.object, path, p.Config
		c.addModule(e, p.Module)
		return
	}
	if p.Config != nil {
		c.bad(v1alpha1.ReasonInvalidSpec, path+".config", "needs module; to change the config of a Plugin object, edit that object")
	}
	found, ok := c.findPlugin(p.Name)
	if !ok {
		e.absent = true
		c.entries = append(c.entries, e)
		return
	}
	c.addObject(e, found)
}

// addObject adds an entry that a Plugin object configures.
func (c *composer) addObject(e entry, found v1alpha1.Plugin) {
	found, revision, ok := c.revisedPlugin(found)
	if !ok {
		e.absent = true
		c.entries = append(c.entries, e)
		return
	}
	c.useRevision("Plugin", found.Name, found.Generation, revision)
	e.object, e.path, e.raw, e.secrets = "Plugin "+found.Name, "spec", found.Spec.Config, found.Spec.Secrets
	c.runState(e.object, "spec.state", found.Spec.State)
	e.disabled = e.disabled || found.Spec.State == v1alpha1.RunStateDisabled
	if found.Spec.Module == "" {
		c.at(SeverityError, v1alpha1.ReasonInvalidSpec, e.object, "spec.module", "must be given")
		return
	}
	c.addModule(e, found.Spec.Module)
}

func (c *composer) runState(object, path string, s v1alpha1.RunState) {
	if s != "" && s != v1alpha1.RunStateEnabled && s != v1alpha1.RunStateDisabled {
		c.at(SeverityError, v1alpha1.ReasonInvalidSpec, object, path, `must be one of "Enabled", "Disabled", got %q`, s)
	}
}

// findPlugin looks for the Plugin object that an entry refers to. One that is being deleted counts as absent.
func (c *composer) findPlugin(name string) (v1alpha1.Plugin, bool) {
	var found []v1alpha1.Plugin
	for _, p := range c.in.Plugins {
		if p.Name == name && namespaceOf(p.Namespace) == c.namespace {
			found = append(found, p)
		}
	}
	path := "spec.plugins[" + name + "]"
	switch {
	case len(found) == 0:
		text := fmt.Sprintf("there is no Plugin %q in namespace %s", name, c.namespace)
		if m, ok := c.in.Catalog.Lookup(name); ok {
			text += fmt.Sprintf("; to configure the shipped module, add module: %s", m.ShortName)
		}
		c.at(SeverityWarning, v1alpha1.ReasonPluginNotFound, c.object, path, "%s", text)
		return v1alpha1.Plugin{}, false
	case len(found) > 1:
		c.twice("Plugin", name)
		return v1alpha1.Plugin{}, false
	case found[0].DeletionTimestamp != nil:
		c.at(SeverityWarning, v1alpha1.ReasonPluginNotFound, c.object, path, "Plugin %q is being deleted and no longer part of this bot", name)
		return v1alpha1.Plugin{}, false
	}
	return found[0], true
}

// twice reports two objects of one kind and name, which only local manifests can have.
func (c *composer) twice(kind, name string) {
	c.at(SeverityError, v1alpha1.ReasonInvalidSpec, kind+" "+name, "metadata.name", "may not be declared twice in namespace %s", c.namespace)
}

// addModule resolves the module of an entry, gives it its instance id and adds it.
func (c *composer) addModule(e entry, module string) {
	modulePath := e.path + ".module"
	m, err := c.in.Catalog.Resolve(module)
	if err != nil {
		severity := SeverityError
		if e.disabled { // what is not there does not run, which is what was asked for; but a misspelt name must be seen
			severity = SeverityWarning
		}
		c.at(severity, v1alpha1.ReasonUnknownModule, e.object, modulePath, "%v", err)
		e.absent = true
		c.entries = append(c.entries, e)
		return
	}
	e.module, e.id = m, m.Name
	if m.Reusable {
		e.id += ":" + e.name
	}
	if other := c.byID(e.id); other != nil {
		c.bad(v1alpha1.ReasonInvalidSpec, e.refPath, "module %s can run only once in a bot, and %s already is it", m.Name, other.refPath)
		return
	}
	c.entries = append(c.entries, e)
}

func (c *composer) byID(id string) *entry {
	for i := range c.entries {
		if c.entries[i].id == id {
			return &c.entries[i]
		}
	}
	return nil
}

// byName finds a plugin by what people call it: its name in spec.plugins, or the name of a module that is on by default.
func (c *composer) byName(name string) *entry {
	for i := range c.entries {
		if c.entries[i].name == name {
			return &c.entries[i]
		}
	}
	return nil
}

// names lists what plugins of the bot can be called.
func (c *composer) names() []string {
	out := make([]string, 0, len(c.entries))
	for _, e := range c.entries {
		out = append(out, e.name)
	}
	return out
}

// addConfig checks what an entry configures and puts it into the kernel config.
func (c *composer) addConfig(e *entry, storage string) {
	if e.disabled {
		switch {
		case e.module.Core:
			c.bad(v1alpha1.ReasonInvalidSpec, e.refPath, "module %s is part of every bot and may not be disabled", e.module.Name)
		case e.id == storage:
			c.bad(v1alpha1.ReasonInvalidSpec, e.refPath, "module %s is the backend that spec.storage asks for and may not be disabled", e.module.Name)
		}
	}
	cfg, ok := c.moduleConfig(e)
	p := kernelconfig.Plugin{ID: e.id, Module: e.module.Name, Disabled: e.disabled}
	if !ok {
		c.config.Plugins = append(c.config.Plugins, p)
		return
	}
	p.Config = cfg
	for _, s := range e.secrets {
		p.Secrets = append(p.Secrets, kernelconfig.Secret{Path: s.Path, Name: s.SecretKeyRef.Name, Key: s.SecretKeyRef.Key})
	}
	slices.SortFunc(p.Secrets, func(a, b kernelconfig.Secret) int { return strings.Compare(a.Path, b.Path) })
	c.config.Plugins = append(c.config.Plugins, p)
}
