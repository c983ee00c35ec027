// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"io"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/aalis-dev/aalis-operator/hack/fakellm/fakellm"
	"github.com/aalis-dev/aalis-operator/runtime/catalog"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// result is what a run of the program left.
type result struct {
	code     int
	out, err string
}

// aalis runs the program in this process.
func aalis(t *testing.T, stdin string, env map[string]string, args ...string) result {
	t.Helper()
	in := filepath.Join(t.TempDir(), "stdin")
	if err := os.WriteFile(in, []byte(stdin), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(in)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	var out, errs bytes.Buffer
	code := run(process{
		args: args, in: f, out: &out, err: &errs, started: time.Now(),
		getenv:    func(k string) string { return env[k] },
		lookupEnv: func(k string) (string, bool) { v, ok := env[k]; return v, ok },
		exit:      func(int) { t.Error("exited at once") },
	})
	return result{code, out.String(), errs.String()}
}

func TestCommands(t *testing.T) {
	tests := map[string]struct {
		args     []string
		code     int
		out, err string
	}{
		"nothing":         {nil, 2, "", "Usage: aalis COMMAND"},
		"help":            {[]string{"help"}, 0, "Usage: aalis COMMAND", ""},
		"unknown":         {[]string{"walk"}, 2, "", `unknown command "walk"`},
		"version":         {[]string{"version"}, 0, "aalis dev", ""},
		"catalog":         {[]string{"catalog"}, 0, "llm-openai", ""},
		"catalog as what": {[]string{"catalog", "-o", "xml"}, 1, "", `-o must be text or json, got "xml"`},
		"catalog more":    {[]string{"catalog", "x"}, 2, "", `unexpected argument "x"`},
		"catalog -h":      {[]string{"catalog", "-h"}, 0, "", "output"},
		"run nothing":     {[]string{"run"}, 2, "", "name the YAML files"},
		"run both":        {[]string{"run", "--cluster", "x.yaml"}, 2, "", "--cluster takes no files"},
		"run bad flag":    {[]string{"run", "x.yaml", "--nope"}, 2, "", "flag provided but not defined: -nope"},
		"run bad level":   {[]string{"run", "x.yaml", "--log-level", "loud"}, 2, "", "--log-level must be"},
		"run bad secret":  {[]string{"run", "x.yaml", "--secret", "llm=sk-1"}, 2, "", "--secret \"llm\": must be NAME/KEY="},
		"run no file":     {[]string{"run", "/nowhere/x.yaml"}, 2, "", "/nowhere/x.yaml: no such file"},
		"run no pod":      {[]string{"run", "--cluster"}, 1, "", "KUBERNETES_SERVICE_HOST"},
		"run no CA":       {[]string{"run", "--cluster", "--api-url", "https://x", "--service-account-dir", "/nowhere"}, 1, "", "AALIS_NAMESPACE must be set"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			r := aalis(t, "", nil, tc.args...)
			if r.code != tc.code || !strings.Contains(r.out, tc.out) || !strings.Contains(r.err, tc.err) {
				t.Errorf("got %d, out %q, err %q", r.code, r.out, r.err)
			}
		})
	}
}

func TestCatalogJSON(t *testing.T) {
	r := aalis(t, "", nil, "catalog", "-o", "json")
	c, err := catalog.Decode([]byte(r.out))
	if err != nil || r.code != 0 || len(c.Modules) < 7 || !json.Valid([]byte(r.out)) {
		t.Errorf("got %d, %v", r.code, err)
	}
	if listed(nil) != "-" || listed([]string{"a", "b"}) != "a,b" {
		t.Error("lists are written wrongly")
	}
}

func TestInterspersed(t *testing.T) {
	for _, tc := range []struct{ args, others string }{
		{"a -v b", "a b"}, {"-v a b", "a b"}, {"a b -v", "a b"}, {"a -- -v", "a -v"}, {"-- a -v", "a -v"}, {"", ""}, {"-s -v a", "a"},
	} {
		flags := flag.NewFlagSet("x", flag.ContinueOnError)
		flags.SetOutput(io.Discard)
		flags.Bool("v", false, "")
		flags.String("s", "", "")
		others, err := interspersed(flags, strings.Fields(tc.args))
		if err != nil || !slices.Equal(others, strings.Fields(tc.others)) {
			t.Errorf("%q: got %q, %v", tc.args, others, err)
		}
	}
}

const botYAML = `apiVersion: aalis.dev/v1alpha1
kind: Plugin
metadata: {name: main}
spec:
  module: llm-openai
  config: {baseUrl: "URL", customModels: "gpt-4o-mini"}
  secrets:
  - {path: apiKey, secretKeyRef: {name: llm, key: api-key}}
---
apiVersion: aalis.dev/v1alpha1
kind: Persona
metadata: {name: night-owl}
spec:
  displayName: Night Owl
  prompt: You are a calm night-time companion.
---
apiVersion: aalis.dev/v1alpha1
kind: AgentInstance
metadata: {name: hello}
spec:
  model: {plugin: main, id: gpt-4o-mini}
  personaRef: {name: night-owl}
  plugins:
  - {name: main}
`

