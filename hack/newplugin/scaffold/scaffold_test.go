// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package scaffold_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aalis-dev/aalis-operator/hack/newplugin/scaffold"
)

func TestNames(t *testing.T) {
	for name, want := range map[string]string{
		"echo": "", "message-archive": "", "llm2": "", "a": "", "go-routine": "",
		"":                   "must be lower-case",
		"Echo":               "must be lower-case",
		"2d":                 "must be lower-case",
		"a_b":                "must be lower-case",
		"a b":                "must be lower-case",
		"-a":                 "must be lower-case",
		"a--b":               "must be lower-case",
		"a-":                 "must be lower-case",
		"a/b":                "must be lower-case",
		"../a":               "must be lower-case",
		"a.b":                "must be lower-case",
		"机器人":                "must be lower-case",
		"@aalis/plugin-echo": `must be the short one: "echo"`,
		"go":                 "may not be",
		"g-o":                "may not be",
		"runtime":            "may not be",
		"internal":           "may not be",

		strings.Repeat("a", 41): "may not be longer than 40 characters, got 41",
	} {
		_, err := scaffold.New(name)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: got error %v, want one with %q", name, err, want)
		}
	}
}

func TestWrite(t *testing.T) {
	dir := t.TempDir()
	p := mustNew(t, "message-echo")
	if err := p.Write(dir); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"plugin.go", "config.go", "messageecho_test.go"} {
		data, err := os.ReadFile(filepath.Join(dir, "message-echo", name))
		if err != nil {
			t.Fatal(err)
		}
		if lines := strings.Count(string(data), "\n"); lines > 60 || !strings.Contains(string(data), "package messageecho\n") {
			t.Errorf("%s has %d lines or another package:\n%s", name, lines, data)
		}
	}
	if err := p.Write(dir); err == nil || !strings.Contains(err.Error(), "there is a plugin message-echo already") {
		t.Errorf("writing twice: %v", err)
	}
	if err := p.Write(filepath.Join(dir, "none")); err == nil || !strings.Contains(err.Error(), "making the folder") {
		t.Errorf("writing into nothing: %v", err)
	}
}

func mustNew(t *testing.T, name string) scaffold.Plugin {
	t.Helper()
	p, err := scaffold.New(name)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestConforms lays a new plugin, and a host that lists it, over the repository, without touching it: the plugin passes its
// own tests, of which one is the conformance run, and the host builds.
func TestConforms(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles a plugin and the host")
	}
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	p := mustNew(t, "zz-scaffolded")
	if err := p.Write(dir); err != nil {
		t.Fatal(err)
	}
	overlay := map[string]string{}
	files, err := os.ReadDir(filepath.Join(dir, p.Name))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		overlay[filepath.Join(root, "runtime", "plugins", p.Name, f.Name())] = filepath.Join(dir, p.Name, f.Name())
	}
	host := filepath.Join(root, "runtime", "host", "plugins.go")
	overlay[host] = filepath.Join(dir, "plugins.go")
	list(t, p, host, overlay[host])
	replace := filepath.Join(dir, "overlay.json")
	data, err := json.Marshal(map[string]any{"Replace": overlay})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(replace, data, 0o600); err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(dir, "plugin.test")
	command(t, root, "go", "build", "-overlay", replace, "./runtime/host")
	command(t, root, "go", "test", "-c", "-vet=off", "-overlay", replace, "-o", binary, "./runtime/plugins/"+p.Name)
	if out := command(t, dir, binary, "-test.v", "-test.timeout=60s"); !strings.Contains(out, "--- PASS: TestConformance/") {
		t.Errorf("the conformance run is not part of the tests:\n%s", out)
	}
}

// list writes the host's list of plugins with the lines that Next asks for.
func list(t *testing.T, p scaffold.Plugin, from, to string) {
	t.Helper()
	next := p.Next()
	if !strings.Contains(next, p.ImportLine()) || !strings.Contains(next, p.ListLine()) || !strings.Contains(next, "runtime/host/plugins.go") {
		t.Errorf("what is next does not say it all:\n%s", next)
	}
	data, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(string(data), "import (\n", "import (\n\t"+p.ImportLine()+"\n", 1)
	text = strings.Replace(text, "return []kernel.Module{\n", "return []kernel.Module{\n\t\t"+p.ListLine()+"\n", 1)
	if err := os.WriteFile(to, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func command(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
	return string(out)
}
