// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"
)

func TestPointAt(t *testing.T) {
	const samples = `apiVersion: aalis.dev/v1alpha1
kind: Plugin
metadata: {name: main}
spec: {module: llm-openai, config: {baseUrl: https://api.example, customModels: gpt-4o-mini}}
---
apiVersion: aalis.dev/v1alpha1
kind: AgentInstance
metadata: {name: hello}
spec: {model: {plugin: main, id: gpt-4o-mini}}
`
	got, err := pointAt(samples, "http://fakellm:8080", "other:7b")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"baseUrl: http://fakellm:8080", "customModels: other:7b", `id: "other:7b"`, "name: hello"} {
		if !strings.Contains(got, want) {
			t.Errorf("want %q in\n%s", want, got)
		}
	}
	if _, err := pointAt("a: [", "x", "y"); err == nil {
		t.Error("what is not YAML must be an error")
	}
	if _, err := pointAt("kind: Plugin\nspec: {module: llm-openai}", "x", "y"); err == nil {
		t.Error("a Plugin with no config must be an error")
	}
}

func TestEndpointFromEnv(t *testing.T) {
	get := func(values map[string]string) func(string) string { return func(k string) string { return values[k] } }
	if e := endpointFromEnv(get(nil)); e.isSet() {
		t.Error("no key: no endpoint")
	}
	e := endpointFromEnv(get(map[string]string{"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": "http://x/", "OPENAI_MODEL": "m"}))
	if !e.isSet() || e.baseURL != "http://x" || e.model != "m" {
		t.Errorf("got %+v", e)
	}
}
