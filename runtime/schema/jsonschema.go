// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package schema

// dialect is the JSON Schema version of JSONSchema.
const dialect = "https://json-schema.org/draft/2020-12/schema"

// JSONSchema returns the schema as JSON Schema draft 2020-12, for editors and documentation. It accepts what Validate
// accepts and slightly more: it counts maxLength in code points, which are never more than the UTF-16 code units.
func (o Object) JSONSchema() map[string]any {
	out := objectSchema(o.Fields)
	out["$schema"] = dialect
	return out
}

func objectSchema(fields []Field) map[string]any {
	properties := make(map[string]any, len(fields))
	var required []any
	for _, f := range fields {
		properties[f.Name] = fieldSchema(f)
		if f.Required && !f.HasDefault {
			required = append(required, f.Name)
		}
	}
	out := map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		out["required"] = required
	}
	return out
}

func fieldSchema(f Field) map[string]any {
	out := typeSchema(f)
	if f.Label != "" {
		out["title"] = f.Label
	}
	if f.Description != "" {
		out["description"] = f.Description
	}
	if f.HasDefault {
		out["default"] = clone(f.Default)
	}
	if f.Secret {
		out["writeOnly"] = true
	}
	if f.Min != nil {
		out["minimum"] = *f.Min
	}
	if f.Max != nil {
		out["maximum"] = *f.Max
	}
	if f.MaxLength != nil {
		out["maxLength"] = *f.MaxLength
	}
	if f.Pattern != "" {
		out["pattern"] = f.Pattern
	}
	return out
}

func typeSchema(f Field) map[string]any {
	switch f.Type {
	case String, Textarea:
		return map[string]any{"type": "string"}
	case Select:
		return choiceSchema(f)
	case MultiSelect:
		return map[string]any{"type": "array", "items": choiceSchema(f)}
	case Number, Integer, Boolean:
		return map[string]any{"type": string(f.Type)}
	case ObjectType:
		return objectSchema(f.Fields)
	case LLMRef:
		return objectSchema(llmRefFields)
	case Array:
		out := map[string]any{"type": "array"}
		if f.Items != nil {
			out["items"] = fieldSchema(*f.Items)
		}
		return out
	case Map:
		out := map[string]any{"type": "object"}
		if f.Items != nil {
			out["additionalProperties"] = fieldSchema(*f.Items)
		}
		return out
	default:
		return map[string]any{}
	}
}

func choiceSchema(f Field) map[string]any {
	out := map[string]any{"type": "string"}
	if len(f.Options) > 0 && !f.AllowCustom {
		values := make([]any, len(f.Options))
		for i, o := range f.Options {
			values[i] = o.Value
		}
		out["enum"] = values
	}
	return out
}
