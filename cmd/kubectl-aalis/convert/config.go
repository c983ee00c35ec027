// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
	"github.com/aalis-dev/aalis-operator/runtime/schema"
)

// convertConfig makes the config of a plugin what the module takes: secrets leave it, references get their new form, what
// the module does not know or refuses is left out with a note.
func (c *converter) convertConfig(p *plugin) {
	w := walker{c: c, p: p}
	w.object("", p.module.Config.Fields, p.config)
	for range len(p.config) {
		if !c.dropInvalid(p) {
			return
		}
	}
}

// dropInvalid leaves out the values that the module refuses.
func (c *converter) dropInvalid(p *plugin) bool {
	dropped := false
	for _, issue := range p.module.Config.Validate(p.config) {
		root := strings.FieldsFunc(issue.Path, func(r rune) bool { return r == '.' || r == '[' })
		if issue.Kind == schema.Missing || len(root) == 0 {
			continue // the operator tells of it below
		}
		if _, there := p.config[root[0]]; there {
			c.note(p.path+"."+issue.Path, "%s; %s left out", issue.Message, root[0])
			delete(p.config, root[0])
			dropped = true
		}
	}
	return dropped
}

// walker goes through one config with its schema.
type walker struct {
	c *converter
	p *plugin
}

func (w walker) note(path, format string, args ...any) {
	w.c.note(w.p.path+"."+path, format, args...)
}

func (w walker) object(path string, fields []schema.Field, config map[string]any) {
	for _, key := range slices.Sorted(maps.Keys(config)) {
		below := key
		if path != "" {
			below = path + "." + key
		}
		at := slices.IndexFunc(fields, func(f schema.Field) bool { return f.Name == key })
		if at < 0 {
			known := make([]string, 0, len(fields))
			for _, f := range fields {
				known = append(known, f.Name)
			}
			w.note(below, "%s; left out", schema.UnknownName("module "+w.p.module.Name+" has no such field", key, known))
			delete(config, key)
			continue
		}
		value, keep := w.value(below, fields[at], config[key])
		if !keep {
			delete(config, key)
			continue
		}
		config[key] = value
	}
}

// value converts one value and says whether it stays.
func (w walker) value(path string, f schema.Field, value any) (any, bool) {
	if value == nil {
		return nil, false
	}
	switch {
	case f.Secret:
		w.secret(path, value)
		return nil, false
	case f.Type == schema.LLMRef:
		return w.model(path, value)
	case f.Type == schema.String && f.Name == "persona":
		if name, ok := value.(string); ok && w.c.cards[name] != "" {
			return w.c.cards[name], true
		}
	}
	switch v := value.(type) {
	case map[string]any:
		w.members(path, f, v)
	case []any:
		return w.elements(path, f, v), true
	}
	return value, true
}

// members converts the values of an object or of a map.
func (w walker) members(path string, f schema.Field, v map[string]any) {
	switch {
	case f.Type == schema.ObjectType:
		w.object(path, f.Fields, v)
	case f.Type == schema.Map && f.Items != nil:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			w.item(path+"."+key, *f.Items, v, key)
		}
	}
}

// elements converts the elements of a list.
func (w walker) elements(path string, f schema.Field, v []any) []any {
	if f.Items == nil {
		return v
	}
	out := make([]any, 0, len(v))
	for i := range v {
		if item, keep := w.value(fmt.Sprintf("%s[%d]", path, i), *f.Items, v[i]); keep {
			out = append(out, item)
		}
	}
	return out
}

func (w walker) item(path string, f schema.Field, config map[string]any, key string) {
	if value, keep := w.value(path, f, config[key]); keep {
		config[key] = value
	} else {
		delete(config, key)
	}
}

// secret moves a value out of the config.
func (w walker) secret(path string, value any) {
	text, ok := value.(string)
	switch {
	case !ok:
		w.note(path, "must be a text; left out")
		return
	case strings.ContainsAny(path, "[]"), !slices.Contains(w.p.module.Config.SecretPaths(), path):
		w.note(path, "is a secret at a place that no Secret can fill; left out")
		return
	}
	name := slug(w.c.bot.Name+"-"+w.p.name, "secret", maxLabel)
	ref := w.c.secretKey(name, slug(path, "key", maxLabel), text)
	w.p.secrets = append(w.p.secrets, v1alpha1.PluginSecret{Path: path, SecretKeyRef: ref})
	w.note(path, "is a secret: it is read from the key %s of the Secret %s, which you must create", ref.Key, ref.Name)
}

// model converts a reference to a model: {provider: instance id, model} becomes {plugin: name, id}.
func (w walker) model(path string, value any) (any, bool) {
	ref, ok := value.(map[string]any)
	if !ok {
		w.note(path, "must be a map of provider and model; left out")
		return nil, false
	}
	provider, _ := first(ref, "provider", "plugin").(string)
	model, _ := first(ref, "model", "id").(string)
	if provider == "" && model == "" {
		return nil, false
	}
	name, found := w.c.byID(provider)
	if !found {
		w.note(path, "there is no plugin %q to provide model %q; left out", provider, model)
		return nil, false
	}
	for _, key := range slices.Sorted(maps.Keys(ref)) {
		if !slices.Contains([]string{"provider", "plugin", "model", "id"}, key) {
			w.note(path+"."+key, "a reference to a model has no such field; left out")
		}
	}
	return map[string]any{"plugin": name, "id": model}, true
}

func first(m map[string]any, keys ...string) any {
	for _, k := range keys {
		if m[k] != nil {
			return m[k]
		}
	}
	return nil
}
