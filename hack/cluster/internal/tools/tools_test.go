// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tools

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestRequiredVersion(t *testing.T) {
	const gomod = `module x

tool example.org/tool/cmd

require example.org/single v1.0.0
require (
	example.org/tool v2.3.4 // indirect
	example.org/tool/sub v9.9.9
)
replace example.org/other => example.org/other v3.0.0
`
	for module, want := range map[string]string{
		"example.org/tool": "v2.3.4", "example.org/tool/sub": "v9.9.9", "example.org/single": "v1.0.0", "example.org/too": "", "none": "",
	} {
		got, err := requiredVersion(gomod, module)
		if got != want || (err != nil) != (want == "") {
			t.Errorf("%s: got %q, error %v; want %q", module, got, err, want)
		}
	}
}

func TestMajorMinor(t *testing.T) {
	for version, want := range map[string][2]string{"v1.37.2": {"1", "37"}, "v3": {"3", ""}, "v0.1.0-rc.1": {"0", "1"}} {
		if major, minor := majorMinor(version); major != want[0] || minor != want[1] {
			t.Errorf("%s: %s, %s", version, major, minor)
		}
	}
}

// TestPinsOfThisRepository reads the real tool modules.
func TestPinsOfThisRepository(t *testing.T) {
	repo, err := filepath.Abs("../../../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range Modules() {
		p, err := pin(repo, m)
		if err != nil {
			t.Error(err)
			continue
		}
		if !strings.HasPrefix(p.key, m.Dir+"-v") || !strings.HasPrefix(p.ldflags, "-s -w") || strings.Contains(p.ldflags, "%!") {
			t.Errorf("%s: key %s, flags %s", m.Dir, p.key, p.ldflags)
		}
	}
}

func TestEnvtestNeedsThree(t *testing.T) {
	var got []string
	for _, m := range Envtest() {
		for _, b := range m.Binaries {
			got = append(got, b.Name)
		}
	}
	slices.Sort(got)
	if diff := cmp.Diff([]string{"etcd", "kube-apiserver", "kubectl"}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// repo is a source tree with one tool module.
type repo struct {
	t   *testing.T
	dir string
}

var module = Module{Dir: "tool", Upstream: "example.org/tool", Binaries: []Binary{{"one", "p/one"}, {"two", "p/two"}}}

func newRepo(t *testing.T) repo {
	t.Helper()
	r := repo{t, t.TempDir()}
	r.write("go.mod", "module m\n\nrequire example.org/tool v1.2.3\n")
	r.write("go.sum", "sums\n")
	return r
}

func (r repo) write(name, text string) {
	r.t.Helper()
	file := filepath.Join(r.dir, "hack", "tools", "tool", name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		r.t.Fatal(err)
	}
}

// compiler counts and fakes builds.
type compiler struct {
	mu    sync.Mutex
	built []string
	fail  error
}

func (c *compiler) compile(_ context.Context, job Job) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.built = append(c.built, job.Package)
	if err := os.WriteFile(job.Output, []byte(job.Package), 0o755); err != nil {
		return err
	}
	return c.fail
}

func newBuilder(t *testing.T, r repo, bin string, c *compiler) *Builder {
	t.Helper()
	return &Builder{Repo: r.dir, Bin: bin, Log: t.Logf, Compile: c.compile}
}

func TestEnsureBuildsOnce(t *testing.T) {
	r, bin, c := newRepo(t), filepath.Join(t.TempDir(), "bin"), &compiler{}
	b := newBuilder(t, r, bin, c)
	for range 2 {
		paths, err := b.Ensure(t.Context(), []Module{module})
		if err != nil {
			t.Fatal(err)
		}
		for name, pkg := range map[string]string{"one": "p/one", "two": "p/two"} {
			if data, err := os.ReadFile(paths[name]); err != nil || string(data) != pkg {
				t.Errorf("%s: %q, error %v", name, data, err)
			}
		}
	}
	if diff := cmp.Diff([]string{"p/one", "p/two"}, c.built); diff != "" {
		t.Errorf("builds (-want +got):\n%s", diff)
	}
}

func TestEnsureBuildsAgainWhenThePinsChange(t *testing.T) {
	for _, change := range []struct{ name, text string }{
		{"go.mod", "module m\n\nrequire example.org/tool v1.2.4\n"}, {"go.sum", "other sums\n"}, {"main.go", "package main\n"},
	} {
		t.Run(change.name, func(t *testing.T) {
			r, c := newRepo(t), &compiler{}
			b := newBuilder(t, r, filepath.Join(t.TempDir(), "bin"), c)
			first, err := b.Ensure(t.Context(), []Module{module})
			if err != nil {
				t.Fatal(err)
			}
			r.write(change.name, change.text)
			second, err := b.Ensure(t.Context(), []Module{module})
			if err != nil {
				t.Fatal(err)
			}
			if len(c.built) != 4 || first["one"] == second["one"] {
				t.Errorf("builds %v, files %s and %s", c.built, first["one"], second["one"])
			}
		})
	}
}

func TestInterruptedBuildLeavesNoBinary(t *testing.T) {
	r, c := newRepo(t), &compiler{fail: errors.New("killed")}
	b := newBuilder(t, r, filepath.Join(t.TempDir(), "bin"), c)
	if _, err := b.Ensure(t.Context(), []Module{module}); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Fatalf("error %v", err)
	}
	files := func() (out []string) {
		matches, err := filepath.Glob(filepath.Join(b.Bin, "tool-v1.2.3-*", "*"))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range matches {
			out = append(out, filepath.Base(m))
		}
		return out
	}
	if slices.Contains(files(), "one") {
		t.Error("half a binary looks like a whole one")
	}
	c.fail = nil
	if _, err := b.Ensure(t.Context(), []Module{module}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"one", "two"}, files()); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

