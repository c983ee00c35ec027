// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	sigsyaml "sigs.k8s.io/yaml"
)

// property is the part of a JSON schema that the test reads.
type property struct {
	Type                 string              `json:"type"`
	AdditionalProperties any                 `json:"additionalProperties"`
	Properties           map[string]property `json:"properties"`
}

// TestSchemaKnowsEveryValue: values.yaml and values.schema.json name the same values, and every object is closed.
func TestSchemaKnowsEveryValue(t *testing.T) {
	var schema property
	data, err := os.ReadFile(filepath.Join(chart, "values.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &schema); err != nil {
		t.Fatal(err)
	}
	var values map[string]any
	if data, err = os.ReadFile(filepath.Join(chart, "values.yaml")); err != nil {
		t.Fatal(err)
	}
	if err := sigsyaml.Unmarshal(data, &values); err != nil {
		t.Fatal(err)
	}
	delete(schema.Properties, "global") // Helm's own
	compare(t, "", values, schema)
}

func compare(t *testing.T, path string, values map[string]any, schema property) {
	t.Helper()
	if schema.AdditionalProperties != false {
		t.Errorf("%s: the schema takes any name", path)
	}
	for name, value := range values {
		p, ok := schema.Properties[name]
		if !ok {
			t.Errorf("%s.%s: is not in the schema", path, name)
			continue
		}
		if object, isObject := value.(map[string]any); isObject && len(p.Properties) > 0 && path+"."+name != ".resources" {
			compare(t, path+"."+name, object, p)
		}
	}
	for name := range schema.Properties {
		if _, ok := values[name]; !ok {
			t.Errorf("%s.%s: is not in values.yaml", path, name)
		}
	}
}

// TestChartRefuses: a wrong value is named before anything is installed.
func TestChartRefuses(t *testing.T) {
	for set, want := range map[string]string{
		"nonsense=1":    "nonsense",
		"logLevel=loud": "logLevel",
		"replicas=-1":   "replicas",
		"replicas=2,leaderElection.enabled=false":                   "leaderElection.enabled: must be true with replicas 2",
		"dnsCIDRs={10.0.0.1}":                                       "dnsCIDRs",
		"watchNamespaces={Team_A}":                                  "watchNamespaces",
		"watchNamespaces={a,a}":                                     "watchNamespaces",
		"metrics.port=80":                                           "metrics",
		"metrics.serviceMonitor.interval=often":                     "interval",
		"podLabels.x=1":                                             "podLabels",
		"metrics.enabled=false,metrics.serviceMonitor.enabled=true": "metrics.serviceMonitor.enabled: must be false",
		"metrics.enabled=false,metrics.prometheusRule.enabled=true": "metrics.prometheusRule.enabled: must be false",
	} {
		if _, err := template(t, chart, "--set", set); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("--set %s: error %v; want one with %q", set, err, want)
		}
	}
}

// TestStandBy: the profile for two operators has all that two need, and one operator has none of it.
func TestStandBy(t *testing.T) {
	objects := mustTemplate(t, profiles["stand-by"]...)
	d := all[appsv1.Deployment](t, objects, "Deployment")[0]
	spec := d.Spec.Template.Spec
	if *d.Spec.Replicas != 2 || !slices.Contains(spec.Containers[0].Args, "--leader-elect=true") {
		t.Errorf("%d replicas, arguments %v", *d.Spec.Replicas, spec.Containers[0].Args)
	}
	if len(spec.TopologySpreadConstraints) != 1 || spec.TopologySpreadConstraints[0].TopologyKey != "kubernetes.io/hostname" {
		t.Errorf("spread %+v", spec.TopologySpreadConstraints)
	}
	budgets := all[policyv1.PodDisruptionBudget](t, objects, "PodDisruptionBudget")
	if len(budgets) != 1 || !cmp.Equal(budgets[0].Spec.Selector, d.Spec.Selector) {
		t.Errorf("budgets %+v", budgets)
	}
	if n := len(all[policyv1.PodDisruptionBudget](t, mustTemplate(t), "PodDisruptionBudget")); n != 0 {
		t.Errorf("%d budgets for one operator, which could then never be drained", n)
	}
}

// TestCRDsAreKept: every CRD is in the chart, and is kept unless that is turned off.
func TestCRDsAreKept(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(root, "config", "crd", "bases", "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	count := func(args ...string) (all, kept int) {
		for _, u := range mustTemplate(t, args...) {
			if u.GetKind() == "CustomResourceDefinition" {
				all++
				if u.GetAnnotations()["helm.sh/resource-policy"] == "keep" {
					kept++
				}
			}
		}
		return all, kept
	}
	if n, kept := count(); n != len(files) || kept != n {
		t.Errorf("%d of %d CRDs, %d kept", n, len(files), kept)
	}
	if n, kept := count("--set", "crds.keep=false"); n != len(files) || kept != 0 {
		t.Errorf("keep=false: %d of %d CRDs, %d kept", n, len(files), kept)
	}
	if n, _ := count("--set", "crds.install=false"); n != 0 {
		t.Errorf("install=false: %d CRDs", n)
	}
}

// TestKustomizeIsTheChart: config/default builds to what the chart renders with its defaults, and the namespace, which
// Helm makes by itself. config/crd has the same CRDs.
func TestKustomizeIsTheChart(t *testing.T) {
	byKey := func(objects []unstructured.Unstructured) map[string]map[string]any {
		out := map[string]map[string]any{}
		for _, u := range objects {
			out[u.GetKind()+"/"+u.GetNamespace()+"/"+u.GetName()] = u.Object
		}
		return out
	}
	build := func(dir string) map[string]map[string]any {
		out, err := run(t, tool(t, "kustomize"), "build", filepath.Join(root, "config", dir))
		if err != nil {
			t.Fatal(err)
		}
		return byKey(parse(t, out))
	}
	want, got := byKey(mustTemplate(t)), build("default")
	if _, ok := got["Namespace//"+namespace]; !ok {
		t.Error("config/default does not make its namespace")
	}
	delete(got, "Namespace//"+namespace)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("config/default (-chart +kustomize):\n%s", diff)
	}
	for key, crd := range build("crd") {
		u := unstructured.Unstructured{Object: want[key]}
		annotations := u.GetAnnotations()
		delete(annotations, "helm.sh/resource-policy")
		u.SetAnnotations(annotations)
		if diff := cmp.Diff(u.Object, crd); diff != "" {
			t.Errorf("%s of config/crd (-chart +kustomize):\n%s", key, diff)
		}
	}
}
