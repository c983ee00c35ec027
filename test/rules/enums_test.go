// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package rules_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// yamlBooleans are what YAML 1.1, which kubectl and most editors read, takes for true or false.
var yamlBooleans = []string{"y", "yes", "n", "no", "true", "false", "on", "off"}

// booleansIn finds enum values that people cannot write without quotes.
func booleansIn(path string, node any) (found []string) {
	switch v := node.(type) {
	case map[string]any:
		for key, child := range v {
			if values, ok := child.([]any); ok && key == "enum" {
				for _, value := range values {
					if s, ok := value.(string); ok && slices.Contains(yamlBooleans, strings.ToLower(s)) {
						found = append(found, path+": "+s)
					}
				}
			}
			found = append(found, booleansIn(path+"."+key, child)...)
		}
	case []any:
		for _, child := range v {
			found = append(found, booleansIn(path, child)...)
		}
	}
	return found
}

// TestNoEnumValueIsABooleanInYAML: "confirm: Off" reaches the API server as false, and is refused with a message that
// nobody understands.
func TestNoEnumValueIsABooleanInYAML(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "..", "config", "crd", "bases", "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var crd map[string]any
		if err := yaml.Unmarshal(data, &crd); err != nil {
			t.Fatal(err)
		}
		spec, _ := crd["spec"].(map[string]any)
		versions, _ := spec["versions"].([]any)
		for _, v := range versions {
			version, _ := v.(map[string]any)
			schema, _ := version["schema"].(map[string]any)
			top, _ := schema["openAPIV3Schema"].(map[string]any)
			properties, _ := top["properties"].(map[string]any)
			for _, f := range booleansIn("spec", properties["spec"]) {
				t.Errorf("%s: %s", filepath.Base(file), f)
			}
		}
	}
	if got := booleansIn("x", map[string]any{"a": map[string]any{"enum": []any{"Off", "Never"}}}); !slices.Equal(got, []string{"x.a: Off"}) {
		t.Errorf("the check finds %v", got)
	}
}
