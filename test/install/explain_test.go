// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	sigsyaml "sigs.k8s.io/yaml"
)

// crds reads the kinds of this project.
func crds(t *testing.T) []apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, "config", "crd", "bases", "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no CRDs: %v", err)
	}
	var out []apiextensionsv1.CustomResourceDefinition
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var crd apiextensionsv1.CustomResourceDefinition
		if err := sigsyaml.UnmarshalStrict(data, &crd); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		out = append(out, crd)
	}
	return out
}

// TestEveryFieldIsExplained: kubectl explain has a text for every field, down to the last.
func TestEveryFieldIsExplained(t *testing.T) {
	for _, crd := range crds(t) {
		for _, version := range crd.Spec.Versions {
			schema := version.Schema.OpenAPIV3Schema
			if schema.Description == "" {
				t.Errorf("%s has no description", crd.Spec.Names.Kind)
			}
			fields := 0
			for _, name := range []string{"spec", "status"} {
				if part, ok := schema.Properties[name]; ok {
					fields += explained(t, crd.Spec.Names.Kind+"."+name, part)
				}
			}
			if fields < 10 {
				t.Errorf("%s has only %d fields", crd.Spec.Names.Kind, fields)
			}
		}
	}
}

// explained checks a field and all below it, and counts them.
func explained(t *testing.T, path string, field apiextensionsv1.JSONSchemaProps) int {
	t.Helper()
	if field.Description == "" {
		t.Errorf("%s has no description", path)
	}
	fields := 1
	for _, inner := range []apiextensionsv1.JSONSchemaProps{field, itemOf(field), valueOf(field)} {
		for name, property := range inner.Properties {
			fields += explained(t, path+"."+name, property)
		}
	}
	return fields
}

func itemOf(field apiextensionsv1.JSONSchemaProps) (out apiextensionsv1.JSONSchemaProps) {
	if field.Items != nil && field.Items.Schema != nil {
		out = *field.Items.Schema
	}
	return out
}

func valueOf(field apiextensionsv1.JSONSchemaProps) (out apiextensionsv1.JSONSchemaProps) {
	if field.AdditionalProperties != nil && field.AdditionalProperties.Schema != nil {
		out = *field.AdditionalProperties.Schema
	}
	return out
}

// TestKubectlGet: every kind with a long name has a short one of its own, is among "kubectl get aalis", and shows its age and whether it is
// ready, if it can be.
func TestKubectlGet(t *testing.T) {
	taken := map[string]string{}
	for _, crd := range crds(t) {
		names := crd.Spec.Names
		if len(names.ShortNames) == 0 && len(names.Singular) > 8 || !slices.Contains(names.Categories, "aalis") {
			t.Errorf("%s has the short names %v and categories %v", names.Kind, names.ShortNames, names.Categories)
		}
		for _, short := range slices.Concat(names.ShortNames, []string{names.Singular, names.Plural}) {
			if other, ok := taken[short]; ok && other != names.Kind {
				t.Errorf("%s and %s are both called %s", other, names.Kind, short)
			}
			taken[short] = names.Kind
		}
		for _, version := range crd.Spec.Versions {
			var columns []string
			for _, c := range version.AdditionalPrinterColumns {
				columns = append(columns, c.Name)
			}
			want := []string{"Age"}
			if _, ok := version.Schema.OpenAPIV3Schema.Properties["status"].Properties["conditions"]; ok {
				want = append(want, "Ready")
			}
			for _, column := range want {
				if !slices.Contains(columns, column) {
					t.Errorf("%s has the columns %v, and not %s", names.Kind, columns, column)
				}
			}
		}
	}
}

// TestNewObjectsAreNotDone: an object that the operator has not looked at has another observedGeneration than its own, so
// that kstatus does not call it current.
func TestNewObjectsAreNotDone(t *testing.T) {
	for _, crd := range crds(t) {
		for _, version := range crd.Spec.Versions {
			status := version.Schema.OpenAPIV3Schema.Properties["status"]
			if _, ok := status.Properties["observedGeneration"]; !ok {
				continue
			}
			if status.Default == nil || string(status.Default.Raw) != `{"observedGeneration":-1}` {
				t.Errorf("%s: status has the default %v, want {\"observedGeneration\":-1}", crd.Spec.Names.Kind, status.Default)
			}
		}
	}
}
