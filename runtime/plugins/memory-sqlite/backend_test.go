// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package memorysqlite

import (
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aalis-dev/aalis-operator/runtime/contract/memory"
	"github.com/aalis-dev/aalis-operator/runtime/contract/memory/memorytest"
	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
	"github.com/aalis-dev/aalis-operator/runtime/kerneltest"
	"github.com/aalis-dev/aalis-operator/runtime/recompute"
)

func inDir(dir string) kerneltest.Option {
	return kerneltest.WithOptions(func(o *kernel.Options) { o.DataDir = dir })
}

func start(t *testing.T, dir string) (*kerneltest.Harness, memory.Backend) {
	t.Helper()
	h := kerneltest.New(t, kerneltest.WithPlugin(Plugin, "", nil), inDir(dir))
	b, ok := memory.Service.Get(h.Root())
	if !ok {
		t.Fatalf("there is no memory:\n%s", h.Logs)
	}
	return h, b
}

func TestConformance(t *testing.T) { kerneltest.Run(t, Plugin, inDir(t.TempDir())) }

func TestBackend(t *testing.T) {
	memorytest.Run(t, func(t *testing.T) (one, other memory.Backend) {
		t.Helper()
		dir := t.TempDir()
		_, one = start(t, filepath.Join(dir, "one"))
		_, other = start(t, filepath.Join(dir, "other ? # %"))
		return one, other
	})
}

func TestSurvivesARestart(t *testing.T) {
	dir := t.TempDir()
	h, b := start(t, dir)
	m := message.Message{Role: message.RoleUser, Content: "kept", Timestamp: 1}
	if err := b.SaveMessage(t.Context(), "s", m); err != nil {
		t.Fatal(err)
	}
	if err := b.CommitMetadata(t.Context(), []memory.Op{{Namespace: "n", Key: "k", Data: []byte("1")}}); err != nil {
		t.Fatal(err)
	}
	h.Stop()
	_, b = start(t, dir)
	ms, err := b.History(t.Context(), "s", 0)
	if err != nil || len(ms) != 1 || ms[0].Content != "kept" {
		t.Errorf("got %v, %v", ms, err)
	}
	if v, ok, err := b.Metadata(t.Context(), "n", "k"); err != nil || !ok || string(v) != "1" {
		t.Errorf("got %s %v %v", v, ok, err)
	}
}

// A file that the bot's other versions wrote lacks columns and has no version.
func TestTakesOverAnOldFile(t *testing.T) {
	dir := t.TempDir()
	db, err := connect(filepath.Join(dir, fileName), time.Second, 1)
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.ExecContext(t.Context(), "CREATE TABLE messages (id INTEGER PRIMARY KEY AUTOINCREMENT, sessionId TEXT NOT NULL, role TEXT NOT NULL,"+
		" content TEXT, toolCalls TEXT, toolCallId TEXT, name TEXT, timestamp INTEGER NOT NULL);"+
		" INSERT INTO messages (sessionId, role, content, toolCalls, timestamp) VALUES ('s', 'user', 'old', 'no json', 1), ('s', 'assistant', NULL, NULL, 2)")
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	_, b := start(t, dir)
	ms, err := b.History(t.Context(), "s", 0)
	if err != nil || len(ms) != 2 || ms[0].Content != "old" || ms[0].ToolCalls != nil || ms[1].Content != "" {
		t.Errorf("got %+v, %v", ms, err)
	}
	if err := b.SaveMessage(t.Context(), "s", message.Message{Role: message.RoleUser, Kind: "k"}); err != nil {
		t.Error(err)
	}
}

