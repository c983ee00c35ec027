// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package rules_test

import (
	"os"
	"strings"
	"testing"

	"github.com/aalis-dev/aalis-operator/test/rules"
)

func readTree(t *testing.T) rules.Tree {
	t.Helper()
	tree, err := rules.ReadTree(os.DirFS("../.."))
	if err != nil {
		t.Fatal(err)
	}
	if len(tree.Go) == 0 || tree.Text["go.mod"] == "" {
		t.Fatal("this is not the root of the repository")
	}
	return tree
}

// TestTheTree applies every rule to the repository itself.
func TestTheTree(t *testing.T) {
	tree := readTree(t)
	tests := map[string]func() []rules.Finding{
		"licence header":          func() []rules.Finding { return rules.Licence(tree.Go) },
		"file length":             func() []rules.Finding { return rules.Length(tree.Go) },
		"package comments":        func() []rules.Finding { return rules.PackageComments(tree.Go) },
		"no package runtime":      func() []rules.Finding { return rules.PackageNames(tree.Go) },
		"no bare go in plugins":   func() []rules.Finding { return rules.BareGo(tree.Go) },
		"every plugin has a test": func() []rules.Finding { return rules.PluginTests(tree.Go) },
		"import table":            func() []rules.Finding { return rules.Imports(tree.Go) },
		"links":                   func() []rules.Finding { return rules.Links(tree) },
		// The tools' modules are not for import; some of what they build can be built only with replacements.
		"no replace": func() []rules.Finding { return rules.Replace("go.mod", tree.Text["go.mod"]) },
		"documented": func() []rules.Finding {
			var files []rules.GoFile
			for _, f := range tree.Go {
				if f.Under("api") || f.Under("runtime/kernel") || f.Under("runtime/contract") {
					files = append(files, f)
				}
			}
			return rules.Documented(files)
		},
	}
	for name, rule := range tests {
		t.Run(name, func(t *testing.T) {
			for _, finding := range rule() {
				t.Error(finding)
			}
		})
	}
}

// TestTheTreeIsWhole fails when a rule would look at nothing because a folder has moved.
func TestTheTreeIsWhole(t *testing.T) {
	tree := readTree(t)
	for _, folder := range []string{"api", "cmd", "controllers", "hack", "runtime/contract", "runtime/kernel", "runtime/plugins", "test"} {
		found := false
		for _, f := range tree.Go {
			found = found || f.Under(folder)
		}
		if !found {
			t.Errorf("there is no Go file under %s", folder)
		}
	}
	for _, page := range []string{"CONTRIBUTING.md", "docs/README.md"} {
		if strings.TrimSpace(tree.Text[page]) == "" {
			t.Errorf("there is no page %s", page)
		}
	}
}
