// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package proc starts the cluster's processes so that they outlive the command
// that started them, remembers which ones they are, and stops exactly those.
//
// A record names a process by its id, its start time and the boot it ran in, so
// that an id that the kernel gave to somebody else is never signalled. Every
// process also carries a mark in its environment, which finds those that a
// killed run started and had no time to record. hack/cluster is the only caller.
package proc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Record is what is kept of a started process.
type Record struct {
	Name string `json:"name"`
	PID  int    `json:"pid"`
	// StartTicks is field 22 of /proc/PID/stat: clock ticks since boot.
	StartTicks uint64 `json:"startTicks"`
	// Boot is the kernel's boot id.
	Boot string `json:"boot"`
	// Fingerprint covers the command line and the configuration files.
	Fingerprint string `json:"fingerprint"`
}

// Table reads processes from a proc file system.
type Table struct {
	// Root is the mount point, normally /proc.
	Root string
}

// stat is what the package needs of /proc/PID/stat.
type stat struct {
	state      byte
	parent     int
	startTicks uint64
}

// parseStat reads a line of /proc/PID/stat. The second field may contain
// spaces and brackets, so that fields are counted from the last bracket.
func parseStat(line string) (stat, error) {
	end := strings.LastIndexByte(line, ')')
	if end < 0 {
		return stat{}, errors.New("no command in a stat line")
	}
	fields := strings.Fields(line[end+1:])
	const state, parent, start = 0, 1, 19 // fields 3, 4 and 22 of proc(5)
	if len(fields) <= start {
		return stat{}, fmt.Errorf("a stat line with %d fields after the command; want %d", len(fields), start+1)
	}
	ppid, err := strconv.Atoi(fields[parent])
	if err != nil {
		return stat{}, fmt.Errorf("parent in a stat line: %w", err)
	}
	ticks, err := strconv.ParseUint(fields[start], 10, 64)
	if err != nil {
		return stat{}, fmt.Errorf("start time in a stat line: %w", err)
	}
	return stat{state: fields[state][0], parent: ppid, startTicks: ticks}, nil
}

func (t Table) stat(pid int) (stat, error) {
	data, err := os.ReadFile(filepath.Join(t.Root, strconv.Itoa(pid), "stat"))
	if err != nil {
		return stat{}, err
	}
	return parseStat(string(data))
}

// Boot returns the kernel's boot id.
func (t Table) Boot() (string, error) {
	data, err := os.ReadFile(filepath.Join(t.Root, "sys/kernel/random/boot_id"))
	if err != nil {
		return "", fmt.Errorf("reading the boot id: %w", err)
	}
	return strings.TrimSpace(string(data)), nil
}

// Running tells whether the recorded process still runs. A zombie does not run.
func (t Table) Running(r Record) bool {
	boot, err := t.Boot()
	if err != nil || boot != r.Boot || r.PID <= 1 {
		return false
	}
	s, err := t.stat(r.PID)
	return err == nil && s.startTicks == r.StartTicks && s.state != 'Z' && s.state != 'X'
}

// RSS returns the resident memory of a process in bytes, 0 when it is gone.
func (t Table) RSS(pid int) int64 {
	data, err := os.ReadFile(filepath.Join(t.Root, strconv.Itoa(pid), "statm"))
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(data))
	if len(fields) < 2 {
		return 0
	}
	pages, err := strconv.ParseInt(fields[1], 10, 64)
	if err != nil {
		return 0
	}
	return pages * int64(os.Getpagesize())
}

// Find returns records of all running processes whose environment holds one of
// the marks, or whose command line holds one of the arguments, as a whole word.
func (t Table) Find(marks, arguments []string) ([]Record, error) {
	entries, err := os.ReadDir(t.Root)
	if err != nil {
		return nil, fmt.Errorf("reading the process table: %w", err)
	}
	var found []Record
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid <= 1 || pid == os.Getpid() {
			continue
		}
		if !t.contains(pid, "environ", marks) && !t.contains(pid, "cmdline", arguments) {
			continue
		}
		if r, ok := t.describe(pid); ok {
			found = append(found, r)
		}
	}
	return found, nil
}

// describe returns a record of a process that runs.
func (t Table) describe(pid int) (Record, bool) {
	boot, err := t.Boot()
	if err != nil {
		return Record{}, false
	}
	s, err := t.stat(pid)
	if err != nil || s.state == 'Z' || s.state == 'X' {
		return Record{}, false
	}
	return Record{Name: t.name(pid), PID: pid, StartTicks: s.startTicks, Boot: boot}, true
}

func (t Table) contains(pid int, file string, words []string) bool {
	if len(words) == 0 {
		return false
	}
	data, err := os.ReadFile(filepath.Join(t.Root, strconv.Itoa(pid), file))
	if err != nil {
		return false
	}
	for word := range bytes.SplitSeq(data, []byte{0}) {
		for _, w := range words {
			if string(word) == w {
				return true
			}
		}
	}
	return false
}

func (t Table) name(pid int) string {
	data, err := os.ReadFile(filepath.Join(t.Root, strconv.Itoa(pid), "comm"))
	if err != nil {
		return "process"
	}
	return strings.TrimSpace(string(data))
}

// Load reads the record of a name; ok is false when there is none or it cannot
// be read, which both mean that the process is not known.
func Load(dir, name string) (r Record, ok bool) {
	data, err := os.ReadFile(recordFile(dir, name))
	if err != nil {
		return Record{}, false
	}
	if err := json.Unmarshal(data, &r); err != nil || r.Name != name {
		return Record{}, false
	}
	return r, true
}

// save writes a record as a whole.
func save(dir string, r Record) error {
	data, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("encoding the record of %s: %w", r.Name, err)
	}
	tmp := recordFile(dir, r.Name) + ".tmp"
	if err := os.WriteFile(tmp, data, 0o600); err != nil {
		return fmt.Errorf("writing the record of %s: %w", r.Name, err)
	}
	return os.Rename(tmp, recordFile(dir, r.Name))
}

// forget removes the record of a name.
func forget(dir, name string) error {
	err := os.Remove(recordFile(dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func recordFile(dir, name string) string { return filepath.Join(dir, name+".json") }
