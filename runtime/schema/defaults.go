// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package schema

// Defaults returns the config that holds every default: fields with a default produce their key, false, 0 and "" included;
// an object produces its key unless its default is null; other fields produce none. The result is the caller's own.
func (o Object) Defaults() map[string]any {
	out := make(map[string]any, len(o.Fields))
	for _, f := range o.Fields {
		switch {
		case f.HasDefault && f.Default != nil:
			out[f.Name] = clone(f.Default)
		case f.HasDefault:
		case f.Type == ObjectType:
			out[f.Name] = Object{Fields: f.Fields}.Defaults()
		}
	}
	return out
}

// WithDefaults returns a copy of cfg in which missing keys hold their defaults, in nested objects too. What is there is
// never changed: arrays and scalars stay as they are, null included. Neither cfg nor the result shares data with the other.
func (o Object) WithDefaults(cfg map[string]any) map[string]any {
	out := make(map[string]any, len(cfg)+len(o.Fields))
	for k, v := range cfg {
		out[k] = clone(v)
	}
	for _, f := range o.Fields {
		value, given := out[f.Name]
		if f.Type == ObjectType {
			if m, ok := value.(map[string]any); ok || !given && !f.HasDefault {
				out[f.Name] = Object{Fields: f.Fields}.WithDefaults(m)
				continue
			}
		}
		if !given && f.HasDefault && f.Default != nil {
			out[f.Name] = clone(f.Default)
		}
	}
	return out
}

// clone deep-copies a value of the kinds encoding/json produces; anything else is taken over as it is.
func clone(v any) any {
	switch v := v.(type) {
	case map[string]any:
		if v == nil {
			return v
		}
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[k] = clone(e)
		}
		return out
	case []any:
		if v == nil {
			return v
		}
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = clone(e)
		}
		return out
	default:
		return v
	}
}

// SecretPaths lists the paths of the fields that must come from a Secret, in schema order, joined by dots. A secret inside
// the elements of an array or a map is written with "[]" or "*" for the element: "keys[].token", "headers.*".
func (o Object) SecretPaths() []string { return secretPaths("", o.Fields) }

func secretPaths(prefix string, fields []Field) []string {
	var out []string
	for _, f := range fields {
		out = append(out, fieldSecrets(join(prefix, f.Name), f)...)
	}
	return out
}

func fieldSecrets(path string, f Field) []string {
	switch {
	case f.Secret:
		return []string{path}
	case f.Type == ObjectType:
		return secretPaths(path, f.Fields)
	case f.Items != nil && f.Type == Array:
		return fieldSecrets(path+"[]", *f.Items)
	case f.Items != nil && f.Type == Map:
		return fieldSecrets(join(path, "*"), *f.Items)
	}
	return nil
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}