func TestFilesThatCannotBeUsed(t *testing.T) {
	newer := func(t *testing.T, path string) {
		t.Helper()
		db, err := connect(path, time.Second, 1)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := db.ExecContext(t.Context(), "PRAGMA user_version = 99"); err != nil {
			t.Fatal(err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for name, tc := range map[string]struct {
		make func(t *testing.T, path string)
		want string
	}{
		"no database": {func(t *testing.T, path string) {
			t.Helper()
			if err := os.WriteFile(path, []byte(strings.Repeat("no database ", 1000)), 0o600); err != nil {
				t.Fatal(err)
			}
		}, "is corrupt or no SQLite file; restore a backup"},
		"directory": {func(t *testing.T, path string) {
			t.Helper()
			if err := os.Mkdir(path, 0o700); err != nil {
				t.Fatal(err)
			}
		}, "cannot be opened"},
		"newer": {newer, "has version 99, and this runtime knows versions up to 1"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			tc.make(t, filepath.Join(dir, fileName))
			h := kerneltest.New(t, kerneltest.WithPlugin(Plugin, "", nil), inDir(dir))
			h.WantState(Plugin.Name, recompute.Error)
			if got := h.Plugin(Plugin.Name).Error; !strings.Contains(got, tc.want) {
				t.Errorf("got error %q, want %q in it", got, tc.want)
			}
		})
	}
}

func TestALockedFileIsAClearError(t *testing.T) {
	path := filepath.Join(t.TempDir(), fileName)
	first, err := open(t.Context(), path, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	second, err := open(t.Context(), path, time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	b := &backend{now: time.Now, file: &file{path: path, db: second}}
	save := func() error {
		return b.SaveMessage(t.Context(), "s", message.Message{Role: message.RoleUser})
	}
	err = first.update(t.Context(), func(*sql.Tx) error { return save() })
	if err == nil || !errors.Is(err, errTransient) || !strings.Contains(err.Error(), "is locked by another process") {
		t.Errorf("got error %v", err)
	}
	if err := save(); err != nil {
		t.Errorf("after the lock is gone: %v", err)
	}
	if _, err := b.History(t.Context(), "s", 0); err != nil {
		t.Error(err)
	}
	if err := errors.Join(first.close(), second.close()); err != nil {
		t.Error(err)
	}
}

// A full disk refuses the write whole, and writing goes on when there is room again.
func TestAFullDiskIsAClearError(t *testing.T) {
	db, err := open(t.Context(), filepath.Join(t.TempDir(), fileName), time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.close() }()
	b := &backend{now: time.Now, file: &file{db: db}}
	limit := func(pages string) {
		if _, err := db.write.ExecContext(t.Context(), "PRAGMA max_page_count = "+pages); err != nil {
			t.Fatal(err)
		}
	}
	limit("20")
	ms := []message.Message{{Role: message.RoleUser, Content: "small"}, {Role: message.RoleUser, Content: strings.Repeat("x", 1<<20)}}
	err = b.SaveMessages(t.Context(), "s", ms)
	if err == nil || !errors.Is(err, errTransient) || !strings.Contains(err.Error(), "the disk is full") {
		t.Errorf("got error %v", err)
	}
	if got, err := b.History(t.Context(), "s", 0); err != nil || len(got) != 0 {
		t.Errorf("half of a refused group is there: %d, %v", len(got), err)
	}
	limit("100000")
	if err := b.SaveMessages(t.Context(), "s", ms); err != nil {
		t.Error(err)
	}
}

// While the file is locked at the start, each use says so; it goes on as soon as the lock is gone.
func TestWaitsForALockedFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), fileName)
	holder, err := open(t.Context(), path, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := holder.write.ExecContext(t.Context(), "PRAGMA user_version = 0"); err != nil {
		t.Fatal(err)
	}
	f := &file{path: path, busy: time.Millisecond}
	b := &backend{now: time.Now, file: f}
	err = holder.update(t.Context(), func(*sql.Tx) error {
		_, err := b.History(t.Context(), "s", 0)
		return err
	})
	if !errors.Is(err, errTransient) {
		t.Errorf("got error %v", err)
	}
	if _, err := b.History(t.Context(), "s", 0); err != nil {
		t.Errorf("after the lock is gone: %v", err)
	}
	if err := errors.Join(f.close(), holder.close()); err != nil {
		t.Error(err)
	}
	if _, _, err := b.Metadata(t.Context(), "n", "k"); !errors.Is(err, errClosed) {
		t.Errorf("after the end: %v", err)
	}
}

func BenchmarkSave(b *testing.B) {
	db, err := open(b.Context(), filepath.Join(b.TempDir(), fileName), time.Second)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = db.close() }()
	back := &backend{now: time.Now, file: &file{db: db}}
	m := message.Message{Role: message.RoleUser, Content: strings.Repeat("x", 200)}
	for b.Loop() {
		if err := back.SaveMessage(b.Context(), "s", m); err != nil {
			b.Fatal(err)
		}
	}
}
