// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package check_test

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aalis-dev/aalis-operator/hack/manifestcheck/check"
)

const crdDir = "../../../config/crd/bases"

func newChecker(t *testing.T) *check.Checker {
	t.Helper()
	c, err := check.New(context.Background(), crdDir)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestGoodFiles(t *testing.T) {
	c := newChecker(t)
	var files []string
	for _, pattern := range []string{"testdata/good/*.yaml", crdDir + "/*.yaml", "../../../config/samples/*.yaml"} {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(found), err)
		}
		files = append(files, found...)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			count, problems := c.File(context.Background(), data)
			for _, p := range problems {
				t.Error(p)
			}
			if count == 0 {
				t.Error("no object was found")
			}
		})
	}
}

// TestExamplesOfTheDocuments checks every whole object that the pages show.
func TestExamplesOfTheDocuments(t *testing.T) {
	c := newChecker(t)
	example := regexp.MustCompile("(?s)```yaml\n(apiVersion: .*?)```")
	for _, page := range []string{"README.md", "docs/user-guide.md", "docs/metrics.md"} {
		data, err := os.ReadFile("../../../" + page)
		if err != nil {
			t.Fatal(err)
		}
		examples := example.FindAllSubmatch(data, -1)
		if len(examples) == 0 {
			t.Errorf("%s shows no object", page)
		}
		for i, match := range examples {
			_, problems := c.File(context.Background(), match[1])
			for _, p := range problems {
				t.Errorf("%s, example %d: %s", page, i+1, p)
			}
		}
	}
}

func TestObjectsAreCounted(t *testing.T) {
	data, err := os.ReadFile("testdata/good/builtin.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if count, _ := newChecker(t).File(context.Background(), data); count != 9 {
		t.Errorf("want 9 objects, got %d", count)
	}
}

// TestBadObjects lists every kind of mistake with all that must be said about it.
func TestBadObjects(t *testing.T) {
	c := newChecker(t)
	tests := map[string]struct {
		yaml string
		want []string
	}{
		"not YAML":             {"a: [", []string{"document 1 (line 1): is not a YAML mapping"}},
		"tabs":                 {"a:\n\tb: 1\n", []string{"cannot start any token"}},
		"a list at the top":    {"- a\n", []string{"is not a YAML mapping"}},
		"a doubled key":        {"apiVersion: v1\napiVersion: v1\nkind: ConfigMap\n", []string{`"apiVersion" already set`}},
		"no kind":              {"apiVersion: v1\n", []string{"apiVersion and kind must be set"}},
		"kind is a number":     {"apiVersion: v1\nkind: 1\n", []string{"apiVersion and kind must be set"}},
		"unknown kind":         {"apiVersion: v1\nkind: Pot\nmetadata: {name: a}\n", []string{"Pot/a: kind Pot of v1 is not known"}},
		"unknown group":        {"apiVersion: x.dev/v1\nkind: Pod\nmetadata: {name: a}\n", []string{"Pod/a: kind Pod of x.dev/v1 is not known"}},
		"wrong version":        {"apiVersion: aalis.dev/v1\nkind: Plugin\nmetadata: {name: a}\n", []string{"kind Plugin of aalis.dev/v1 is not known"}},
		"a list of objects":    {"apiVersion: v1\nkind: List\nitems: []\n", []string{"write its items as documents"}},
		"no name":              {"apiVersion: v1\nkind: ConfigMap\n", []string{"ConfigMap: metadata.name: must be set"}},
		"bad label":            {"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, labels: {a: 'b c'}}\n", []string{"ConfigMap/a: metadata.labels"}},
		"bad annotation":       {"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, annotations: {'a b': c}}\n", []string{"metadata.annotations"}},
		"unknown field":        {"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {}\ndatum: {}\n", []string{`ConfigMap/a: unknown field "datum"`}},
		"unknown fields, deep": {"apiVersion: v1\nkind: Pod\nmetadata: {name: a, lables: {}}\nspec: {containers: [{name: a, imag: b}]}\n", []string{`unknown field "metadata.lables"`, `unknown field "spec.containers[0].imag"`}},
		"wrong case":           {"apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {clusterip: None}\n", []string{`unknown field "spec.clusterip"`}},
		"wrong type":           {"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec: {replicas: many}\n", []string{"Deployment/a:", "replicas"}},
		"named twice": {
			"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n",
			[]string{"document 2 (line 4): ConfigMap/a: is declared twice: document 1"},
		},
		"monitor without spec":  {"apiVersion: monitoring.coreos.com/v1\nkind: ServiceMonitor\nmetadata: {name: a}\n", []string{"ServiceMonitor/a: spec: must be"}},
		"unknown monitor":       {"apiVersion: monitoring.coreos.com/v1\nkind: Monitor\nmetadata: {name: a}\n", []string{"kind Monitor of"}},
		"monitor's version":     {"apiVersion: monitoring.coreos.com/v9\nkind: PodMonitor\nmetadata: {name: a}\nspec: {a: b}\n", []string{"apiVersion must be monitoring.coreos.com/v1"}},
		"bad kustomization":     {"apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresorces: []\n", []string{"Kustomization:", "resorces"}},
		"custom, unknown field": {"apiVersion: aalis.dev/v1alpha1\nkind: Persona\nmetadata: {name: a}\nspec: {prompt: x, promt: y}\n", []string{`Persona/a: unknown field "spec.promt"`}},
		"custom, required":      {"apiVersion: aalis.dev/v1alpha1\nkind: Persona\nmetadata: {name: a}\nspec: {}\n", []string{"spec.prompt: Required value"}},
		"custom, enum":          {"apiVersion: aalis.dev/v1alpha1\nkind: AgentInstance\nmetadata: {name: a}\nspec: {state: 'On'}\n", []string{`spec.state: Unsupported value: "On"`}},
		"custom, bound":         {"apiVersion: aalis.dev/v1alpha1\nkind: AgentInstance\nmetadata: {name: a}\nspec: {drainTimeoutSeconds: 601}\n", []string{"spec.drainTimeoutSeconds: Invalid value: 601"}},
		"custom, rule":          {"apiVersion: aalis.dev/v1alpha1\nkind: Persona\nmetadata: {name: a}\nspec: {prompt: '  '}\n", []string{"spec.prompt: Invalid value", "must not be blank"}},
		"custom, name rule":     {"apiVersion: aalis.dev/v1alpha1\nkind: AgentInstance\nmetadata: {name: " + strings.Repeat("a", 41) + "}\n", []string{"metadata.name must be at most 40 characters"}},
		"custom, cross field":   {"apiVersion: aalis.dev/v1alpha1\nkind: AgentInstance\nmetadata: {name: a}\nspec: {plugins: [{name: b, config: {x: 1}}]}\n", []string{"config needs module"}},
		"custom, doubled entry": {"apiVersion: aalis.dev/v1alpha1\nkind: AgentInstance\nmetadata: {name: a}\nspec: {plugins: [{name: b}, {name: b}]}\n", []string{"spec.plugins[1]: Duplicate value"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			_, problems := c.File(context.Background(), []byte(tc.yaml))
			if len(problems) == 0 {
				t.Fatal("nothing was found")
			}
			var all []string
			for _, p := range problems {
				all = append(all, p.String())
			}
			for _, want := range tc.want {
				if !strings.Contains(strings.Join(all, "\n"), want) {
					t.Errorf("want %q in:\n%s", want, strings.Join(all, "\n"))
				}
			}
		})
	}
}

