// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package proc

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newManager(t *testing.T) Manager {
	t.Helper()
	dir := t.TempDir()
	m := Manager{Pids: filepath.Join(dir, "pids"), Logs: filepath.Join(dir, "logs"), Mark: "TEST_OF_PROC=" + dir}
	for _, d := range []string{m.Pids, m.Logs} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

// ensure starts a process that is certainly ended with the test.
func ensure(t *testing.T, m Manager, spec Spec) (started bool, ended <-chan struct{}) {
	t.Helper()
	started, ended, err := m.Ensure(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	if started {
		t.Cleanup(func() {
			if err := m.Stop(context.Background(), spec.Name, 0); err != nil {
				t.Error(err)
			}
			<-ended
		})
	}
	return started, ended
}

func TestEnsureIsIdempotent(t *testing.T) {
	m := newManager(t)
	config := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(config, []byte("one"), 0o600); err != nil {
		t.Fatal(err)
	}
	spec := Spec{Name: "sleeper", Argv: []string{"sleep", "300"}, Inputs: []string{config}}
	if started, _ := ensure(t, m, spec); !started {
		t.Fatal("not started")
	}
	first, running := m.Running("sleeper")
	if !running {
		t.Fatal("does not run")
	}
	if started, _ := ensure(t, m, spec); started {
		t.Error("started again though nothing changed")
	}
	if err := os.WriteFile(config, []byte("two"), 0o600); err != nil {
		t.Fatal(err)
	}
	if started, _ := ensure(t, m, spec); !started {
		t.Error("not started again though its configuration changed")
	}
	second, running := m.Running("sleeper")
	if !running || second.PID == first.PID {
		t.Errorf("process %d, running %v; want another than %d", second.PID, running, first.PID)
	}
	if m.table().Running(first) {
		t.Error("the first one still runs")
	}
}

func TestProcessHasItsOwnSessionMarkAndLog(t *testing.T) {
	m := newManager(t)
	spec := Spec{Name: "talker", Argv: []string{"sh", "-c", "echo out; echo err >&2; sleep 300"}, Env: []string{"EXTRA=1"}}
	ensure(t, m, spec)
	r, _ := m.Running("talker")
	if sid, err := getsid(r.PID); err != nil || sid != r.PID {
		t.Errorf("session %d, error %v; want %d", sid, err, r.PID)
	}
	found, err := m.Find()
	if err != nil {
		t.Fatal(err)
	}
	if len(found) == 0 || found[0].PID != r.PID {
		t.Errorf("found by its mark: %+v; want process %d", found, r.PID)
	}
	waitUntil(t, "the log has both streams", func() bool {
		data, err := os.ReadFile(m.LogFile("talker"))
		return err == nil && strings.Contains(string(data), "out") && strings.Contains(string(data), "err")
	})
}

func TestStopKillsWhatDoesNotListen(t *testing.T) {
	m := newManager(t)
	_, ended := ensure(t, m, Spec{Name: "deaf", Argv: []string{"sh", "-c", `trap "" TERM; echo ready; while :; do sleep 0.1; done`}})
	waitUntil(t, "it ignores SIGTERM", func() bool {
		data, err := os.ReadFile(m.LogFile("deaf"))
		return err == nil && strings.Contains(string(data), "ready")
	})
	if err := m.Stop(t.Context(), "deaf", 50*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	<-ended
	if _, running := m.Running("deaf"); running {
		t.Error("it still runs")
	}
	if err := m.Stop(t.Context(), "deaf", time.Second); err != nil {
		t.Errorf("stopping twice: %v", err)
	}
}

func TestStopSparesARecycledID(t *testing.T) {
	m := newManager(t)
	ensure(t, m, Spec{Name: "stranger", Argv: []string{"sleep", "300"}})
	r, _ := m.Running("stranger")
	stale := r
	stale.Name, stale.StartTicks = "ours", r.StartTicks-1
	if err := save(m.Pids, stale); err != nil {
		t.Fatal(err)
	}
	if err := m.Stop(t.Context(), "ours", time.Second); err != nil {
		t.Fatal(err)
	}
	if _, running := m.Running("stranger"); !running {
		t.Error("a process that was not ours was stopped")
	}
}

func TestEndedIsTold(t *testing.T) {
	m := newManager(t)
	_, ended := ensure(t, m, Spec{Name: "short", Argv: []string{"true"}})
	<-ended
	if _, running := m.Running("short"); running {
		t.Error("it runs")
	}
	if started, _ := ensure(t, m, Spec{Name: "short", Argv: []string{"true"}}); !started {
		t.Error("an ended process was not started again")
	}
}

func TestEnsureErrors(t *testing.T) {
	m := newManager(t)
	for name, spec := range map[string]Spec{
		"no program": {Name: "a", Argv: []string{"/no/such/program"}},
		"no input":   {Name: "b", Argv: []string{"true"}, Inputs: []string{"/no/such/file"}},
	} {
		if _, _, err := m.Ensure(t.Context(), spec); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestBigLogIsSetAside(t *testing.T) {
	m := newManager(t)
	if err := os.WriteFile(m.LogFile("x"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(m.LogFile("x"), maxLog+1); err != nil {
		t.Fatal(err)
	}
	_, ended := ensure(t, m, Spec{Name: "x", Argv: []string{"true"}})
	<-ended
	if info, err := os.Stat(m.LogFile("x")); err != nil || info.Size() != 0 {
		t.Errorf("%v, error %v; want an empty log", info, err)
	}
	if _, err := os.Stat(m.LogFile("x") + ".1"); err != nil {
		t.Error(err)
	}
}

// waitUntil looks at another process's doings, which cannot tell when they are
// done.
func waitUntil(t *testing.T, what string, done func() bool) {
	t.Helper()
	deadline := time.After(10 * time.Second)
	poll := time.NewTicker(10 * time.Millisecond)
	defer poll.Stop()
	for !done() {
		select {
		case <-deadline:
			t.Fatalf("not within 10 s: %s", what)
		case <-poll.C:
		}
	}
}

func getsid(pid int) (int, error) {
	sid, _, errno := syscall.Syscall(syscall.SYS_GETSID, uintptr(pid), 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return int(sid), nil
}
