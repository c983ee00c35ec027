// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tools

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// tmpPrefix starts the names of unfinished files; what a killed run left
// behind is removed under the lock by the next one.
const tmpPrefix = ".tmp-"

// Builder builds tool modules into a cache.
type Builder struct {
	// Repo is the root of the source tree.
	Repo string
	// Bin is the cache folder.
	Bin string
	// Log receives one line a step.
	Log func(format string, args ...any)
	// Compile builds one binary; nil means the Go toolchain.
	Compile func(ctx context.Context, job Job) error
}

// Job is one binary to compile.
type Job struct {
	Dir     string // folder of the tool module, where go build runs
	Package string
	LDFlags string
	Output  string // file to write
}

// Paths maps the name of a binary to its file in the cache.
type Paths map[string]string

// Ensure returns the files of all binaries of the modules and builds those that
// are missing, one after another. Two runs do not collide: the second waits for
// the first and finds the work done. A build that is interrupted leaves nothing
// that looks like a binary.
func (b *Builder) Ensure(ctx context.Context, modules []Module) (Paths, error) {
	pins := make([]pinned, 0, len(modules))
	for _, m := range modules {
		p, err := pin(b.Repo, m)
		if err != nil {
			return nil, err
		}
		pins = append(pins, p)
	}
	if paths, missing := b.lookup(pins); len(missing) == 0 {
		return paths, nil
	}
	unlock, err := b.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	paths, missing := b.lookup(pins) // again: another run may have built them
	for i, m := range missing {
		b.Log("building %s %s (%d of %d)", m.binary.Name, m.version, i+1, len(missing))
		start := time.Now()
		if err := b.build(ctx, m); err != nil {
			return nil, fmt.Errorf("building %s %s: %w", m.binary.Name, m.version, err)
		}
		b.Log("built %s in %s", m.binary.Name, time.Since(start).Round(time.Second))
	}
	return paths, nil
}

// LinkEnvtest returns a folder that holds etcd, kube-apiserver and kubectl and
// nothing else, for KUBEBUILDER_ASSETS.
func (b *Builder) LinkEnvtest(paths Paths) (string, error) {
	h := sha256.New()
	names := []string{"etcd", "kube-apiserver", "kubectl"}
	for _, name := range names {
		_, _ = io.WriteString(h, paths[name]+"\n") // a hash never fails
	}
	dir := filepath.Join(b.Bin, "envtest-"+hex.EncodeToString(h.Sum(nil))[:12])
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("making the envtest folder: %w", err)
	}
	for _, name := range names {
		target, err := filepath.Rel(dir, paths[name])
		if err != nil {
			return "", fmt.Errorf("linking %s: %w", name, err)
		}
		err = os.Symlink(target, filepath.Join(dir, name))
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return "", fmt.Errorf("linking %s: %w", name, err)
		}
	}
	return dir, nil
}

type missingBinary struct {
	pinned
	binary Binary
}

func (b *Builder) lookup(pins []pinned) (Paths, []missingBinary) {
	paths := Paths{}
	var missing []missingBinary
	for _, p := range pins {
		for _, bin := range p.Binaries {
			file := filepath.Join(b.Bin, p.key, bin.Name)
			paths[bin.Name] = file
			if info, err := os.Stat(file); err != nil || !info.Mode().IsRegular() {
				missing = append(missing, missingBinary{pinned: p, binary: bin})
			}
		}
	}
	return paths, missing
}

func (b *Builder) build(ctx context.Context, m missingBinary) error {
	dir := filepath.Join(b.Bin, m.key)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	stale, err := filepath.Glob(filepath.Join(dir, tmpPrefix+"*"))
	if err != nil {
		return err
	}
	for _, file := range stale {
		if err := os.Remove(file); err != nil {
			return fmt.Errorf("removing what an interrupted build left: %w", err)
		}
	}
	compile := b.Compile
	if compile == nil {
		compile = goBuild
	}
	tmp := filepath.Join(dir, tmpPrefix+m.binary.Name)
	job := Job{Dir: m.source, Package: m.binary.Package, LDFlags: m.ldflags, Output: tmp}
	if err := compile(ctx, job); err != nil {
		return err
	}
	return os.Rename(tmp, filepath.Join(dir, m.binary.Name))
}

// goBuild runs the toolchain at low priority: a build must not starve what else
// runs on the machine.
func goBuild(ctx context.Context, job Job) error {
	cmd := exec.CommandContext(ctx, "nice", "-n", "5", "go", "build", "-trimpath",
		"-ldflags", job.LDFlags, "-o", job.Output, job.Package)
	cmd.Dir = job.Dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off", "GOFLAGS=")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w\n%s", err, strings.TrimSpace(string(out)))
	}
	return nil
}

// lock takes the cache's lock and says so when it has to wait.
func (b *Builder) lock(ctx context.Context) (unlock func(), err error) {
	if err := os.MkdirAll(b.Bin, 0o755); err != nil {
		return nil, fmt.Errorf("making the cache of binaries: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(b.Bin, ".lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("opening the lock of the binary cache: %w", err)
	}
	poll := time.NewTicker(250 * time.Millisecond)
	defer poll.Stop()
	for told := false; ; {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { _ = f.Close() }, nil // closing releases the lock
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			_ = f.Close()
			return nil, fmt.Errorf("locking the binary cache: %w", err)
		}
		if !told {
			b.Log("waiting for another build of the cluster's binaries")
			told = true
		}
		select {
		case <-ctx.Done():
			_ = f.Close()
			return nil, fmt.Errorf("waiting for another build: %w", ctx.Err())
		case <-poll.C:
		}
	}
}
