// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package proc

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func statLine(pid int, comm string, state byte, ticks uint64) string {
	return fmt.Sprintf("%d (%s) %c 1 %d %d 0 -1 4194304 100 0 0 0 5 6 0 0 20 0 9 0 %d 123 45 18446744073709551615\n", pid, comm, state, pid, pid, ticks)
}

func TestParseStat(t *testing.T) {
	for _, test := range []struct {
		name, line string
		want       stat
		bad        bool
	}{
		{"usual", statLine(7, "etcd", 'S', 42), stat{'S', 1, 42}, false},
		{"blanks and brackets in the command", statLine(7, "a) R 9 (b", 'Z', 43), stat{'Z', 1, 43}, false},
		{"empty", "", stat{}, true},
		{"cut off", "7 (etcd) S 1 7", stat{}, true},
		{"no numbers", "7 (x) " + strings.Repeat("x ", 30), stat{}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := parseStat(test.line)
			if (err != nil) != test.bad || got != test.want {
				t.Errorf("got %+v, error %v; want %+v, bad %v", got, err, test.want, test.bad)
			}
		})
	}
}

func FuzzParseStat(f *testing.F) {
	f.Add(statLine(1, "x", 'R', 5))
	f.Add("1 (a b) c) S 1 2")
	f.Fuzz(func(t *testing.T, line string) {
		if s, err := parseStat(line); err == nil && s.state == 0 {
			t.Errorf("no state in %q", line)
		}
	})
}

// fakeProc is a proc file system in a folder.
type fakeProc struct {
	t   *testing.T
	dir string
}

func newFakeProc(t *testing.T, boot string) fakeProc {
	t.Helper()
	f := fakeProc{t, t.TempDir()}
	f.write("sys/kernel/random/boot_id", boot+"\n")
	return f
}

func (f fakeProc) write(name, text string) {
	f.t.Helper()
	file := filepath.Join(f.dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		f.t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		f.t.Fatal(err)
	}
}

func (f fakeProc) process(pid int, comm string, state byte, ticks uint64, environ, cmdline string) {
	f.t.Helper()
	dir := strconv.Itoa(pid)
	f.write(dir+"/stat", statLine(pid, comm, state, ticks))
	f.write(dir+"/comm", comm+"\n")
	f.write(dir+"/environ", strings.ReplaceAll(environ, " ", "\x00"))
	f.write(dir+"/cmdline", strings.ReplaceAll(cmdline, " ", "\x00"))
}

func TestRunningIsTheSameProcess(t *testing.T) {
	f := newFakeProc(t, "boot-1")
	f.process(100, "etcd", 'S', 500, "", "")
	f.process(101, "etcd", 'Z', 500, "", "")
	f.process(1, "init", 'S', 1, "", "")
	table := Table{Root: f.dir}
	for _, test := range []struct {
		name string
		r    Record
		want bool
	}{
		{"the process", Record{PID: 100, StartTicks: 500, Boot: "boot-1"}, true},
		{"its id was given to another", Record{PID: 100, StartTicks: 499, Boot: "boot-1"}, false},
		{"before the machine restarted", Record{PID: 100, StartTicks: 500, Boot: "boot-0"}, false},
		{"a zombie", Record{PID: 101, StartTicks: 500, Boot: "boot-1"}, false},
		{"gone", Record{PID: 102, StartTicks: 500, Boot: "boot-1"}, false},
		{"never process 1", Record{PID: 1, StartTicks: 1, Boot: "boot-1"}, false},
		{"an empty record", Record{Boot: "boot-1"}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := table.Running(test.r); got != test.want {
				t.Errorf("got %v", got)
			}
		})
	}
}

func TestFind(t *testing.T) {
	f := newFakeProc(t, "b")
	f.process(10, "marked", 'S', 1, "A=b MARK=1", "x")
	f.process(11, "unmarked", 'S', 2, "A=b MARK=12 XMARK=1", "x")
	f.process(12, "by-argument", 'S', 3, "", "shim -address /run/x.sock")
	f.process(13, "longer argument", 'S', 4, "", "shim -address /run/x.sock.other")
	f.process(14, "dead", 'Z', 5, "MARK=1", "")
	f.write("self/environ", "MARK=1")
	got, err := Table{Root: f.dir}.Find([]string{"MARK=1"}, []string{"/run/x.sock"})
	if err != nil {
		t.Fatal(err)
	}
	want := []Record{
		{Name: "marked", PID: 10, StartTicks: 1, Boot: "b"},
		{Name: "by-argument", PID: 12, StartTicks: 3, Boot: "b"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestRecordFiles(t *testing.T) {
	dir := t.TempDir()
	r := Record{Name: "etcd", PID: 7, StartTicks: 8, Boot: "b", Fingerprint: "f"}
	if err := save(dir, r); err != nil {
		t.Fatal(err)
	}
	if got, ok := Load(dir, "etcd"); !ok || got != r {
		t.Errorf("got %+v, %v", got, ok)
	}
	for name, text := range map[string]string{"empty": "", "broken": `{"name":`, "other": `{"name":"etcd","pid":7}`} {
		if err := os.WriteFile(recordFile(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, ok := Load(dir, name); ok {
			t.Errorf("%s: a record was read", name)
		}
	}
	for range 2 {
		if err := forget(dir, "etcd"); err != nil {
			t.Error(err)
		}
	}
	if _, ok := Load(dir, "etcd"); ok {
		t.Error("not forgotten")
	}
}
