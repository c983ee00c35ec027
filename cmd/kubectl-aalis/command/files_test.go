// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package command_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/aalis-dev/aalis-operator/cmd/kubectl-aalis/command"
)

const samples = "../../../config/samples"

// call runs a command and keeps its outputs and its exit status apart.
func call(t *testing.T, in string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, errOut bytes.Buffer
	t.Setenv("KUBECONFIG", t.TempDir()+"/none")
	root := command.New(genericiooptions.IOStreams{In: strings.NewReader(in), Out: &out, ErrOut: &errOut}, "v1.2.3")
	root.SetArgs(args)
	code, message := command.Exit(root.ExecuteContext(t.Context()))
	return out.String(), errOut.String() + message, code
}

func TestRender(t *testing.T) {
	out, _, code := call(t, "", "render", "-f", samples, "-n", "team-a")
	for _, want := range []string{"kind: StatefulSet", "namespace: team-a", "image: aalis:v1.2.3", "format: aalis.dev/kernel/v1"} {
		if code != 0 || !strings.Contains(out, want) {
			t.Errorf("exit status %d, no %q", code, want)
		}
	}
	out, _, _ = call(t, "", "render", "-f", samples, "hello", "-o", "json")
	var bots []struct {
		Revision string
		Config   map[string]any
		Objects  []map[string]any
	}
	if err := json.Unmarshal([]byte(out), &bots); err != nil || len(bots) != 1 || bots[0].Revision == "" || bots[0].Config["name"] != "hello" || len(bots[0].Objects) < 8 {
		t.Errorf("got %v, %v", bots, err)
	}
	out, _, _ = call(t, "", "render", "-f", samples, "--show", "objects", "-o", "json")
	var list struct {
		Kind  string
		Items []any
	}
	if err := json.Unmarshal([]byte(out), &list); err != nil || list.Kind != "List" || len(list.Items) < 8 {
		t.Errorf("got %v, %v", list, err)
	}
	const broken = "apiVersion: aalis.dev/v1alpha1\nkind: AgentInstance\nmetadata: {name: b}\nspec:\n  personaRef: {name: gone}\n"
	out, errOut, code := call(t, broken, "render", "-f", "-")
	if code != 1 || out != "" || !strings.Contains(errOut, "-: document 1, line 5: AgentInstance b: spec.personaRef.name") {
		t.Errorf("exit status %d: %s%s", code, out, errOut)
	}
}