func bot(t *testing.T, url string, changes ...string) string {
	t.Helper()
	text := strings.NewReplacer(append([]string{"URL", url}, changes...)...).Replace(botYAML)
	path := filepath.Join(t.TempDir(), "bot.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func model(t *testing.T) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(fakellm.New(fakellm.Options{APIKeys: []string{"sk-1"}}))
	t.Cleanup(s.Close)
	return s
}

const calm = "[你的名字是Night Owl。 You are a calm night-time companion.]"

func TestRunScript(t *testing.T) {
	path := bot(t, model(t).URL)
	key := map[string]string{"AALIS_SECRET_LLM_API_KEY": "sk-1\n"}
	r := aalis(t, "one\ntwo\n", key, "run", path)
	lines := strings.Split(strings.TrimSpace(r.out), "\n")
	if r.code != 0 || len(lines) != 2 || !strings.HasPrefix(lines[0], calm) || !strings.HasSuffix(lines[0], "one") || !strings.HasSuffix(lines[1], "two") || r.err != "" {
		t.Errorf("got %+v", r)
	}
	file := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, []byte("sk-1"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, args := range map[string][]string{
		"variable": {"run", path, "--once", "hi", "--secret", "llm/api-key=env:KEY"},
		"file":     {"run", "--once=hi", "--secret", "llm/api-key=file:" + file, path},
	} {
		if r := aalis(t, "", map[string]string{"KEY": "sk-1"}, args...); r.code != 0 || !strings.HasSuffix(r.out, "hi\n") {
			t.Errorf("%s: got %+v", name, r)
		}
	}
	if r := aalis(t, "", nil, "run", path, "--once", "hi", "--quiet"); r.code != 1 || !strings.Contains(r.out, "was not found") || r.err != "" {
		t.Errorf("without a key: got %+v", r)
	}
	wrong := map[string]string{"AALIS_SECRET_LLM_API_KEY": "sk-2"}
	if r := aalis(t, "", wrong, "run", path, "--once", "hi"); r.code != 1 || strings.Contains(r.out+r.err, "sk-2") {
		t.Errorf("with a wrong key: got %+v", r)
	}
}

// TestBadInput has a mistake of each kind that people make; every one gets one clear message with its place.
func TestBadInput(t *testing.T) {
	url := model(t).URL
	secret := "---\napiVersion: v1\nkind: Secret\nmetadata: {name: llm}\nstringData: {api-key: \"sk\\n1\"}\n---\n"
	tests := map[string]struct {
		changes []string
		args    []string
		code    int
		want    string
	}{
		"unknown model":   {[]string{"id: gpt-4o-mini", "id: gpt-9"}, []string{"--once", "hi"}, 1, "gpt-9"},
		"unknown module":  {[]string{"module: llm-openai", "module: llm-opnai"}, nil, 2, `line 5: Plugin main: spec.module: unknown module "llm-opnai"`},
		"unknown key":     {[]string{"customModels", "customModel"}, nil, 2, "line 6: Plugin main: spec.config.customModel: unknown key"},
		"wrong type":      {[]string{"customModels: \"gpt-4o-mini\"", "timeout: soon"}, nil, 2, "line 6: Plugin main: spec.config.timeout: must be"},
		"no such persona": {[]string{"personaRef: {name: night-owl}", "personaRef: {name: owl}"}, nil, 2, "spec.personaRef"},
		"blank persona":   {[]string{"You are a calm night-time companion.", "\"  \""}, nil, 2, "line 15: Persona night-owl: spec.prompt"},
		"long name":       {[]string{"name: hello", "name: " + strings.Repeat("x", 41)}, nil, 2, "may not be longer than 40 characters, got 41"},
		"inline secret":   {[]string{"customModels: \"gpt-4o-mini\"", "apiKey: sk-1"}, nil, 2, "line 6: Plugin main: spec.config.apiKey"},
		"tabs":            {[]string{"  prompt:", "\tprompt:"}, nil, 2, "line 15: is indented with a tab"},
		"unknown field":   {[]string{"displayName", "displayname"}, nil, 2, `line 14: Persona: unknown field "spec.displayname"`},
		"secret newline":  {[]string{"---\napiVersion: aalis.dev/v1alpha1\nkind: Persona", secret + "apiVersion: aalis.dev/v1alpha1\nkind: Persona"}, []string{"--once", "hi"}, 1, "Secret llm key api-key: the value has a line break inside"},
		"no bot":          {[]string{"kind: AgentInstance", "kind: Personal"}, nil, 2, `unknown kind "Personal"`},
		"other name":      {nil, []string{"--name", "hallo"}, 2, "--name hallo: no such AgentInstance is declared, there is hello"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			r := aalis(t, "", nil, append([]string{"run", bot(t, url, tc.changes...)}, tc.args...)...)
			if r.code != tc.code || !strings.Contains(r.out+r.err, tc.want) {
				t.Errorf("got %d\n%s%s", r.code, r.out, r.err)
			}
			if strings.Contains(r.out+r.err, "sk-1") || strings.Contains(r.out+r.err, "sk\n1") {
				t.Errorf("the key is shown: %s", r.err)
			}
		})
	}
}

func TestChoose(t *testing.T) {
	one, two := bot(t, model(t).URL), filepath.Join(t.TempDir(), "second.yaml")
	if err := os.WriteFile(two, []byte("apiVersion: aalis.dev/v1alpha1\nkind: AgentInstance\nmetadata: {name: other}\nspec: {logLevel: debug}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if r := aalis(t, "", nil, "run", one, two); r.code != 2 || !strings.Contains(r.err, "choose one with --name: hello, other") {
		t.Errorf("got %+v", r)
	}
	key := map[string]string{"AALIS_SECRET_LLM_API_KEY": "sk-1"}
	if r := aalis(t, "hi\n", key, "run", one, two, "--name", "hello"); r.code != 0 || !strings.Contains(r.out, "hi") {
		t.Errorf("got %+v", r)
	}
	if r := aalis(t, "", nil, "run", filepath.Dir(two)+"/../001/bot.yaml", "--name", "x"); r.code != 2 {
		t.Errorf("got %+v", r)
	}
	empty := filepath.Join(t.TempDir(), "empty.yaml")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if r := aalis(t, "", nil, "run", empty); r.code != 2 || !strings.Contains(r.err, "no AgentInstance is declared") {
		t.Errorf("got %+v", r)
	}
}
