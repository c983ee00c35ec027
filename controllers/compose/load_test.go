// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package compose

import (
	"os"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
	"github.com/aalis-dev/aalis-operator/runtime/catalog"
)

func testCatalog(tb testing.TB) catalog.Catalog {
	tb.Helper()
	data, err := os.ReadFile("testdata/catalog.json")
	if err != nil {
		tb.Fatal(err)
	}
	c, err := catalog.Decode(data)
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

// load reads documents into an input.
func load(t testing.TB, text string) Input {
	t.Helper()
	in := Input{Catalog: testCatalog(t)}
	for _, doc := range strings.Split(text, "\n---\n") {
		var meta metav1.TypeMeta
		if err := yaml.Unmarshal([]byte(doc), &meta); err != nil {
			t.Fatal(err)
		}
		var err error
		switch meta.Kind {
		case "AgentInstance":
			in.Instance = &v1alpha1.AgentInstance{}
			err = yaml.UnmarshalStrict([]byte(doc), in.Instance)
		case "Plugin":
			in.Plugins, err = read(in.Plugins, doc)
		case "Persona":
			in.Personas, err = read(in.Personas, doc)
		case "ServicePreference":
			in.ServicePreferences, err = read(in.ServicePreferences, doc)
		case "TenantPolicy":
			in.TenantPolicies, err = read(in.TenantPolicies, doc)
		case "AuthorityPolicy":
			in.AuthorityPolicies, err = read(in.AuthorityPolicies, doc)
		default:
			t.Fatalf("unknown kind %q", meta.Kind)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return in
}

func read[T any](list []T, doc string) ([]T, error) {
	var obj T
	err := yaml.UnmarshalStrict([]byte(doc), &obj)
	return append(list, obj), err
}

// bot makes a document of an instance named b with the given spec lines.
func bot(spec string) string {
	return "kind: AgentInstance\nmetadata: {name: b}\nspec: " + spec
}

// doc makes a document of any kind.
func doc(kind, name, spec string) string {
	return "kind: " + kind + "\nmetadata: {name: " + name + "}\nspec: " + spec
}

func docs(list ...string) string { return strings.Join(list, "\n---\n") }