func TestDiffOffline(t *testing.T) {
	dir := t.TempDir()
	data, err := os.ReadFile(filepath.Join(samples, "persona.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	// Everything of the samples, with another prompt, one directory further down.
	if err := os.CopyFS(filepath.Join(dir, "below"), os.DirFS(samples)); err != nil {
		t.Fatal(err)
	}
	edited := strings.Replace(string(data), "calm night-time", "loud day-time", 1)
	if err := os.WriteFile(filepath.Join(dir, "below", "persona.yaml"), []byte(edited), 0o600); err != nil {
		t.Fatal(err)
	}
	out, errOut, code := call(t, "", "diff", "--offline", "--from", samples, "-f", dir, "-R")
	if code != 1 || !strings.Contains(out, "default/hello: Reload") || !strings.Contains(out, "+prompt: You are a loud day-time") {
		t.Errorf("exit status %d: %s%s", code, out, errOut)
	}
	if out, _, code := call(t, "", "diff", "--offline", "--from", samples, "-f", samples, "-o", "json"); code != 0 || out != "[]\n" {
		t.Errorf("exit status %d: %s", code, out)
	}
	tests := map[string]struct {
		args []string
		want string
	}{
		"no files":     {[]string{"--offline", "--from", samples}, "-f must name the files"},
		"no from":      {[]string{"--offline", "-f", samples}, "--offline and --from belong together"},
		"no offline":   {[]string{"--from", samples, "-f", samples}, "--offline and --from belong together"},
		"no directory": {[]string{"--offline", "--from", samples, "-f", dir}, "holds no .yaml"},
		"empty":        {[]string{"--offline", "--from", samples, "-R", "-f", t.TempDir()}, "no .yaml, .yml or .json file is there or below"},
		"output":       {[]string{"--offline", "--from", samples, "-f", samples, "-o", "xml"}, "--output must be json or yaml"},
		"catalog":      {[]string{"--offline", "--from", samples, "-f", samples, "--catalog", samples + "/persona.yaml"}, "--catalog"},
		"no cluster":   {[]string{"-f", samples, "--server", "http://127.0.0.1:1"}, "listing"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if _, errOut, code := call(t, "", append([]string{"diff"}, tc.args...)...); code != 2 || !strings.Contains(errOut, tc.want) {
				t.Errorf("exit status %d: %s", code, errOut)
			}
		})
	}
}

// TestImport: what is imported is rendered without a change, and Secrets go to a file of their own.
func TestImport(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	config := write("aalis.config.yaml", "name: Owl\nplugins:\n  '@aalis/plugin-llm-openai:main': {apiKey: sk-value, colour: red}\n  '@aalis/plugin-persona': {persona: owl}\n")
	write("personas/owl.yaml", "name: Owl\nprompt: |\n  You are an owl.\n  Speak at night.\n")
	write("personas/cat.json", `{"name": "Cat", "prompt": "Meow."}`)
	write("personas/notes.txt", "x")
	secrets := filepath.Join(dir, "secrets.yaml")
	args := []string{"import", config, "--personas", filepath.Join(dir, "personas"), "-n", "team-a", "--secrets", secrets}
	out, errOut, code := call(t, "", args...)
	if code != 0 || strings.Contains(out+errOut, "sk-value") || !strings.Contains(errOut, "colour: module @aalis/plugin-llm-openai has no such field") {
		t.Fatalf("exit status %d: %s%s", code, out, errOut)
	}
	skeleton, err := os.ReadFile(secrets)
	if err != nil || !strings.Contains(string(skeleton), `api-key: ""`) {
		t.Errorf("got %s, %v", skeleton, err)
	}
	if info, err := os.Stat(secrets); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("got %v, %v", info, err)
	}
	bot := write("bot.yaml", out)
	rendered, errOut, code := call(t, "", "render", "-f", bot, "-f", secrets, "--show", "config")
	for _, want := range []string{"name: Owl", "source: owl", "source: cat", "You are an owl.", "name: owl-main", "key: api-key", "namespace: team-a"} {
		if code != 0 || !strings.Contains(rendered, want) {
			t.Errorf("exit status %d, no %q in %s%s", code, want, rendered, errOut)
		}
	}
	tests := map[string]struct {
		args []string
		want string
	}{
		"again":           {args, "the file is there already"},
		"values, no file": {[]string{"import", config, "--secret-values"}, "--secret-values needs --secrets"},
		"strict":          {[]string{"import", config, "--strict"}, "notes"},
		"no file":         {[]string{"import", filepath.Join(dir, "none")}, "no such file"},
		"no YAML":         {[]string{"import", write("bad.yaml", "a: [")}, "bad.yaml: is no YAML"},
		"no cards":        {[]string{"import", config, "--personas", filepath.Join(dir, "none")}, "--personas"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if _, errOut, code := call(t, "", tc.args...); code != 1 || !strings.Contains(errOut, tc.want) {
				t.Errorf("exit status %d: %s", code, errOut)
			}
		})
	}
}

func TestRollbackFlags(t *testing.T) {
	for args, want := range map[string]string{
		"--to-revision 0":             "--to-revision must be at least 1, got 0",
		"--undo --to-revision 2":      "--undo goes with neither",
		"--list --dry-run":            "--list goes with neither",
		"-o json":                     "--output goes with --list",
		"--of owl":                    "--of must be persona/NAME or plugin/NAME",
		"--server http://127.0.0.1:1": "AgentInstance",
	} {
		_, errOut, code := call(t, "", append([]string{"rollback", "hello"}, strings.Fields(args)...)...)
		if code != 1 || !strings.Contains(errOut, want) {
			t.Errorf("%s: exit status %d: %s", args, code, errOut)
		}
	}
}

const housePolicy = `
apiVersion: aalis.dev/v1alpha1
kind: AuthorityPolicy
metadata: {name: house}
spec:
  selector: {matchLabels: {tier: shared}}
  owners: [{platform: onebot, userId: "10001"}]
  levels: [{platform: onebot, userId: "10002", level: 2}]
  deniedCapabilities: ["tool:exec*"]
`

const housePolicyAndBots = housePolicy + `---
apiVersion: aalis.dev/v1alpha1
kind: AgentInstance
metadata: {name: shared, labels: {tier: shared}}
---
apiVersion: aalis.dev/v1alpha1
kind: AgentInstance
metadata: {name: other}
`

