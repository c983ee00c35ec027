// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
	"github.com/aalis-dev/aalis-operator/runtime/catalog"
)

// The modules that become something else than a plugin.
const (
	sqliteModule   = "@aalis/plugin-memory-sqlite"
	redisModule    = "@aalis/plugin-memory-redis"
	inmemoryModule = "@aalis/plugin-memory-inmemory"
	personaModule  = "@aalis/plugin-persona"
	commandsModule = "@aalis/plugin-commands"
)

// plugin is one entry of the config's plugins.
type plugin struct {
	id      string // in the config
	path    string
	module  catalog.Module
	name    string // in spec.plugins
	config  map[string]any
	secrets []v1alpha1.PluginSecret
	done    bool // became something else
}

// splitID cuts the id of an instance, module:suffix. The colon is looked for behind the scope's slash.
func splitID(id string) (module, suffix string) {
	from := strings.Index(id, "/") + 1
	if i := strings.Index(id[from:], ":"); i >= 0 {
		return id[:from+i], id[from+i+1:]
	}
	return id, ""
}

// collect finds the plugins and names them, before their configs are converted: configs refer to each other.
func (c *converter) collect() {
	entries, ok := c.config[keyPlugins].(map[string]any)
	if !ok && c.config[keyPlugins] != nil {
		c.note(keyPlugins, "must be a map from plugin to config; left out")
	}
	for _, id := range slices.Sorted(maps.Keys(entries)) {
		path := keyPlugins + "[" + id + "]"
		config, isMap := entries[id].(map[string]any)
		if !isMap && entries[id] != nil {
			c.note(path, "its config must be a map; left out")
			continue
		}
		c.addFound(id, path, config)
	}
	if prefix, ok := c.config[keyPrefix]; ok {
		p := c.byModule(commandsModule)
		if p == nil {
			p = c.addFound(commandsModule, keyPrefix, nil)
		}
		if p != nil && p.config[keyPrefix] == nil {
			p.config[keyPrefix] = prefix
		}
	}
}

func (c *converter) addFound(id, path string, config map[string]any) *plugin {
	module, suffix := splitID(id)
	m, err := c.src.Catalog.Resolve(module)
	switch {
	case err != nil:
		c.note(path, "%v; left out, with its config", err)
		return nil
	case suffix != "" && !m.Reusable:
		c.note(path, "module %s runs only once in a bot, without :%s; left out, with its config", m.Name, suffix)
		return nil
	}
	p := &plugin{id: id, path: path, module: m, config: maps.Clone(config)}
	if p.config == nil {
		p.config = map[string]any{}
	}
	short := m.ShortName
	if short == "" {
		short = slug(m.Name, "plugin", maxLabel)
	}
	wanted := short
	if suffix != "" {
		wanted = slug(suffix, "plugin", maxLabel)
		if c.used["Plugin "+wanted] {
			wanted = slug(short+"-"+wanted, "plugin", maxLabel)
		}
	}
	p.name = c.take("Plugin", wanted)
	if now := m.Name + ":" + p.name; m.Reusable && now != id {
		c.note(path, "is called %s from now on", now)
	}
	c.plugins = append(c.plugins, p)
	return p
}

func (c *converter) byModule(name string) *plugin {
	for _, p := range c.plugins {
		if p.module.Name == name {
			return p
		}
	}
	return nil
}

// byID finds a plugin by the id that the config has for it. A module that is on by default needs no entry to be meant.
func (c *converter) byID(id string) (name string, ok bool) {
	for _, p := range c.plugins {
		if p.id == id {
			return p.name, true
		}
	}
	module, suffix := splitID(id)
	m, found := c.src.Catalog.Lookup(module)
	if found && suffix == "" {
		for _, p := range c.plugins {
			if p.module.Name == m.Name {
				return p.name, true
			}
		}
		return m.ShortName, m.OnByDefault
	}
	return "", false
}

