// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
	sigsyaml "sigs.k8s.io/yaml"
)

const (
	root      = "../.."
	chart     = root + "/charts/aalis-operator"
	namespace = "aalis-system"
)

// profiles are the ways to install that the documents name, as arguments of Helm.
var profiles = map[string][]string{
	"defaults":   nil,
	"stand-by":   {"--values", chart + "/values-ha.yaml"},
	"namespaces": {"--set", "watchNamespaces={team-a,team-b}"},
	"monitors": {
		"--set", "metrics.secure=true", "--set", "metrics.serviceMonitor.enabled=true", "--set", "metrics.prometheusRule.enabled=true",
		"--set", "botMetrics.podMonitor.enabled=true",
	},
	"everything": {
		"--values", chart + "/values-ha.yaml", "--set", "watchNamespaces={team-a}", "--set", "dnsCIDRs={169.254.20.10/32}",
		"--set", "allowedImages={x/*}",
	},
}

// tool gives the path of a pinned tool.
func tool(t *testing.T, name string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), filepath.Join(root, "hack", "tool.sh"), name).Output()
	if err != nil {
		t.Fatalf("building %s: %v", name, err)
	}
	return strings.TrimSpace(string(out))
}

// run runs a tool and gives what it prints, or its complaint as the error.
func run(t *testing.T, argv ...string) ([]byte, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, errors.Join(err, errors.New(stderr.String()))
	}
	return out, nil
}

// template renders a chart.
func template(t *testing.T, dir string, args ...string) ([]unstructured.Unstructured, error) {
	t.Helper()
	out, err := run(t, append([]string{tool(t, "helm"), "template", "aalis-operator", dir, "--namespace", namespace}, args...)...)
	if err != nil {
		return nil, err
	}
	return parse(t, out), nil
}

// mustTemplate renders the chart of this tree.
func mustTemplate(t *testing.T, args ...string) []unstructured.Unstructured {
	t.Helper()
	objects, err := template(t, chart, args...)
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

func parse(t *testing.T, stream []byte) []unstructured.Unstructured {
	t.Helper()
	var out []unstructured.Unstructured
	reader := yaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(stream)))
	for {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		var u unstructured.Unstructured
		if err := sigsyaml.Unmarshal(document, &u.Object); err != nil {
			t.Fatalf("%v in\n%s", err, document)
		}
		if len(u.Object) > 0 {
			out = append(out, u)
		}
	}
}

// all gives the objects of one kind with their types.
func all[T any](t *testing.T, objects []unstructured.Unstructured, kind string) []T {
	t.Helper()
	var out []T
	for _, u := range objects {
		if u.GetKind() != kind {
			continue
		}
		var typed T
		if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(u.Object, &typed, true); err != nil {
			t.Fatalf("%s %s: %v", kind, u.GetName(), err)
		}
		out = append(out, typed)
	}
	return out
}
