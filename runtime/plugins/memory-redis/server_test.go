// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package memoryredis

import (
	"context"
	"crypto/rand"
	"net"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/aalis-dev/aalis-operator/runtime/contract/memory"
	"github.com/aalis-dev/aalis-operator/runtime/kerneltest"
	"github.com/aalis-dev/aalis-operator/runtime/netx"
	"github.com/aalis-dev/aalis-operator/runtime/store"
)

// server is a real Redis server on loopback.
type server struct {
	tb   testing.TB
	dir  string
	addr string
	args []string
	cmd  *exec.Cmd
}

// newServer starts a server that keeps its data in a directory of the test.
func newServer(tb testing.TB, args ...string) *server {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	s := &server{tb: tb, dir: tb.TempDir(), addr: l.Addr().String(), args: args}
	if err := l.Close(); err != nil {
		tb.Fatal(err)
	}
	s.start()
	tb.Cleanup(s.kill)
	return s
}

func (s *server) start() {
	s.tb.Helper()
	binary, err := exec.LookPath("redis-server")
	if err != nil {
		s.tb.Fatal("redis-server is not installed; install it: go run ./hack/cluster packages redis-server")
	}
	_, port, _ := net.SplitHostPort(s.addr)
	args := append([]string{"--bind", "127.0.0.1", "--port", port, "--dir", s.dir, "--save", "", "--appendonly", "yes",
		"--appendfsync", "always", "--loglevel", "warning"}, s.args...)
	s.cmd = exec.Command(binary, args...)
	if err := s.cmd.Start(); err != nil {
		s.tb.Fatal(err)
	}
	s.wait()
}

// wait returns when the server answers.
func (s *server) wait() {
	s.tb.Helper()
	c := s.client()
	defer func() { _ = c.Close() }()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for c.Ping(ctx).Err() != nil {
		select {
		case <-tick.C:
		case <-ctx.Done():
			s.tb.Fatal("redis-server does not answer")
		}
	}
}

// kill ends the server at once, as a crash would.
func (s *server) kill() {
	if s.cmd != nil && s.cmd.Process != nil {
		_ = s.cmd.Process.Kill()
		_ = s.cmd.Wait()
		s.cmd = nil
	}
}

func (s *server) client() *redis.Client {
	return redis.NewClient(&redis.Options{Addr: s.addr, MaxRetries: -1, DisableIdentity: true})
}

// do sends a command.
func (s *server) do(args ...any) {
	s.tb.Helper()
	c := s.client()
	defer func() { _ = c.Close() }()
	if err := c.Do(context.Background(), args...).Err(); err != nil {
		s.tb.Fatal(err)
	}
}

// identity is one that no other test has.
func identity() store.Identity {
	return store.Identity{Cluster: "c", Namespace: "n", UID: strings.ToLower(rand.Text())}
}

func (s *server) options(id store.Identity) []kerneltest.Option {
	return []kerneltest.Option{
		kerneltest.WithSetting(store.IdentitySetting.Key(), id),
		kerneltest.WithSetting(netx.Setting.Key(), netx.Policy{AllowLoopback: true}),
	}
}

func (s *server) bot(t testing.TB, id store.Identity, cfg map[string]any) (*kerneltest.Harness, memory.Backend) {
	t.Helper()
	if cfg == nil {
		cfg = map[string]any{}
	}
	if cfg["address"] == nil {
		cfg["address"] = s.addr
	}
	h := kerneltest.New(t, append(s.options(id), kerneltest.WithPlugin(Plugin, "", cfg))...)
	b, ok := memory.Service.Get(h.Root())
	if !ok {
		t.Fatalf("there is no memory: %+v\n%s", h.Plugin(Plugin.Name), h.Logs)
	}
	return h, b
}
