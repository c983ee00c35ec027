// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package gen

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// API describes every kind of the CRDs: each field with its type, bounds and default, and what the rules say. It is an
// error if a version has no schema.
func API(crds []apiextensionsv1.CustomResourceDefinition) (string, error) {
	crds = slices.Clone(crds)
	slices.SortFunc(crds, func(a, b apiextensionsv1.CustomResourceDefinition) int {
		return strings.Compare(a.Spec.Names.Kind, b.Spec.Names.Kind)
	})
	var b strings.Builder
	b.WriteString(generated)
	b.WriteString("# API reference\n\n")
	b.WriteString("Every field of every kind. `kubectl explain` shows the same texts. In a path, `[]` is each element of a list " +
		"and `{}` each value of a map.\n\n")
	for _, crd := range crds {
		fmt.Fprintf(&b, "- [%s](#%s)\n", crd.Spec.Names.Kind, strings.ToLower(crd.Spec.Names.Kind))
	}
	for _, crd := range crds {
		for _, version := range crd.Spec.Versions {
			if version.Schema == nil || version.Schema.OpenAPIV3Schema == nil {
				return "", fmt.Errorf("describing %s %s: the version must have a schema", crd.Spec.Names.Kind, version.Name)
			}
			writeKind(&b, crd, version)
		}
	}
	return b.String(), nil
}

func writeKind(b *strings.Builder, crd apiextensionsv1.CustomResourceDefinition, version apiextensionsv1.CustomResourceDefinitionVersion) {
	names := crd.Spec.Names
	root := *version.Schema.OpenAPIV3Schema
	fmt.Fprintf(b, "\n## %s\n\n", names.Kind)
	if text := brief(root.Description); text != "" {
		b.WriteString(text + "\n\n")
	}
	fmt.Fprintf(b, "%s, %s. `kubectl get %s`", code("apiVersion: "+crd.Spec.Group+"/"+version.Name), strings.ToLower(string(crd.Spec.Scope)), names.Plural)
	if len(names.ShortNames) > 0 {
		b.WriteString("; short: " + codes(names.ShortNames))
	}
	b.WriteString(".\n")
	w := &fieldWriter{}
	w.rules = append(w.rules, ruleLines("", root)...)
	for _, name := range slices.Sorted(maps.Keys(root.Properties)) {
		switch name {
		case "apiVersion", "kind", "metadata":
			continue
		}
		w.field(name, root.Properties[name], slices.Contains(root.Required, name))
	}
	if len(w.fields.rows) > 0 {
		b.WriteString("\n")
		w.fields.header = []string{"Field", "Type", "Required", "Default", "Bounds", "Description"}
		w.fields.write(b)
	}
	if len(w.rules) > 0 {
		b.WriteString("\nRules:\n\n" + strings.Join(w.rules, ""))
	}
}

// fieldWriter collects the fields of a kind, each before those inside it, and the rules on them.
type fieldWriter struct {
	fields table
	rules  []string
}

func (w *fieldWriter) field(path string, s apiextensionsv1.JSONSchemaProps, required bool) {
	must := ""
	if required {
		must = "yes"
	}
	value := ""
	if s.Default != nil {
		value = code(string(s.Default.Raw))
	}
	w.fields.add(code(path), typeOf(s), must, value, boundsOf(s), brief(s.Description))
	w.rules = append(w.rules, ruleLines(path, s)...)
	w.inside(path, s)
}

// inside goes on with what a field holds.
func (w *fieldWriter) inside(path string, s apiextensionsv1.JSONSchemaProps) {
	if s.Items != nil && s.Items.Schema != nil {
		w.rules = append(w.rules, ruleLines(path+"[]", *s.Items.Schema)...)
		w.inside(path+"[]", *s.Items.Schema)
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		w.rules = append(w.rules, ruleLines(path+"{}", *s.AdditionalProperties.Schema)...)
		w.inside(path+"{}", *s.AdditionalProperties.Schema)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		w.field(path+"."+name, s.Properties[name], slices.Contains(s.Required, name))
	}
}

func ruleLines(path string, s apiextensionsv1.JSONSchemaProps) []string {
	var out []string
	for _, rule := range s.XValidations {
		message := prose(rule.Message)
		if message == "" {
			message = "must fulfil " + code(rule.Rule)
		}
		if path != "" {
			message = code(path) + ": " + message
		}
		out = append(out, "- "+message+"\n")
	}
	return out
}
