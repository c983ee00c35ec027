// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"context"
	"database/sql"
	"errors"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	_ "modernc.org/sqlite" // the driver

	"github.com/aalis-dev/aalis-operator/runtime/i18n"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
	"github.com/aalis-dev/aalis-operator/runtime/kerneltest"
	"github.com/aalis-dev/aalis-operator/runtime/recompute"
)

const (
	early = "hello\n#say hello"
	worst = "still there?\n#say still here"
)

// unsaved asks while nothing can be stored: the answer comes all the same, and the log says why it will be forgotten.
func (b *bot) unsaved(why string) {
	b.t.Helper()
	h := b.ask(worst)
	if h.status != http.StatusOK || !h.ended || h.text != "still here" || h.took > 2*deadline {
		b.t.Errorf("heard %+v\n%s", h, b.Logs)
	}
	for _, what := range []string{"Failed to archive Incoming", "Failed to save reply"} {
		if len(b.Logs.Find("WARN", what, why)) == 0 {
			b.t.Errorf("the log does not say %q because of %q:\n%s", what, why, b.Logs)
		}
	}
}

// reaches waits until the bot reaches its store again: the client of a server that was away for long tries it once a second.
func (b *bot) reaches() {
	b.t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.After(kerneltest.Patience); ; {
		if _, err := b.backend().FullHistory(b.t.Context(), session, 1); err == nil {
			return
		}
		select {
		case <-tick.C:
		case <-deadline:
			b.t.Fatalf("the store is not reached again\n%s", b.Logs)
		}
	}
}

// redisServer is a real server on loopback.
type redisServer struct {
	t    *testing.T
	addr string
	cmd  *exec.Cmd
}

func startRedis(t *testing.T) *redisServer {
	t.Helper()
	s := &redisServer{t: t, addr: freeAddr(t)}
	s.run()
	t.Cleanup(s.kill)
	return s
}

func (s *redisServer) run() {
	s.t.Helper()
	_, port, _ := net.SplitHostPort(s.addr)
	s.cmd = exec.Command("redis-server", "--bind", "127.0.0.1", "--port", port, "--save", "", "--loglevel", "warning")
	if err := s.cmd.Start(); err != nil {
		s.t.Fatalf("%v: install it with: go run ./hack/cluster packages redis-server", err)
	}
	c := s.client()
	defer func() { _ = c.Close() }()
	ctx, cancel := context.WithTimeout(s.t.Context(), kerneltest.Patience)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for c.Ping(ctx).Err() != nil {
		select {
		case <-tick.C:
		case <-ctx.Done():
			s.t.Fatal("redis-server does not answer")
		}
	}
}

func (s *redisServer) kill() {
	if s.cmd != nil {
		_ = s.cmd.Process.Kill()
		_ = s.cmd.Wait() // it was killed
		s.cmd = nil
	}
}

func (s *redisServer) client() *redis.Client {
	return redis.NewClient(&redis.Options{Addr: s.addr, MaxRetries: -1, DisableIdentity: true})
}

func (s *redisServer) do(args ...any) {
	s.t.Helper()
	c := s.client()
	defer func() { _ = c.Close() }()
	if err := c.Do(s.t.Context(), args...).Err(); err != nil {
		s.t.Fatal(err)
	}
}

// TestRedis: a server that cannot write, or is away for a while, costs the memory of that while and nothing else.
func TestRedis(t *testing.T) {
	for name, tc := range map[string]struct {
		spoil, mend func(s *redisServer)
		why         string
		forgets     bool // what was said before is gone too
	}{
		"read-only": {
			func(s *redisServer) { s.do("REPLICAOF", "127.0.0.1", "1") },
			func(s *redisServer) { s.do("REPLICAOF", "NO", "ONE") }, "read-only", false,
		},
		"full": {
			func(s *redisServer) { s.do("CONFIG", "SET", "maxmemory", "1") },
			func(s *redisServer) { s.do("CONFIG", "SET", "maxmemory", "0") }, "memory is full", false,
		},
		"away": {(*redisServer).kill, (*redisServer).run, "cannot be reached", true},
	} {
		t.Run(name, func(t *testing.T) {
			s := startRedis(t)
			b := start(t, recipe{home: home{redisPlugin, map[string]any{"address": s.addr}, i18n.English}})
			if h := b.ask(early); h.text != "hello" {
				t.Fatalf("heard %+v\n%s", h, b.Logs)
			}
			tc.spoil(s)
			b.unsaved(tc.why)
			tc.mend(s)
			b.reaches()
			if tc.forgets {
				b.goesOn()
				return
			}
			whole(t, b.history(), early)
			b.goesOn(early)
		})
	}
}