// addPlugins converts the configs. A plugin that may run several times, or that needs a Secret, becomes an object; another
// one stands in the bot itself, if there is anything to say about it.
func (c *converter) addPlugins() {
	for _, p := range c.plugins {
		if p.done {
			continue
		}
		c.convertConfig(p)
		raw := rawConfig(p.config)
		entry := v1alpha1.InstancePlugin{Name: p.name}
		switch {
		case p.module.Reusable || len(p.secrets) > 0:
			c.out.Plugins = append(c.out.Plugins, v1alpha1.Plugin{
				TypeMeta: typeMeta(v1alpha1.KindPlugin), ObjectMeta: c.meta(p.name),
				Spec: v1alpha1.PluginSpec{Module: moduleName(p.module), Config: raw, Secrets: p.secrets},
			})
		case raw == nil && p.module.OnByDefault:
			continue
		default:
			entry.Module, entry.Config = moduleName(p.module), raw
		}
		c.bot.Spec.Plugins = append(c.bot.Spec.Plugins, entry)
	}
}

func moduleName(m catalog.Module) string {
	if m.ShortName != "" {
		return m.ShortName
	}
	return m.Name
}

func rawConfig(config map[string]any) *runtime.RawExtension {
	if len(config) == 0 {
		return nil
	}
	data, err := json.Marshal(config)
	if err != nil { // it was JSON before
		return nil
	}
	return &runtime.RawExtension{Raw: data}
}

// addDisabled turns off what disabledPlugins lists.
func (c *converter) addDisabled() {
	ids, ok := c.config[keyDisabled].([]any)
	if !ok && c.config[keyDisabled] != nil {
		c.note(keyDisabled, "must be a list of plugins; left out")
	}
	for i, item := range ids {
		path := fmt.Sprintf("%s[%d]", keyDisabled, i)
		id, isText := item.(string)
		if !isText {
			c.note(path, "must be the name of a plugin; left out")
			continue
		}
		c.disable(path, id)
	}
}

func (c *converter) disable(path, id string) {
	name, listed := c.byID(id)
	module, _ := splitID(id)
	m, known := c.src.Catalog.Lookup(module)
	switch {
	case !known:
		c.note(path, "there is no module %q, so that it does not run either; left out", module)
		return
	case m.Core:
		c.note(path, "module %s is part of every bot and cannot be turned off; left out", m.Name)
		return
	case c.isStorage(m.Name):
		c.note(path, "spec.storage decides which memory backend runs; left out")
		return
	case !listed && m.Reusable:
		c.note(path, "%s is not configured, so that it does not run either; left out", id)
		return
	case !listed && !m.OnByDefault:
		return // what is not listed does not run: this is all that was asked for
	}
	for i := range c.bot.Spec.Plugins {
		if c.bot.Spec.Plugins[i].Name == name {
			c.bot.Spec.Plugins[i].State = v1alpha1.RunStateDisabled
			return
		}
	}
	c.bot.Spec.Plugins = append(c.bot.Spec.Plugins, v1alpha1.InstancePlugin{
		Name: name, Module: moduleName(m), State: v1alpha1.RunStateDisabled,
	})
}

// secretKey puts a value into the Secret of a plugin, or leaves room for it, and says where it is.
func (c *converter) secretKey(secret, key, value string) v1alpha1.SecretKeyReference {
	for i := range c.out.Secrets {
		if c.out.Secrets[i].Name == secret {
			c.out.Secrets[i].StringData[key] = c.secretValue(value)
			return v1alpha1.SecretKeyReference{Name: secret, Key: key}
		}
	}
	s := corev1.Secret{ObjectMeta: c.meta(secret), Type: corev1.SecretTypeOpaque, StringData: map[string]string{key: c.secretValue(value)}}
	s.APIVersion, s.Kind = "v1", "Secret"
	c.out.Secrets = append(c.out.Secrets, s)
	return v1alpha1.SecretKeyReference{Name: secret, Key: key}
}

func (c *converter) secretValue(value string) string {
	if c.src.SecretValues {
		return value
	}
	return ""
}
