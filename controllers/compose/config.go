// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package compose

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
	"github.com/aalis-dev/aalis-operator/runtime/schema"
)

var (
	secretKey  = regexp.MustCompile(`^[-._a-zA-Z0-9]{1,253}$`)
	secretName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$`)
)

// moduleConfig decodes, checks and completes the config of an entry, and reports whether it may be delivered. Defaults stay
// out of it: they belong to the image. The mistakes of a plugin that is disabled do not count as errors, so that
// disabling a plugin is a way out of them; its config is then left out.
func (c *composer) moduleConfig(e *entry) (cfg map[string]any, ok bool) {
	k := &configCheck{c: c, e: e, path: e.path + ".config", severity: SeverityError, ok: true}
	if e.disabled {
		k.severity = SeverityInfo
	}
	if e.raw != nil && len(e.raw.Raw) > 0 {
		if err := json.Unmarshal(e.raw.Raw, &cfg); err != nil {
			k.bad(k.path, "must be an object, %s", notAnObject(err))
			return nil, false
		}
	}
	inline := inlineSecrets("", e.module.Config.Fields, cfg)
	for _, path := range inline {
		k.bad(k.path+"."+path, "is a secret and may not be written here: put it into a Secret and name that in spec.secrets of a Plugin, with path: %s", path)
	}
	k.secrets(cfg)
	for _, issue := range e.module.Config.Validate(cfg) {
		if !slices.Contains(inline, issue.Path) {
			k.issue(issue)
		}
	}
	k.models(k.path, e.module.Config.Fields, cfg)
	if len(cfg) == 0 {
		cfg = nil
	}
	return cfg, k.ok
}

// notAnObject says in plain words why JSON does not decode into an object.
func notAnObject(err error) string {
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) && wrong.Field == "" {
		return "got " + wrong.Value
	}
	return "got JSON that cannot be read: " + err.Error()
}

// configCheck checks the config of one entry.
type configCheck struct {
	c        *composer
	e        *entry
	path     string // of the config in its object
	severity Severity
	ok       bool
}

func (k *configCheck) bad(path, format string, args ...any) {
	k.because(v1alpha1.ReasonInvalidConfig, path, format, args...)
}

func (k *configCheck) because(reason, path, format string, args ...any) {
	k.ok = false
	k.c.at(k.severity, reason, k.e.object, path, format, args...)
}

// issue reports what the schema finds wrong. What a Secret provides is not missing.
func (k *configCheck) issue(issue schema.Issue) {
	path := k.path + "." + issue.Path
	missing := issue.Kind == schema.Missing
	switch {
	case missing && k.c.fromSecret(k.e, issue.Path):
	case !missing || !slices.Contains(k.e.module.Config.SecretPaths(), issue.Path):
		k.bad(path, "%s", issue.Message)
	case k.e.inline():
		k.bad(path, "must come from a Secret: declare a Plugin of module %s with an entry in spec.secrets with path: %s, and list that", k.e.module.Name, issue.Path)
	default:
		k.bad(k.e.path+".secrets", "must have an entry with path: %s, which module %s requires", issue.Path, k.e.module.Name)
	}
}

func (c *composer) fromSecret(e *entry, path string) bool {
	return slices.ContainsFunc(e.secrets, func(s v1alpha1.PluginSecret) bool { return s.Path == path })
}

// secrets checks that each entry of spec.secrets fills a text of the config that is not also written inline.
func (k *configCheck) secrets(cfg map[string]any) {
	e, seen := k.e, map[string]bool{}
	for _, s := range e.secrets {
		at := func(field, format string, args ...any) {
			k.bad(e.path+".secrets["+s.Path+"]"+field, format, args...)
		}
		if seen[s.Path] {
			at("", "may not be listed twice")
			continue
		}
		seen[s.Path] = true
		f, known := fieldAt(e.module.Config.Fields, s.Path)
		switch {
		case f == nil:
			at(".path", "%s", schema.UnknownName("module "+e.module.Name+" has no such config field", s.Path, known))
		case f.Type != schema.String && f.Type != schema.Textarea:
			at(".path", "must name a text, and %s is of type %s", s.Path, f.Type)
		case !f.Secret && valueAt(cfg, s.Path):
			at("", "is also written in spec.config; keep one of the two")
		}
		if !secretName.MatchString(s.SecretKeyRef.Name) {
			at(".secretKeyRef.name", "must be the name of a Secret: lower case letters, digits, '-' and '.', got %q", s.SecretKeyRef.Name)
		}
		if key := s.SecretKeyRef.Key; !secretKey.MatchString(key) || key == "." || strings.HasPrefix(key, "..") {
			at(".secretKeyRef.key", "must be a Secret key: letters, digits, '-', '_' and '.' only, got %q", key)
		}
	}
}

// fieldAt finds the field at a dotted path through objects. If there is none it returns the names known where the search
// ended, each with the path that leads to it.
func fieldAt(fields []schema.Field, path string) (*schema.Field, []string) {
	head, rest, nested := strings.Cut(path, ".")
	var known []string
	for i := range fields {
		f := &fields[i]
		switch {
		case f.Name != head:
			known = append(known, f.Name)
		case !nested:
			return f, nil
		default:
			found, below := fieldAt(f.Fields, rest)
			for j := range below {
				below[j] = head + "." + below[j]
			}
			return found, below
		}
	}
	return nil, known
}

// valueAt reports whether the config has a value at a dotted path.
func valueAt(cfg map[string]any, path string) bool {
	head, rest, nested := strings.Cut(path, ".")
	if !nested {
		return cfg[head] != nil
	}
	inner, ok := cfg[head].(map[string]any)
	return ok && valueAt(inner, rest)
}

// inlineSecrets lists the paths of secret fields that have a value in the config itself, an empty one included.
func inlineSecrets(prefix string, fields []schema.Field, cfg map[string]any) []string {
	var out []string
	for _, f := range fields {
		out = append(out, secretsIn(prefix+f.Name, f, cfg[f.Name])...)
	}
	return out
}

func secretsIn(path string, f schema.Field, value any) []string {
	if f.Secret {
		if value == nil {
			return nil
		}
		return []string{path}
	}
	var out []string
	switch v := value.(type) {
	case map[string]any:
		if f.Type == schema.ObjectType {
			return inlineSecrets(path+".", f.Fields, v)
		}
		for _, k := range slices.Sorted(maps.Keys(v)) {
			if f.Items != nil {
				out = append(out, secretsIn(path+"."+k, *f.Items, v[k])...)
			}
		}
	case []any:
		for i, e := range v {
			if f.Items != nil {
				out = append(out, secretsIn(fmt.Sprintf("%s[%d]", path, i), *f.Items, e)...)
			}
		}
	}
	return out
}

// models replaces, in every model reference of the config, the name by which people call a plugin with its instance id,
// which is what a kernel knows. cfg is the composer's own copy.
func (k *configCheck) models(path string, fields []schema.Field, cfg map[string]any) {
	for _, f := range fields {
		k.modelsIn(path+"."+f.Name, f, cfg[f.Name])
	}
}

func (k *configCheck) modelsIn(path string, f schema.Field, value any) {
	switch v := value.(type) {
	case map[string]any:
		switch {
		case f.Type == schema.LLMRef:
			k.model(path, v)
		case f.Type == schema.ObjectType:
			k.models(path, f.Fields, v)
		case f.Items != nil:
			for _, key := range slices.Sorted(maps.Keys(v)) {
				k.modelsIn(path+"."+key, *f.Items, v[key])
			}
		}
	case []any:
		for i, item := range v {
			if f.Items != nil {
				k.modelsIn(fmt.Sprintf("%s[%d]", path, i), *f.Items, item)
			}
		}
	}
}

func (k *configCheck) model(path string, ref map[string]any) {
	name, ok := ref["plugin"].(string)
	if !ok || name == "" || k.c.byID(name) != nil {
		return
	}
	target, message := k.c.provider(name, llmService)
	switch {
	case message != "":
		k.because(v1alpha1.ReasonModelNotFound, path+".plugin", "%s", message)
	case target != nil:
		ref["plugin"] = target.id
	}
}