func at(dir string) []kerneltest.Option {
	return []kerneltest.Option{kerneltest.WithOptions(func(o *kernel.Options) { o.DataDir = dir })}
}

func inSQLite(dir string) recipe {
	return recipe{home: home{sqlitePlugin, nil, i18n.English}, options: at(dir)}
}

func TestLockedSQLite(t *testing.T) {
	dir := t.TempDir()
	b := start(t, inSQLite(dir))
	if h := b.ask(early); h.text != "hello" {
		t.Fatalf("heard %+v\n%s", h, b.Logs)
	}
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "aalis.db")+"?_txlock=immediate")
	if err != nil {
		t.Fatal(err)
	}
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	b.unsaved("locked by another process")
	if err := errors.Join(tx.Rollback(), db.Close()); err != nil {
		t.Fatal(err)
	}
	whole(t, b.history(), early)
	b.goesOn(early)
}

// TestSQLiteOnAFullDisk needs root, to mount a disk that is soon full.
func TestSQLiteOnAFullDisk(t *testing.T) {
	dir := t.TempDir()
	err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=1m")
	if errors.Is(err, syscall.EPERM) {
		t.Skip("only root can mount a disk to be filled")
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Errorf("unmounting: %v", err)
		}
	})
	b := start(t, inSQLite(dir))
	if h := b.ask(early); h.text != "hello" {
		t.Fatalf("heard %+v\n%s", h, b.Logs)
	}
	ballast := filepath.Join(dir, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 2<<20), 0o600); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("the disk is not full: %v", err)
	}
	b.unsaved("disk")
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	whole(t, b.history(), early)
	b.goesOn(early)
}

// TestCorruptSQLite: the bot talks without a memory, touches nothing of the file, and the plugin says what to do.
func TestCorruptSQLite(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "aalis.db")
	garbage := strings.Repeat("this is no database. ", 1000)
	if err := os.WriteFile(path, []byte(garbage), 0o600); err != nil {
		t.Fatal(err)
	}
	b := start(t, inSQLite(dir))
	b.WantState(sqlitePlugin, recompute.Error)
	if got := b.Plugin(sqlitePlugin).Error; !strings.Contains(got, "restore a backup, or move it away") {
		t.Errorf("the plugin says %q", got)
	}
	for range 2 {
		if h := b.ask(worst); h.status != http.StatusOK || !h.ended || h.text != "still here" {
			t.Errorf("heard %+v\n%s", h, b.Logs)
		}
	}
	if now, err := os.ReadFile(path); err != nil || string(now) != garbage {
		t.Errorf("the file was changed, %v", err)
	}
}

// TestSQLiteIsSpoiltWhileItRuns: pages that were overwritten under a running bot are found and never answered from.
func TestSQLiteIsSpoiltWhileItRuns(t *testing.T) {
	dir := t.TempDir()
	b := start(t, inSQLite(dir))
	if h := b.ask(early); h.text != "hello" {
		t.Fatalf("heard %+v\n%s", h, b.Logs)
	}
	for _, name := range []string{"aalis.db", "aalis.db-wal"} {
		path := filepath.Join(dir, name)
		info, err := os.Stat(path)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		_, err = f.Write([]byte(strings.Repeat("spoilt", int(info.Size())/6)))
		if err := errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if h := b.ask(worst); h.status != http.StatusOK || !h.ended || h.text != "still here" {
			t.Errorf("heard %+v\n%s", h, b.Logs)
		}
	}
	if len(b.Logs.Find("WARN", "corrupt")) == 0 {
		t.Errorf("the log does not tell of it:\n%s", b.Logs)
	}
}
