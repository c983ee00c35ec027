// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package proc

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestInheritsNothing: a file that the caller was given, here by a copy that is kept over exec, does not live on in the
// process; a lock on it would never be let go.
func TestInheritsNothing(t *testing.T) {
	m := newManager(t)
	lock := filepath.Join(t.TempDir(), "lock")
	file, err := os.Create(lock)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	fd, err := syscall.Dup(int(file.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Close(fd) }()
	ensure(t, m, Spec{Name: "sleeper", Argv: []string{"sleep", "300"}})
	r, running := m.Running("sleeper")
	if !running {
		t.Fatal("does not run")
	}
	dir := fmt.Sprintf("/proc/%d/fd", r.PID)
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if target, err := os.Readlink(filepath.Join(dir, e.Name())); err == nil && target == lock {
			t.Errorf("descriptor %s of the process is %s", e.Name(), lock)
		}
	}
}