// TestAuthority: the exit status is that of kubectl auth can-i, and the rule that decided is named.
func TestAuthority(t *testing.T) {
	for _, tc := range []struct {
		in, args  string
		code      int
		out, says string
	}{
		{housePolicy, "--user onebot:10001 command:level", 0, "yes - the person is an owner\n", ""},
		{housePolicy, "--user onebot:10001 command:clear.all", 0, "yes, once it is confirmed - the person is an owner; command:clear.all asks for confirmation (session) by its declaration\n", ""},
		{housePolicy, "--user onebot:10001 tool:exec", 1, "no - deniedCapabilities has \"tool:exec*\", which holds for owners too\n", "no shipped module offers tool:exec"},
		{housePolicy, "--user onebot:9 command:level", 1, "no - command:level needs level 2 by its declared visibility, and the person has level 0, since nothing is declared for this person\n", ""},
		{housePolicy, "--user onebot:10002 --risk sensitive tool:x", 0, "yes - tool:x needs level 1 by its declared risk, and the person has level 2\n", ""},
		{housePolicyAndBots, "--bot other --user onebot:10002 command:level", 1, "no - command:level needs level 2 by its declared visibility, and the person has level 0, since nothing is declared for this person\n", ""},
		{housePolicyAndBots, "--bot shared --user onebot:10002 command:level", 0, "yes - command:level needs level 2 by its declared visibility, and the person has level 2\n", ""},
		{housePolicyAndBots, "--user onebot:10002 command:level", 1, "", "say which bot with --bot, there are: other, shared"},
		{housePolicyAndBots, "--bot gone --user onebot:10002 command:level", 1, "", `there is no bot "gone", there are: other, shared`},
		{housePolicy, "--user nobody command:level", 1, "", "--user must be platform:userId"},
		{housePolicy, "--user a:b level", 1, "", "an operation is named as tool:NAME"},
		{strings.Replace(housePolicy, "level: 2", "level: x", 1), "--user a:b command:level", 1, "", "level"},
	} {
		out, says, code := call(t, tc.in, append([]string{"authority", "can-i", "-f", "-"}, strings.Fields(tc.args)...)...)
		if code != tc.code || out != tc.out || !strings.Contains(says, tc.says) {
			t.Errorf("%s: exit status %d, %q, %q", tc.args, code, out, says)
		}
	}
	out, _, code := call(t, housePolicy, "authority", "show", "-f", "-")
	for _, want := range []string{"owner", "onebot:10001", "level", "onebot:10002", "denied", "tool:exec*"} {
		if code != 0 || !strings.Contains(out, want) {
			t.Errorf("exit status %d, no %s in %s", code, want, out)
		}
	}
	if out, _, _ := call(t, housePolicy, "authority", "show", "-f", "-", "-o", "json"); !strings.Contains(out, `"deniedCapabilities": [`) {
		t.Errorf("got %s", out)
	}
}

// TestEveryCommand: each has examples, says what rights it needs, and completes in each shell.
func TestEveryCommand(t *testing.T) {
	root := command.New(genericiooptions.NewTestIOStreamsDiscard(), "v1")
	for _, cmd := range root.Commands() {
		if cmd.Example == "" || cmd.Long == "" {
			t.Errorf("%s has no example or no long text", cmd.Name())
		}
		if !strings.Contains(cmd.Long, "eeds") && cmd.Name() != "chat" {
			t.Errorf("%s does not say what it needs", cmd.Name())
		}
	}
	for _, shell := range []string{"bash", "zsh", "fish"} {
		if out, _, code := call(t, "", "completion", shell); code != 0 || !strings.Contains(out, "kubectl-aalis") {
			t.Errorf("%s: exit status %d", shell, code)
		}
	}
	for _, tc := range []struct{ args, want string }{
		{"render --show", "config"}, {"diff -o", "yaml"}, {"render --output", "json"},
	} {
		out, _, _ := call(t, "", append(append([]string{"__complete"}, strings.Fields(tc.args)...), "")...)
		if !strings.Contains(out, tc.want) {
			t.Errorf("%s: got %s", tc.args, out)
		}
	}
}

func TestExit(t *testing.T) {
	for _, tc := range []struct {
		err  error
		code int
		text string
	}{
		{nil, 0, ""}, {fmt.Errorf("a"), 1, "a"}, {&command.ExitError{Code: 1}, 1, ""},
		{&command.ExitError{Code: 2, Err: fmt.Errorf("b")}, 2, "b"}, {fmt.Errorf("c: %w", context.Canceled), 0, ""},
	} {
		if code, text := command.Exit(tc.err); code != tc.code || text != tc.text {
			t.Errorf("%v: got %d %q", tc.err, code, text)
		}
	}
}