func TestBadCRDs(t *testing.T) {
	c := newChecker(t)
	good, err := os.ReadFile(crdDir + "/aalis.dev_personas.yaml")
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct{ old, with, want string }{
		"unknown field":     {"  scope: Namespaced\n", "  scope: Namespaced\n  scop: x\n", `unknown field "spec.scop"`},
		"wrong name":        {"  name: personas.aalis.dev\n", "  name: people.aalis.dev\n", "metadata.name"},
		"rule with a typo":  {"self.trim().size() > 0", "self.trimm().size() > 0", "undeclared reference to 'trimm'"},
		"dear rule":         {"self.trim().size() > 0", "self.split('').all(x, self.split(x).all(y, y in self.split('')))", "estimated rule cost"},
		"not structural":    {"                type: string\n              displayName:", "                nullable: true\n              displayName:", "type: Required value"},
		"two storage flags": {"    storage: true\n", "    storage: false\n", "storage"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			bad := strings.Replace(string(good), tc.old, tc.with, 1)
			if bad == string(good) {
				t.Fatalf("the CRD does not have %q any more", tc.old)
			}
			_, problems := c.File(context.Background(), []byte(bad))
			var all []string
			for _, p := range problems {
				all = append(all, p.String())
			}
			if !strings.Contains(strings.Join(all, "\n"), tc.want) {
				t.Errorf("want %q in:\n%s", tc.want, strings.Join(all, "\n"))
			}
		})
	}
}

func TestNewNeedsGoodCRDs(t *testing.T) {
	tests := map[string]struct{ file, want string }{
		"none":        {"", "there is no *.yaml file"},
		"not a CRD":   {"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n", "must be a CustomResourceDefinition"},
		"not valid":   {"apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: a}\nspec: {}\n", "spec.group"},
		"not decoded": {"apiVersion: x/v1\nkind: Y\n", "document 1"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if tc.file != "" {
				if err := os.WriteFile(filepath.Join(dir, "a.yaml"), []byte(tc.file), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := check.New(context.Background(), dir); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("want an error with %q, got %v", tc.want, err)
			}
		})
	}
}

func TestProblemIsOneLine(t *testing.T) {
	p := check.Problem{Document: 2, Line: 14, Object: "Plugin/main", Message: "spec.module: must be set"}
	if diff := cmp.Diff("document 2 (line 14): Plugin/main: spec.module: must be set", p.String()); diff != "" {
		t.Error(diff)
	}
}
