// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package rules_test

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aalis-dev/aalis-operator/test/rules"
)

// TestEveryReasonIsExplained holds the table of reasons in the user guide to what the operator sets.
func TestEveryReasonIsExplained(t *testing.T) {
	tree := readTree(t)
	guide := tree.Text["docs/user-guide.md"]
	checked := 0
	for _, f := range tree.Go {
		if f.Path != "api/v1alpha1/conditions.go" {
			continue
		}
		for name, reason := range rules.Constants(f, "Reason") {
			if usedBy(tree, "controllers", name) {
				checked++
				if !strings.Contains(guide, "`"+reason+"`") {
					t.Errorf("docs/user-guide.md does not explain the reason %s", reason)
				}
			}
		}
	}
	if checked == 0 {
		t.Error("there is no reason to check: have the constants moved?")
	}
}

func usedBy(tree rules.Tree, folder, name string) bool {
	for _, f := range tree.Go {
		if f.Under(folder) && !f.Test() && rules.Uses(f, name) {
			return true
		}
	}
	return false
}

// TestEveryMetricIsExplained holds docs/metrics.md to what a bot exposes.
func TestEveryMetricIsExplained(t *testing.T) {
	page := readTree(t).Text["docs/metrics.md"]
	exposition, err := os.ReadFile("../../runtime/host/metrics/testdata/exposition.txt")
	if err != nil {
		t.Fatal(err)
	}
	names := rules.MetricNames(string(exposition))
	if len(names) == 0 {
		t.Fatal("the exposition has no metric")
	}
	for _, name := range names {
		if !strings.Contains(page, "| `"+name+"` |") {
			t.Errorf("docs/metrics.md does not explain %s", name)
		}
	}
}

func TestConstants(t *testing.T) {
	files := parse(t, map[string]string{"a.go": "package a\nconst (\n\tReasonA = \"A\"\n\tReasonB, Other = \"B\", \"C\"\n\tReasonN = 1\n)\nvar ReasonV = \"V\"\nvar _ = b.ReasonX\n"})
	if diff := cmp.Diff(map[string]string{"ReasonA": "A", "ReasonB": "B"}, rules.Constants(files[0], "Reason")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if !rules.Uses(files[0], "ReasonX") || rules.Uses(files[0], "ReasonA") {
		t.Error("Uses must see names of other packages, and only those")
	}
}

func TestMetricNames(t *testing.T) {
	got := rules.MetricNames("# HELP a_total x\n# TYPE a_total counter\na_total 1\n# HELP b y\nb 1\n")
	if diff := cmp.Diff([]string{"a_total", "b"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
