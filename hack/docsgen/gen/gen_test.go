// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package gen_test

import (
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/aalis-dev/aalis-operator/hack/docsgen/gen"
	"github.com/aalis-dev/aalis-operator/runtime/catalog"
	"github.com/aalis-dev/aalis-operator/runtime/schema"
)

var update = flag.Bool("update", false, "write the golden files")

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

func TestAPI(t *testing.T) {
	crds, err := gen.LoadCRDs("testdata/crds")
	if err != nil {
		t.Fatal(err)
	}
	got, err := gen.API(crds)
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "api.golden.md", got)
	slices.Reverse(crds)
	again, err := gen.API(crds)
	if err != nil {
		t.Fatal(err)
	}
	if again != got {
		t.Error("the order of the CRDs changed the page")
	}
}

func TestAPINeedsASchema(t *testing.T) {
	crds, err := gen.LoadCRDs("testdata/crds")
	if err != nil {
		t.Fatal(err)
	}
	crds[0].Spec.Versions[0].Schema = nil
	if _, err := gen.API(crds); err == nil || !strings.Contains(err.Error(), "Lid v1: the version must have a schema") {
		t.Errorf("want an error that names the version, got %v", err)
	}
}

// TestEveryFieldIsDescribed walks the project's own CRDs without the generator's code.
func TestEveryFieldIsDescribed(t *testing.T) {
	crds, err := gen.LoadCRDs("../../../config/crd/bases")
	if err != nil {
		t.Fatal(err)
	}
	page, err := gen.API(crds)
	if err != nil {
		t.Fatal(err)
	}
	var walk func(path string, s apiextensionsv1.JSONSchemaProps)
	walk = func(path string, s apiextensionsv1.JSONSchemaProps) {
		for _, rule := range s.XValidations {
			if !strings.Contains(strings.ReplaceAll(page, `\`, ""), rule.Message) {
				t.Errorf("the page does not have the message %q", rule.Message)
			}
		}
		if s.Items != nil {
			walk(path+"[]", *s.Items.Schema)
		}
		for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
			child := strings.TrimPrefix(path+"."+name, ".")
			if path == "" && name != "spec" && name != "status" {
				continue
			}
			if !strings.Contains(page, "| `"+child+"` |") {
				t.Errorf("the page does not have the field %s", child)
			}
			walk(child, s.Properties[name])
		}
	}
	for _, crd := range crds {
		walk("", *crd.Spec.Versions[0].Schema.OpenAPIV3Schema)
	}
}

func TestLoadCRDsFails(t *testing.T) {
	tests := map[string]struct{ file, want string }{
		"nothing":       {"", "there is no *.yaml file"},
		"unknown field": {"kind: CustomResourceDefinition\nspecs: {}\n", "specs"},
		"another kind":  {"kind: ConfigMap\n", `kind must be CustomResourceDefinition, got "ConfigMap"`},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if tc.file != "" {
				if err := os.WriteFile(filepath.Join(dir, "a.yaml"), []byte(tc.file), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := gen.LoadCRDs(dir); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("want an error with %q, got %v", tc.want, err)
			}
		})
	}
}

func TestModules(t *testing.T) {
	low, high, length := 0.5, 2.0, 64
	c, err := catalog.New([]catalog.Module{
		{
			Name: "@aalis/plugin-pot", DisplayName: "Pot", Summary: "Holds | things.", Stability: "alpha", OnByDefault: true, Core: true,
			Provides: []string{"pot"}, Required: []string{"stove"}, Optional: []string{"lid", "salt"}, RequiresBounceOnDepChange: true,
			Config: schema.Object{Fields: []schema.Field{
				{Name: "heat", Type: schema.Number, Label: "Heat", Description: "How hot.", Default: 1.5, HasDefault: true, Min: &low, Max: &high},
				{Name: "key", Type: schema.String, Label: "Key", Secret: true, Required: true, MaxLength: &length, Pattern: "^a|b$"},
				{Name: "form", Type: schema.Select, Options: []schema.Option{{Value: "round"}, {Value: "flat"}}, AllowCustom: true, Default: "round", HasDefault: true},
				{Name: "lid", Type: schema.ObjectType, Fields: []schema.Field{{Name: "on", Type: schema.Boolean, Default: false, HasDefault: true}}},
				{Name: "steps", Type: schema.Array, Items: &schema.Field{Type: schema.ObjectType, Fields: []schema.Field{{Name: "what", Type: schema.Textarea}}}},
				{Name: "names", Type: schema.Map, Items: &schema.Field{Type: schema.ObjectType, Fields: []schema.Field{{Name: "first", Type: schema.String}}}},
			}},
		},
		{Name: "@vendor/oven", Summary: "Bakes.", Reusable: true, Permissions: []string{"network", "exec"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	got := gen.Modules(c)
	golden(t, "modules.golden.md", got)
	slices.Reverse(c.Modules)
	if gen.Modules(c) != got {
		t.Error("the order of the modules changed the page")
	}
}
