// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kernel

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/aalis-dev/aalis-operator/runtime/schema"
)

// Config is what an App runs. Every plugin that is to run is listed; nothing is added to it.
type Config struct {
	// Name is the bot's name; empty means "Aalis".
	Name string
	// LogLevel is debug, info (the default), warn or error.
	LogLevel string
	// Plugins holds the plugins by instance id. They are registered in the order of their ids.
	Plugins map[string]PluginConfig
	// Preferences holds an ordered list of entry ids by service: the first that is registered wins.
	Preferences map[string][]string
	// Settings holds every other top-level key, verbatim. Plugins read them through [Setting].
	Settings map[string]json.RawMessage
}

// PluginConfig configures one plugin instance.
type PluginConfig struct {
	// Module is the module's full name; empty means the one that the instance id begins with.
	Module string
	// Config is the plugin's own config, by the module's schema.
	Config map[string]any
	// Disabled plugins are registered and do not run.
	Disabled bool
	// Requires names services that this instance needs besides those of its module, as "secret:llm/api-key".
	Requires []string
}

// ConfigStore keeps a config for the next start.
type ConfigStore interface {
	Save(ctx context.Context, cfg Config) error
}

// Clone returns a copy that shares nothing with the original.
func (c Config) Clone() Config {
	out := c
	out.Plugins = make(map[string]PluginConfig, len(c.Plugins))
	for id, p := range c.Plugins {
		out.Plugins[id] = p.Clone()
	}
	out.Preferences = make(map[string][]string, len(c.Preferences))
	for service, ids := range c.Preferences {
		out.Preferences[service] = slices.Clone(ids)
	}
	out.Settings = make(map[string]json.RawMessage, len(c.Settings))
	for key, raw := range c.Settings {
		out.Settings[key] = slices.Clone(raw)
	}
	return out
}

// normal returns a copy with the defaults filled in.
func (c Config) normal() Config {
	out := c.Clone()
	if out.Name == "" {
		out.Name = "Aalis"
	}
	if out.LogLevel == "" {
		out.LogLevel = "info"
	}
	return out
}

// Clone returns a copy that shares nothing with the original.
func (p PluginConfig) Clone() PluginConfig {
	p.Config = schema.Object{}.WithDefaults(p.Config)
	p.Requires = slices.Clone(p.Requires)
	return p
}

// module returns the name of the module that an instance id with this config means.
func (p PluginConfig) module(id InstanceID) string {
	if p.Module != "" {
		return p.Module
	}
	return id.Module
}

// ids lists the plugins in order of registration.
func (c Config) ids() []string { return slices.Sorted(maps.Keys(c.Plugins)) }

// catalog is the modules an App may run, by name.
type catalog map[string]Module

func newCatalog(modules []Module) (catalog, error) {
	c := make(catalog, len(modules))
	var errs []error
	for i, m := range modules {
		if err := m.check(); err != nil {
			errs = append(errs, fmt.Errorf("modules[%d]: %w", i, err))
			continue
		}
		if _, dup := c[m.Name]; dup {
			errs = append(errs, fmt.Errorf("modules[%d]: module %s is listed twice", i, m.Name))
			continue
		}
		c[m.Name] = m
	}
	return c, errors.Join(errs...)
}

// validate checks a whole config. Each problem names its path.
func (c catalog) validate(cfg Config) error {
	var errs []error
	if _, err := parseLevel(cfg.LogLevel); err != nil {
		errs = append(errs, err)
	}
	for _, id := range cfg.ids() {
		errs = append(errs, c.validatePlugin(id, cfg.Plugins[id])...)
	}
	for _, service := range slices.Sorted(maps.Keys(cfg.Preferences)) {
		errs = append(errs, validatePreference(service, cfg.Preferences[service])...)
	}
	for _, key := range slices.Sorted(maps.Keys(cfg.Settings)) {
		if raw := cfg.Settings[key]; len(raw) > 0 && !json.Valid(raw) {
			errs = append(errs, fmt.Errorf("%s: must be JSON", key))
		}
	}
	return errors.Join(errs...)
}

func (c catalog) validatePlugin(id string, p PluginConfig) (errs []error) {
	path := fmt.Sprintf("plugins[%s]", id)
	m, err := c.resolve(id, p)
	if err != nil {
		return []error{fmt.Errorf("%s: %w", path, err)}
	}
	if p.Disabled && m.Core {
		errs = append(errs, fmt.Errorf("%s.disabled: must not be true, because %s is a core module", path, m.Name))
	}
	for i, service := range p.Requires {
		if service == "" {
			errs = append(errs, fmt.Errorf("%s.requires[%d]: must be non-empty", path, i))
		}
	}
	for _, issue := range m.Config.Validate(p.Config) {
		errs = append(errs, fmt.Errorf("%s.config.%w", path, issue))
	}
	return errs
}

// resolve finds the module of an instance and checks that the id suits it.
func (c catalog) resolve(id string, p PluginConfig) (Module, error) {
	parsed, err := ParseInstanceID(id)
	if err != nil {
		return Module{}, err
	}
	name := p.module(parsed)
	m, ok := c[name]
	if !ok {
		return Module{}, errors.New(schema.UnknownName(fmt.Sprintf("unknown module %q", name), name, slices.Sorted(maps.Keys(c))))
	}
	return m, checkInstance(m, parsed)
}

// checkInstance reports whether a module may run under an id.
func checkInstance(m Module, id InstanceID) error {
	if id.Module != m.Name {
		return fmt.Errorf("instance id must begin with the module's name %s, got %q", m.Name, id.String())
	}
	if id.Suffix != "" && !m.Reusable {
		return fmt.Errorf("instance id must not have the suffix %q, because module %s is not reusable", id.Suffix, m.Name)
	}
	return nil
}

func validatePreference(service string, ids []string) (errs []error) {
	path := fmt.Sprintf("preferences[%s]", service)
	if service == "" {
		errs = append(errs, fmt.Errorf("%s: service must be non-empty", path))
	}
	for i, id := range ids {
		switch {
		case id == "":
			errs = append(errs, fmt.Errorf("%s[%d]: must be non-empty", path, i))
		case slices.Contains(ids[:i], id):
			errs = append(errs, fmt.Errorf("%s[%d]: must be listed once, got %q again", path, i, id))
		}
	}
	return errs
}
