// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aalis-dev/aalis-operator/runtime/host/secrets"
)

const whole = `# a bot
apiVersion: aalis.dev/v1alpha1
kind: Plugin
metadata: {name: main}
spec:
  module: llm-openai
  config: {baseUrl: "http://x", enabled: yes}
---
apiVersion: aalis.dev/v1alpha1
kind: Persona
metadata:
  name: owl
spec:
  prompt: |
    first
    --- not a separator
--- # a comment
# nothing but a comment
---
apiVersion: aalis.dev/v1alpha1
kind: AgentInstance
metadata: {name: hello, namespace: team-a, labels: {a: b}}
spec:
  personaRef: {name: owl}
  plugins:
  - name: main
  - name: agent
    module: agent
    config:
      historyLimit: 5
---
apiVersion: aalis.dev/v1alpha1
kind: ServicePreference
metadata: {name: p}
spec: {service: llm, selector: {}, prefer: [{plugin: main}]}
---
apiVersion: aalis.dev/v1alpha1
kind: AuthorityPolicy
metadata: {name: a}
spec: {selector: {}}
---
apiVersion: v1
kind: Secret
metadata: {name: llm}
data: {b64: c2VjcmV0Cg==, both: YQ==}
stringData: {both: b}
---
apiVersion: v1
kind: Namespace
metadata: {name: team-a}
---
apiVersion: aalis.dev/v1alpha1
kind: AgentReplica
metadata: {name: r}
`

func files(t *testing.T, content map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range content {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestLoad(t *testing.T) {
	dir := files(t, map[string]string{"bot.yaml": "\uFEFF" + whole})
	path := filepath.Join(dir, "bot.yaml")
	s, err := Load([]string{path})
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Instances) != 1 || len(s.Plugins) != 1 || len(s.Personas) != 1 || len(s.ServicePreferences) != 1 || len(s.AuthorityPolicies) != 1 {
		t.Errorf("got %+v", s)
	}
	if got := s.Personas[0].Spec.Prompt; got != "first\n--- not a separator\n" {
		t.Errorf("got prompt %q", got)
	}
	if got := string(s.Plugins[0].Spec.Config.Raw); got != `{"baseUrl":"http://x","enabled":true}` {
		t.Errorf("got config %s, want what kubectl would send", got)
	}
	want := map[string]secrets.Map{"default": {{Name: "llm", Key: "b64"}: "secret\n", {Name: "llm", Key: "both"}: "b"}}
	if d := cmp.Diff(want, s.Secrets); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	notes := []string{
		path + ": document 8, line 49: left out: v1 Namespace means nothing here",
		path + ": document 9, line 53: left out: AgentReplica is written by kernels, not by people",
	}
	if d := cmp.Diff(notes, s.Notes); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestLocate(t *testing.T) {
	dir := files(t, map[string]string{"bot.yaml": whole})
	s, err := Load([]string{dir})
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		object, path string
		line         int
	}{
		{"Plugin main", "spec.config.baseUrl", 7},
		{"Plugin main", "spec.config.nowhere", 7},
		{"Plugin main", "", 2},
		{"Persona owl", "spec.prompt", 14},
		{"AgentInstance hello", "spec.plugins[1].module", 28},
		{"AgentInstance hello", "spec.plugins[agent].config.historyLimit", 30},
		{"AgentInstance hello", "spec.plugins[nobody].config", 25},
		{"AgentInstance hello", "spec.plugins[7]", 25},
		{"AgentInstance hello", "spec.personaRef[0]", 24},
		{"AgentInstance hello", "metadata.labels.a", 22},
	} {
		place, ok := s.Locate(tc.object, tc.path)
		if !ok || place.Line != tc.line {
			t.Errorf("%s %s: got %v, want line %d", tc.object, tc.path, place, tc.line)
		}
	}
	if _, ok := s.Locate("Plugin other", ""); ok {
		t.Error("found what is not there")
	}
	if got := (Place{File: "a", Document: 2}).String(); got != "a: document 2" {
		t.Errorf("got %s", got)
	}
}

const head = "apiVersion: aalis.dev/v1alpha1\nkind: Persona\nmetadata: {name: a}\n"

func TestLoadErrors(t *testing.T) {
	tests := map[string]struct {
		text string
		want []string
	}{
		"tab":              {head + "spec:\n\tprompt: x\n", []string{"line 5: is indented with a tab; YAML allows only spaces there"}},
		"tab after space":  {head + "spec:\n  \tprompt: x\n  displayName: [\n", []string{"line 5: is indented with a tab"}},
		"syntax":           {"---\n" + head + "spec: {prompt: x\n", []string{"document 1, line", "is not YAML: "}},
		"bad mapping":      {head + "spec: a: b\n", []string{"line 4: is not YAML: mapping values are not allowed"}},
		"second document":  {head + "spec: {prompt: x}\n---\na: [\n", []string{"document 2, line 6: is not YAML"}},
		"unknown field":    {head + "spec:\n  prompt: x\n  promt: y\n", []string{"document 1, line 6: Persona: unknown field \"spec.promt\""}},
		"unknown in list":  {"apiVersion: aalis.dev/v1alpha1\nkind: AgentInstance\nmetadata: {name: a}\nspec:\n  plugins:\n  - name: x\n    modul: y\n", []string{"line 7: AgentInstance: unknown field \"spec.plugins[0].modul\""}},
		"case counts":      {head + "Spec: {prompt: x}\n", []string{"line 4: Persona: unknown field \"Spec\""}},
		"two mistakes":     {head + "spec: {a: 1, b: 2}\n", []string{"unknown field \"spec.a\"", "unknown field \"spec.b\""}},
		"repeated field":   {head + "spec: {prompt: x}\nspec: {prompt: y}\n", []string{"line 5: is not YAML: key \"spec\" already set in map"}},
		"wrong type":       {head + "spec:\n  prompt: [1]\n", []string{"line 5: Persona: spec.prompt: must be a string, got a list"}},
		"number for list":  {head + "spec:\n  prompt: x\n  traits: 5\n", []string{"line 6: Persona: spec.traits: must be a list, got a number"}},
		"text for integer": {"apiVersion: aalis.dev/v1alpha1\nkind: AgentInstance\nmetadata: {name: a}\nspec: {drainTimeoutSeconds: x}\n", []string{"spec.drainTimeoutSeconds: must be an integer, got a string"}},
		"bool for object":  {head + "spec: true\n", []string{"line 4: Persona: spec: must be an object, got true or false"}},
		"object for text":  {"apiVersion: aalis.dev/v1alpha1\nkind: Plugin\nmetadata: {name: {a: b}}\nspec: {module: x}\n", []string{"must be a string, got an object"}},
		"no kind":          {"a: 1\n", []string{"document 1, line 1: must have apiVersion and kind"}},
		"list":             {"- a\n", []string{"must be an object with apiVersion and kind"}},
		"scalar":           {"hello\n", []string{"must be an object with apiVersion and kind"}},
		"unknown kind":     {"apiVersion: aalis.dev/v1alpha1\nkind: Personna\n", []string{"line 2: unknown kind \"Personna\", did you mean \"Persona\"?"}},
		"other version":    {"apiVersion: aalis.dev/v1\nkind: Persona\n", []string{"line 1: apiVersion must be aalis.dev/v1alpha1, got aalis.dev/v1"}},
		"no name":          {"apiVersion: aalis.dev/v1alpha1\nkind: Persona\nmetadata: {}\n", []string{"line 3: Persona: metadata.name: must be given"}},
		"twice":            {head + "---\n" + head, []string{"document 2, line 7: Persona a: declared before at", "document 1, line 3"}},
		"secret base64":    {"apiVersion: v1\nkind: Secret\nmetadata: {name: s}\ndata:\n  k: \"s3cr3t!\"\n", []string{"line 5: Secret s: data.k: must be base64; plain text belongs under stringData"}},
		"secret unknown":   {"apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringdata: {k: s3cr3t}\n", []string{"line 4: Secret: unknown field \"stringdata\""}},
		"secret number":    {"apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {k: 53137}\n", []string{"line 4: Secret: stringData: must be a string, got a number"}},
		"secret no name":   {"apiVersion: v1\nkind: Secret\nstringData: {k: s3cr3t}\n", []string{"Secret: metadata.name: must be given"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			dir := files(t, map[string]string{"bot.yaml": tc.text})
			_, err := Load([]string{filepath.Join(dir, "bot.yaml")})
			if err == nil {
				t.Fatal("no error")
			}
			for _, want := range append(tc.want, filepath.Join(dir, "bot.yaml")+": document ") {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("got  %v\nwant %s", err, want)
				}
			}
			for _, secret := range []string{"s3cr3t", "53137"} {
				if strings.Contains(err.Error(), secret) {
					t.Errorf("a secret value is in the error: %v", err)
				}
			}
		})
	}
}

