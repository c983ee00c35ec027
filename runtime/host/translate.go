// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aalis-dev/aalis-operator/runtime/host/secrets"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
	"github.com/aalis-dev/aalis-operator/runtime/kernelconfig"
	"github.com/aalis-dev/aalis-operator/runtime/schema"
)

// The top-level config keys that the host sets.
const (
	settingPersona   = "persona"
	settingPersonas  = "personas"
	settingModel     = "model"
	settingAuthority = "authority"
	settingBudgets   = "budgets"
	settingLanguage  = "language"
	settingFallback  = "fallbackOn"
)

// translator makes kernel configs from composed ones.
type translator struct {
	modules map[string]kernel.Module
	source  secrets.Source
	// settings are added to those of the config.
	settings map[string]json.RawMessage
	// logLevel overrides that of the config unless empty.
	logLevel string
}

func newTranslator(modules []kernel.Module, source secrets.Source, settings map[string]json.RawMessage, logLevel string) translator {
	t := translator{modules: make(map[string]kernel.Module, len(modules)), source: source, settings: settings, logLevel: logLevel}
	for _, m := range modules {
		t.modules[m.Name] = m
	}
	return t
}

// translation is a kernel config and what became of its secrets.
type translation struct {
	config kernel.Config
	// services are the names secret:NAME/KEY whose values are at hand, sorted.
	services []string
	// problems say by plugin why a Secret that is there cannot be used.
	problems map[string][]string
	// trimmed lists the keys whose values lost trailing line breaks.
	trimmed []secrets.Key
	// drain is how long plugins may drain.
	drain time.Duration
}

// translate reads the secrets as they are now. Its errors are reasons to refuse the config.
func (t translator) translate(c kernelconfig.Config) (translation, error) {
	out := translation{
		drain: drainTimeout(c),
		config: kernel.Config{
			Name: c.Name, LogLevel: c.LogLevel,
			Plugins:     make(map[string]kernel.PluginConfig, len(c.Plugins)),
			Preferences: make(map[string][]string, len(c.Preferences)),
		},
		problems: map[string][]string{},
	}
	if t.logLevel != "" {
		out.config.LogLevel = t.logLevel
	}
	for _, p := range c.Preferences {
		out.config.Preferences[p.Service] = slices.Clone(p.Prefer)
	}
	var errs []error
	for _, p := range c.Plugins {
		if _, dup := out.config.Plugins[p.ID]; dup {
			errs = append(errs, fmt.Errorf("plugins[%s]: listed twice", p.ID))
			continue
		}
		cfg, err := t.plugin(p, &out)
		if err != nil {
			errs = append(errs, fmt.Errorf("plugins[%s]: %w", p.ID, err))
		}
		out.config.Plugins[p.ID] = cfg
	}
	settings, err := t.topLevel(c)
	if err != nil {
		errs = append(errs, err)
	}
	out.config.Settings = settings
	slices.Sort(out.services)
	out.services = slices.Compact(out.services)
	return out, errors.Join(errs...)
}

func (t translator) topLevel(c kernelconfig.Config) (map[string]json.RawMessage, error) {
	values := map[string]any{}
	if c.Persona != nil {
		values[settingPersona] = c.Persona
	}
	if len(c.Personas) > 0 {
		values[settingPersonas] = c.Personas
	}
	if c.Model != nil {
		values[settingModel] = c.Model
	}
	if c.Authority != nil {
		values[settingAuthority] = c.Authority
	}
	if len(c.Budgets) > 0 {
		values[settingBudgets] = c.Budgets
	}
	if c.Language != "" {
		values[settingLanguage] = c.Language
	}
	if on := fallbackOn(c.Preferences); len(on) > 0 {
		values[settingFallback] = on
	}
	out := make(map[string]json.RawMessage, len(values)+len(t.settings))
	for key, raw := range t.settings {
		out[key] = raw
	}
	for key, v := range values {
		raw, err := json.Marshal(v)
		if err != nil {
			return nil, fmt.Errorf("encoding %s: %w", key, err)
		}
		out[key] = raw
	}
	return out, nil
}

