// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package proc

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// pollEvery is how often a process that was told to end is looked at.
	pollEvery = 25 * time.Millisecond
	// maxLog is the size from which a log is set aside before the next start.
	maxLog = 16 << 20
	// killWait bounds the wait for a process after SIGKILL.
	killWait = 5 * time.Second
)

// Spec says how to start a process.
type Spec struct {
	// Name names its record and its log.
	Name string
	// Argv is the program's file and its arguments.
	Argv []string
	// Env is added to a minimal environment of PATH, HOME and the mark.
	Env []string
	// Inputs are files whose content decides how the process behaves: when one
	// of them changes, the process has to be started anew.
	Inputs []string
}

// fingerprint covers all of a Spec.
func (s Spec) fingerprint() (string, error) {
	h := sha256.New()
	for _, word := range append(append([]string{}, s.Argv...), s.Env...) {
		_, _ = fmt.Fprintf(h, "%d %s\n", len(word), word) // a hash never fails
	}
	for _, file := range s.Inputs {
		f, err := os.Open(file)
		if err != nil {
			return "", fmt.Errorf("reading an input of %s: %w", s.Name, err)
		}
		_, err = io.Copy(h, f)
		_ = f.Close()
		if err != nil {
			return "", fmt.Errorf("reading an input of %s: %w", s.Name, err)
		}
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// Manager starts and stops the processes of one cluster.
type Manager struct {
	// Pids and Logs are existing folders.
	Pids, Logs string
	// Mark is the environment entry, KEY=VALUE, that every process carries.
	Mark string
	// Table is the process table; its zero Root means /proc.
	Table Table
}

func (m Manager) table() Table {
	if m.Table.Root == "" {
		return Table{Root: "/proc"}
	}
	return m.Table
}

// LogFile is the log of a process.
func (m Manager) LogFile(name string) string { return filepath.Join(m.Logs, name+".log") }

// Running returns the record of a process and whether it runs.
func (m Manager) Running(name string) (Record, bool) {
	r, ok := Load(m.Pids, name)
	return r, ok && m.table().Running(r)
}

// Ensure starts the process unless it runs with the same command line and
// inputs already; one that runs with others is stopped first. The channel is
// closed when a process that this call started ends; it is nil when the process
// ran already.
func (m Manager) Ensure(ctx context.Context, spec Spec) (started bool, ended <-chan struct{}, err error) {
	want, err := spec.fingerprint()
	if err != nil {
		return false, nil, err
	}
	if r, running := m.Running(spec.Name); running {
		if r.Fingerprint == want {
			return false, nil, nil
		}
		if err := m.Stop(ctx, spec.Name, 10*time.Second); err != nil {
			return false, nil, err
		}
	}
	ended, err = m.start(spec, want)
	return err == nil, ended, err
}

func (m Manager) start(spec Spec, fingerprint string) (<-chan struct{}, error) {
	log, err := m.openLog(spec.Name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }() // the child has its own descriptor
	cmd := exec.Command(spec.Argv[0], spec.Argv[1:]...)
	cmd.Env = append([]string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", m.Mark}, spec.Env...)
	cmd.Dir = "/"
	cmd.Stdout, cmd.Stderr = log, log
	// A session of its own: the process is neither interrupted from the
	// terminal nor ended with the command that started it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	// Files that this command was given without knowing, such as the lock of
	// flock(1), are not for a process that outlives it.
	if err := unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return nil, fmt.Errorf("keeping files from %s: %w", spec.Name, err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", spec.Name, err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = cmd.Wait() // how it ended is in its log
	}()
	boot, err := m.table().Boot()
	if err != nil {
		return nil, err
	}
	s, err := m.table().stat(cmd.Process.Pid)
	if err != nil {
		return done, nil // it has ended already, which the channel tells
	}
	r := Record{Name: spec.Name, PID: cmd.Process.Pid, StartTicks: s.startTicks, Boot: boot, Fingerprint: fingerprint}
	return done, save(m.Pids, r)
}

func (m Manager) openLog(name string) (*os.File, error) {
	file := m.LogFile(name)
	if info, err := os.Stat(file); err == nil && info.Size() > maxLog {
		if err := os.Rename(file, file+".1"); err != nil {
			return nil, fmt.Errorf("setting the log of %s aside: %w", name, err)
		}
	}
	log, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the log of %s: %w", name, err)
	}
	return log, nil
}

// Stop ends a process: SIGTERM, and SIGKILL after the grace time. It is no
// error if the process does not run.
func (m Manager) Stop(ctx context.Context, name string, grace time.Duration) error {
	r, ok := Load(m.Pids, name)
	if ok {
		if err := m.Kill(ctx, r, grace); err != nil {
			return err
		}
	}
	return forget(m.Pids, name)
}

// Kill ends the process of a record; with no grace it is killed at once.
func (m Manager) Kill(ctx context.Context, r Record, grace time.Duration) error {
	if grace > 0 {
		if err := m.signal(r, syscall.SIGTERM); err != nil {
			return err
		}
		if m.gone(ctx, r, grace) {
			return nil
		}
	}
	if err := m.signal(r, syscall.SIGKILL); err != nil {
		return err
	}
	// The caller's context may be over by now, but the kill must be seen through.
	if !m.gone(context.WithoutCancel(ctx), r, killWait) {
		return fmt.Errorf("%s (process %d) does not end", r.Name, r.PID)
	}
	return nil
}

// signal takes a handle of the process first and compares the record after, so
// that the id cannot change hands between the check and the signal.
func (m Manager) signal(r Record, sig syscall.Signal) error {
	p, err := os.FindProcess(r.PID)
	if err != nil {
		return fmt.Errorf("looking for %s (process %d): %w", r.Name, r.PID, err)
	}
	defer func() { _ = p.Release() }()
	if !m.table().Running(r) {
		return nil
	}
	if err := p.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("signalling %s (process %d): %w", r.Name, r.PID, err)
	}
	return nil
}

func (m Manager) gone(ctx context.Context, r Record, within time.Duration) bool {
	deadline := time.NewTimer(within)
	defer deadline.Stop()
	poll := time.NewTicker(pollEvery)
	defer poll.Stop()
	for m.table().Running(r) {
		select {
		case <-ctx.Done():
			return false
		case <-deadline.C:
			return !m.table().Running(r)
		case <-poll.C:
		}
	}
	return true
}

// Find returns the running processes that carry the mark.
func (m Manager) Find() ([]Record, error) { return m.table().Find([]string{m.Mark}, nil) }

// FindArgument returns the running processes whose command line has an argument.
func (m Manager) FindArgument(argument string) ([]Record, error) {
	return m.table().Find(nil, []string{argument})
}

// Describe returns a record of a running process that this package did not
// start, ok being false when there is none.
func (m Manager) Describe(pid int) (r Record, ok bool) { return m.table().describe(pid) }

// RSS returns the resident memory of a recorded process in bytes.
func (m Manager) RSS(r Record) int64 { return m.table().RSS(r.PID) }

// Boot returns the id of the machine's present boot.
func (m Manager) Boot() (string, error) { return m.table().Boot() }

// StartedAt returns when the process of a name was started: the time of its
// record.
func (m Manager) StartedAt(name string) (time.Time, error) {
	info, err := os.Stat(recordFile(m.Pids, name))
	if err != nil {
		return time.Time{}, fmt.Errorf("looking for the record of %s: %w", name, err)
	}
	return info.ModTime(), nil
}
