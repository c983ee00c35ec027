// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package memoryredis

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/aalis-dev/aalis-operator/runtime/contract/memory"
	"github.com/aalis-dev/aalis-operator/runtime/contract/memory/memorytest"
	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
	"github.com/aalis-dev/aalis-operator/runtime/kerneltest"
	"github.com/aalis-dev/aalis-operator/runtime/recompute"
	"github.com/aalis-dev/aalis-operator/runtime/store"
)

func TestConformance(t *testing.T) {
	s := newServer(t)
	kerneltest.Run(t, Plugin, append(s.options(identity()), kerneltest.WithConfig(map[string]any{"address": s.addr}))...)
}

func TestBackend(t *testing.T) {
	s := newServer(t)
	memorytest.Run(t, func(t *testing.T) (one, other memory.Backend) {
		t.Helper()
		_, one = s.bot(t, identity(), nil)
		_, other = s.bot(t, identity(), nil)
		return one, other
	})
}

func say(t *testing.T, b memory.Backend, text string) error {
	t.Helper()
	return b.SaveMessage(t.Context(), "s", message.Message{Role: message.RoleUser, Content: text})
}

func texts(t *testing.T, b memory.Backend) string {
	t.Helper()
	ms, err := b.FullHistory(t.Context(), "s", 1000)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, m := range ms {
		out = append(out, m.Content)
	}
	return strings.Join(out, " ")
}

// Everything that a bot writes has its prefix, and what others keep on the server is left alone.
func TestEveryKeyHasThePrefix(t *testing.T) {
	s := newServer(t)
	s.do("SET", "foreign", "1")
	id := identity()
	_, b := s.bot(t, id, nil)
	if err := say(t, b, "x"); err != nil {
		t.Fatal(err)
	}
	ops := []memory.Op{{Namespace: "n", Key: "k", Data: []byte("1")}, {Namespace: memory.NamespaceBudget, Key: "k", Data: []byte("1")}}
	if err := b.CommitMetadata(t.Context(), ops); err != nil {
		t.Fatal(err)
	}
	c := s.client()
	defer func() { _ = c.Close() }()
	prefix := "aalis:{c/n/" + id.UID + "}:"
	check := func(most int) {
		t.Helper()
		found, err := c.Keys(t.Context(), "*").Result()
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, key := range found {
			if !strings.HasPrefix(key, prefix) && key != "foreign" {
				t.Errorf("key %q has no prefix", key)
			}
			if key == "foreign" || !strings.Contains(key, "}:token:") {
				n++
			}
		}
		if n > most {
			t.Errorf("%d keys are left, want at most %d: %q", n, most, found)
		}
	}
	check(100)
	if err := b.ClearAll(t.Context()); err != nil {
		t.Fatal(err)
	}
	check(4) // foreign, the sequence, the index of namespaces, the state
}

func TestSurvivesARestartOfTheServer(t *testing.T) {
	s := newServer(t)
	_, b := s.bot(t, identity(), nil)
	for i := range 3 {
		if err := say(t, b, fmt.Sprint(i)); err != nil {
			t.Fatal(err)
		}
		s.kill()
		if err := say(t, b, "lost"); !errors.Is(err, errAway) {
			t.Errorf("while the server is away: %v", err)
		}
		s.start()
	}
	if got := texts(t, b); got != "0 1 2" {
		t.Errorf("got %q", got)
	}
}

// A call that meets the restart succeeds if the server is back soon.
func TestACallOutlastsAShortOutage(t *testing.T) {
	s := newServer(t)
	_, b := s.bot(t, identity(), nil)
	if err := say(t, b, "0"); err != nil {
		t.Fatal(err)
	}
	s.kill()
	done := make(chan error, 1)
	go func() { done <- say(t, b, "1") }()
	s.start()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if got := texts(t, b); got != "0 1" {
		t.Errorf("got %q", got)
	}
}

// A change that is sent again because its answer was lost happens once.
func TestARepeatedChangeHappensOnce(t *testing.T) {
	s := newServer(t)
	_, b := s.bot(t, identity(), nil)
	back := b.(*backend)
	keys := append([]string{back.keys.token("t")}, back.keys.session("s")...)
	for range 3 {
		n, err := saveScript.Run(t.Context(), back.client, keys, "s", 1, `{"role":"user","content":"x"}`).Int()
		if err != nil || n != 1 {
			t.Errorf("got %d, %v", n, err)
		}
	}
	if got := texts(t, b); got != "x" {
		t.Errorf("got %q", got)
	}
}

func TestAReadOnlyServer(t *testing.T) {
	s := newServer(t)
	_, b := s.bot(t, identity(), nil)
	if err := say(t, b, "0"); err != nil {
		t.Fatal(err)
	}
	s.do("CONFIG", "SET", "replica-serve-stale-data", "yes")
	s.do("REPLICAOF", "127.0.0.1", "1")
	err := say(t, b, "1")
	if !errors.Is(err, errReadOnly) || !strings.Contains(err.Error(), s.addr) {
		t.Errorf("got error %v", err)
	}
	if got := texts(t, b); got != "0" {
		t.Errorf("reading from it: %q", got)
	}
	s.do("REPLICAOF", "NO", "ONE")
	if err := say(t, b, "2"); err != nil {
		t.Errorf("after failover: %v", err)
	}
	if got := texts(t, b); got != "0 2" {
		t.Errorf("got %q", got)
	}
}