func TestLoadPaths(t *testing.T) {
	dir := files(t, map[string]string{
		"b.yml": strings.ReplaceAll(head, "a}", "b}"), "a.yaml": head, "c.json": `{"apiVersion":"aalis.dev/v1alpha1","kind":"Persona","metadata":{"name":"c"}}`,
		".hidden.yaml": "{", "notes.txt": "{",
	})
	if err := os.Mkdir(filepath.Join(dir, "sub.yaml"), 0o700); err != nil {
		t.Fatal(err)
	}
	s, err := Load([]string{dir})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, p := range s.Personas {
		names = append(names, p.Name)
	}
	if d := cmp.Diff([]string{"a", "b", "c"}, names); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if d := cmp.Diff([]string{dir, "."}, Dirs([]string{dir, filepath.Join(dir, "a.yaml"), "none.yaml"})); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	many := files(t, map[string]string{"many.yaml": strings.Repeat("- x\n---\n", 100)})
	endless := files(t, map[string]string{"many.yaml": strings.Repeat("a: 1\n---\n", maxDocuments+2)})
	big := files(t, map[string]string{"big.yaml": strings.Repeat("#", maxFileBytes+1)})
	for path, want := range map[string]string{
		"/nowhere/x.yaml":  "/nowhere/x.yaml: no such file or directory",
		t.TempDir():        "the directory holds no .yaml, .yml or .json file",
		many:               "and 80 more",
		endless:            "may not hold more than 10000 documents",
		big:                "may not be longer than",
		dir + "/sub.yaml/": "holds no .yaml",
	} {
		if _, err := Load([]string{path}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v", path, err)
		}
	}
}

func FuzzDocuments(f *testing.F) {
	f.Add(whole)
	f.Add(head + "spec:\n\tprompt: x\n---\n--- # x\n")
	f.Fuzz(func(t *testing.T, text string) {
		r := reader{seen: map[string]Place{}, set: Set{Secrets: map[string]secrets.Map{}, docs: map[string]document{}}}
		r.file("f", []byte(text))
		for _, err := range r.errs {
			if !strings.HasPrefix(err.Error(), "f: ") {
				t.Errorf("no place in %v", err)
			}
		}
	})
}