// fallbackOn lists by service for which causes a failed call goes to the next preferred provider.
func fallbackOn(preferences []kernelconfig.Preference) map[string][]string {
	out := map[string][]string{}
	for _, p := range preferences {
		if len(p.FallbackOn) > 0 {
			out[p.Service] = p.FallbackOn
		}
	}
	return out
}

// plugin fills the secrets into a copy of a plugin's config. A field whose value is not at hand holds an empty text, so
// that a required field does not make the whole config wrong: the plugin waits for the service of the key anyway.
func (t translator) plugin(p kernelconfig.Plugin, out *translation) (kernel.PluginConfig, error) {
	cfg := kernel.PluginConfig{Module: p.Module, Disabled: p.Disabled, Config: schema.Object{}.WithDefaults(p.Config)}
	for _, s := range p.Secrets {
		if err := setPath(cfg.Config, s.Path, ""); err != nil {
			return cfg, err
		}
	}
	if p.Disabled {
		return cfg, nil
	}
	for _, s := range p.Secrets {
		service := s.Service()
		v, err := t.secret(t.modules[p.Module].Config, cfg.Config, s)
		var problem *secrets.ProblemError
		switch {
		case err == nil:
			out.services = append(out.services, service)
			if v.Trimmed {
				out.trimmed = append(out.trimmed, keyOf(s))
			}
		case errors.As(err, &problem):
			// Another plugin may be able to use the value, so this one waits for a service of its own.
			service = refusedService(s, p.ID)
			out.problems[p.ID] = append(out.problems[p.ID], problem.Error())
		}
		if !slices.Contains(cfg.Requires, service) {
			cfg.Requires = append(cfg.Requires, service)
		}
	}
	return cfg, nil
}

// refusedService is a service that nobody provides: it keeps a plugin pending whose Secret value cannot be used.
func refusedService(s kernelconfig.Secret, plugin string) string {
	return s.Service() + " in " + plugin + " config." + s.Path
}

func keyOf(s kernelconfig.Secret) secrets.Key { return secrets.Key{Name: s.Name, Key: s.Key} }

// secret reads one value, checks that the field takes it, and puts it into the config, whose path setPath has made.
func (t translator) secret(object schema.Object, cfg map[string]any, s kernelconfig.Secret) (secrets.Value, error) {
	field, _ := findField(object.Fields, s.Path)
	v, err := secrets.Read(t.source, keyOf(s), field.Type == schema.Textarea)
	if err != nil {
		return v, err
	}
	if err := setPath(cfg, s.Path, v.Text); err != nil {
		return v, err
	}
	for _, issue := range object.Validate(cfg) {
		if issue.Path == s.Path && issue.Kind == schema.Invalid {
			problem := "the value does not fit config." + s.Path + ": it " + issue.Message
			return v, errors.Join(&secrets.ProblemError{Key: keyOf(s), Problem: problem}, setPath(cfg, s.Path, ""))
		}
	}
	return v, nil
}

// findField finds the schema of a dotted path.
func findField(fields []schema.Field, path string) (schema.Field, bool) {
	name, rest, nested := strings.Cut(path, ".")
	i := slices.IndexFunc(fields, func(f schema.Field) bool { return f.Name == name })
	if i < 0 {
		return schema.Field{}, false
	}
	if nested {
		return findField(fields[i].Fields, rest)
	}
	return fields[i], true
}

// setPath sets the value at a dotted path, making the objects on the way.
func setPath(cfg map[string]any, path, value string) error {
	at := cfg
	parts := strings.Split(path, ".")
	for i, part := range parts[:len(parts)-1] {
		next, ok := at[part].(map[string]any)
		if !ok && at[part] != nil {
			return fmt.Errorf("config.%s: must be an object, because a Secret fills config.%s", strings.Join(parts[:i+1], "."), path)
		}
		if !ok {
			next = map[string]any{}
			at[part] = next
		}
		at = next
	}
	at[parts[len(parts)-1]] = value
	return nil
}