// A full server refuses a change whole, and goes on when there is room.
func TestAFullServer(t *testing.T) {
	s := newServer(t)
	_, b := s.bot(t, identity(), nil)
	s.do("CONFIG", "SET", "maxmemory", "1")
	ms := []message.Message{{Role: message.RoleUser, Content: "a"}, {Role: message.RoleUser, Content: "b"}}
	if err := b.SaveMessages(t.Context(), "s", ms); !errors.Is(err, errFull) {
		t.Errorf("got error %v", err)
	}
	ops := []memory.Op{{Namespace: "n", Key: "k", Data: []byte("1")}}
	if err := b.CommitMetadata(t.Context(), ops); !errors.Is(err, errFull) {
		t.Errorf("got error %v", err)
	}
	if got := texts(t, b); got != "" {
		t.Errorf("half of a refused group is there: %q", got)
	}
	s.do("CONFIG", "SET", "maxmemory", "0")
	if err := b.SaveMessages(t.Context(), "s", ms); err != nil {
		t.Error(err)
	}
}

func TestPasswordAndDatabase(t *testing.T) {
	s := newServer(t, "--requirepass", "")
	s.do("CONFIG", "SET", "requirepass", "sesame")
	id := identity()
	_, b := s.bot(t, id, map[string]any{"password": "wrong"})
	err := say(t, b, "x")
	if !errors.Is(err, errLogin) || strings.Contains(err.Error(), "wrong pass") {
		t.Errorf("got error %v", err)
	}
	_, b = s.bot(t, id, nil)
	if err := say(t, b, "x"); !errors.Is(err, errLogin) {
		t.Errorf("got error %v", err)
	}
	_, b = s.bot(t, id, map[string]any{"password": "sesame", "db": 3, "address": "redis://" + s.addr})
	if err := say(t, b, "x"); err != nil {
		t.Fatal(err)
	}
	c := redis.NewClient(&redis.Options{Addr: s.addr, Password: "sesame", DB: 3, DisableIdentity: true})
	defer func() { _ = c.Close() }()
	if n, err := c.DBSize(t.Context()).Result(); err != nil || n == 0 {
		t.Errorf("database 3 holds %d keys, %v", n, err)
	}
}

func TestWarnsOfEviction(t *testing.T) {
	s := newServer(t, "--maxmemory-policy", "allkeys-lru")
	h, _ := s.bot(t, identity(), nil)
	deadline := time.After(10 * time.Second)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for len(h.Logs.Find("Redis may drop what the bot remembers")) == 0 {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("no warning:\n%s", h.Logs)
		}
	}
}

func TestBadConfig(t *testing.T) {
	id := store.IdentitySetting.Key()
	for name, tc := range map[string]struct {
		address  string
		identity store.Identity
		want     string
	}{
		"scheme":       {"http://x", identity(), "config.address: must begin with redis://"},
		"path":         {"redis://x/1", identity(), "may hold nothing after the port"},
		"user":         {"redis://u:p@x", identity(), "may not hold a user or password"},
		"blank":        {"a b", identity(), "must be host:port"},
		"no identity":  {"x", store.Identity{}, "identity.cluster: must not be empty"},
		"no uid":       {"x", store.Identity{Cluster: "c", Namespace: "n"}, "identity.uid: must not be empty"},
		"bad identity": {"x", store.Identity{Cluster: "c", Namespace: "n}", UID: "u"}, "identity.namespace: may not contain"},
	} {
		t.Run(name, func(t *testing.T) {
			h := kerneltest.New(t, kerneltest.WithSetting(id, tc.identity),
				kerneltest.WithPlugin(Plugin, "", map[string]any{"address": tc.address}))
			h.WantState(Plugin.Name, recompute.Error)
			if got := h.Plugin(Plugin.Name).Error; !strings.Contains(got, tc.want) {
				t.Errorf("got %q, want %q in it", got, tc.want)
			}
		})
	}
}

func TestAddresses(t *testing.T) {
	for address, want := range map[string]string{
		"redis": "redis:6379", "redis:1": "redis:1", "[::1]:7": "[::1]:7", "redis://r.ns.svc": "r.ns.svc:6379",
		" rediss://r:8/ ": "r:8 tls", //nolint:gocritic // the blanks are what is tested
	} {
		o, err := Config{Address: address}.options()
		if err != nil {
			t.Errorf("%s: %v", address, err)
			continue
		}
		got := o.Addr
		if o.TLSConfig != nil {
			got += " tls"
		}
		if got != want {
			t.Errorf("%s: got %s, want %s", address, got, want)
		}
	}
	if o, err := (Config{Address: "r", TLS: true}).options(); err != nil || o.TLSConfig == nil {
		t.Errorf("tls: %v %v", o, err)
	}
}

// Loopback and metadata addresses are not for bots in a cluster.
func TestRefusedAddress(t *testing.T) {
	h := kerneltest.New(t, kerneltest.WithSetting(store.IdentitySetting.Key(), identity()),
		kerneltest.WithPlugin(Plugin, "", map[string]any{"address": "127.0.0.1:1"}))
	b, _ := memory.Service.Get(h.Root())
	if err := say(t, b, "x"); err == nil || !strings.Contains(err.Error(), "is loopback") {
		t.Errorf("got error %v", err)
	}
}

func BenchmarkSave(b *testing.B) {
	s := newServer(b)
	_, back := s.bot(b, identity(), nil)
	m := message.Message{Role: message.RoleUser, Content: strings.Repeat("x", 200)}
	for b.Loop() {
		if err := back.SaveMessage(b.Context(), "s", m); err != nil {
			b.Fatal(err)
		}
	}
}