func TestTwoRunsDoNotCollide(t *testing.T) {
	r, bin, c := newRepo(t), filepath.Join(t.TempDir(), "bin"), &compiler{}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if _, err := newBuilder(t, r, bin, c).Ensure(t.Context(), []Module{module}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if len(c.built) != 2 {
		t.Errorf("builds %v; want each binary once", c.built)
	}
}

func TestWaitingForTheLockCanBeInterrupted(t *testing.T) {
	r, bin, c := newRepo(t), filepath.Join(t.TempDir(), "bin"), &compiler{}
	b := newBuilder(t, r, bin, c)
	unlock, err := b.lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	ctx, cancel := context.WithCancel(t.Context())
	b.Log = func(string, ...any) { cancel() } // it says that it waits
	if _, err := b.Ensure(ctx, []Module{module}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v; want canceled", err)
	}
	if len(c.built) > 0 {
		t.Error("it built without the lock")
	}
}

func TestLinkEnvtest(t *testing.T) {
	bin := t.TempDir()
	b := &Builder{Bin: bin}
	paths := Paths{}
	for _, name := range []string{"etcd", "kube-apiserver", "kubectl", "kubelet"} {
		paths[name] = filepath.Join(bin, "x-v1", name)
		if err := os.MkdirAll(filepath.Dir(paths[name]), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(paths[name], []byte(name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	var dirs []string
	for range 2 {
		dir, err := b.LinkEnvtest(paths)
		if err != nil {
			t.Fatal(err)
		}
		dirs = append(dirs, dir)
	}
	if dirs[0] != dirs[1] {
		t.Errorf("folders %v", dirs)
	}
	for _, name := range []string{"etcd", "kube-apiserver", "kubectl"} {
		if data, err := os.ReadFile(filepath.Join(dirs[0], name)); err != nil || string(data) != name {
			t.Errorf("%s: %q, error %v", name, data, err)
		}
	}
	if _, err := os.Stat(filepath.Join(dirs[0], "kubelet")); err == nil {
		t.Error("kubelet is there too")
	}
}
