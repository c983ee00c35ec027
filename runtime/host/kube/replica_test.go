// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aalis-dev/aalis-operator/runtime/host/fakeapi"
	"github.com/aalis-dev/aalis-operator/runtime/host/report"
)

// clock is a time that only waiting moves.
type clock struct {
	mu    sync.Mutex
	now   time.Time
	asked chan time.Duration
	free  chan struct{}
}

func newClock() *clock {
	return &clock{now: time.Date(2026, 1, 2, 3, 4, 5, 678901234, time.UTC), asked: make(chan time.Duration, 100), free: make(chan struct{}, 100)}
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) wait(ctx context.Context, d time.Duration) error {
	c.asked <- d
	select {
	case <-c.free:
	case <-ctx.Done():
		return ctx.Err()
	}
	c.mu.Lock()
	c.now = c.now.Add(d)
	c.mu.Unlock()
	return nil
}

func acknowledge(t *testing.T, api *fakeapi.Server, c *clock) *Acknowledger {
	t.Helper()
	a := NewAcknowledger(AcknowledgerOptions{
		Client: testClient(t, api), Namespace: "team-a", Name: "aalis-hello-0", Logger: slog.New(slog.DiscardHandler),
		Identity: Identity{PodUID: "uid-1", StartTime: c.Now(), Version: "v1", CatalogHash: "abc"},
		Now:      c.Now, Wait: c.wait,
	})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); a.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
	return a
}

func snapshot(sequence int64) report.Snapshot {
	return report.Snapshot{
		Applied: &report.Applied{Revision: fmt.Sprint("r", sequence), Sequence: sequence, At: time.Date(2026, 1, 2, 3, 4, 6, 123456789, time.UTC)},
		Model:   "@aalis/plugin-llm-openai:main/gpt-4o-mini",
		Plugins: []report.Plugin{{ID: "@aalis/plugin-agent", State: "Active"}},
	}
}

func TestAcknowledgement(t *testing.T) {
	api, c := fakeapi.New(t), newClock()
	a := acknowledge(t, api, c)
	a.Set(snapshot(1))
	r := nextRequest(t, api, "patch")
	if r.Path != "/apis/aalis.dev/v1alpha1/namespaces/team-a/agentreplicas/aalis-hello-0/status" ||
		r.Type != "application/apply-patch+yaml" || r.Query["fieldManager"][0] != "aalis-kernel" || r.Query["force"][0] != "true" {
		t.Errorf("got %+v", r)
	}
	want := `{"apiVersion":"aalis.dev/v1alpha1","kind":"AgentReplica","metadata":{"name":"aalis-hello-0","namespace":"team-a"},` +
		`"status":{"podUID":"uid-1","startTime":"2026-01-02T03:04:05Z","version":"v1","catalogHash":"abc","appliedRevision":"r1",` +
		`"appliedSequence":1,"appliedTime":"2026-01-02T03:04:06.123456Z","model":"@aalis/plugin-llm-openai:main/gpt-4o-mini",` +
		`"plugins":[{"id":"@aalis/plugin-agent","state":"Active"}]}}`
	if string(r.Body) != want {
		t.Errorf("got  %s\nwant %s", r.Body, want)
	}

	// Two more within the second: one write, of the newest, when the second is over.
	a.Set(snapshot(2))
	if d := receive(t, "a wait", c.asked); d != time.Second {
		t.Errorf("waited %v", d)
	}
	a.Set(snapshot(3))
	c.free <- struct{}{}
	if got := sequenceOf(t, nextRequest(t, api, "patch")); got != 3 {
		t.Errorf("wrote sequence %d, want the newest, 3", got)
	}

	// The same again writes nothing: the next write is that of sequence 4.
	a.Set(snapshot(3))
	receive(t, "a wait", c.asked)
	c.free <- struct{}{}
	a.Set(snapshot(4))
	if got := sequenceOf(t, nextRequest(t, api, "patch")); got != 4 {
		t.Errorf("wrote sequence %d, want 4", got)
	}
}

func sequenceOf(t *testing.T, r fakeapi.Request) int64 {
	t.Helper()
	var body replicaApply
	if err := json.Unmarshal(r.Body, &body); err != nil {
		t.Fatal(err)
	}
	return *body.Status.AppliedSequence
}

func TestAcknowledgementIsTriedAgain(t *testing.T) {
	api, c := fakeapi.New(t), newClock()
	for range 100 {
		c.free <- struct{}{}
	}
	api.AnswerPatches(http.StatusNotFound, http.StatusNotFound, http.StatusInternalServerError, http.StatusTooManyRequests)
	a := acknowledge(t, api, c)
	a.Set(snapshot(1))
	for _, code := range []int{404, 404, 500, 429, 200} {
		r := nextRequest(t, api, "patch")
		if r.Code != code || sequenceOf(t, r) != 1 {
			t.Errorf("got %d, want %d", r.Code, code)
		}
	}
	api.SetDown(true)
	a.Set(snapshot(2))
	receive(t, "a wait", c.asked)
	a.Set(snapshot(3))
	api.SetDown(false)
	for sequenceOf(t, nextRequest(t, api, "patch")) != 3 {
	}
}

func TestStatusBounds(t *testing.T) {
	s := snapshot(1)
	long := strings.Repeat("好", 2000)
	s.Rejected = &report.Rejected{Revision: "r2", Sequence: 2, Message: long}
	s.ModelMessage = long
	s.Plugins = nil
	for i := range 200 {
		s.Plugins = append(s.Plugins, report.Plugin{ID: fmt.Sprint("p", i), State: "Pending", Message: strings.Repeat("a", 254) + "\U0001F600\U0001F600"})
	}
	s.Recompute = &report.Recompute{Reason: "service-up", Service: long, Rounds: 33, At: time.Unix(100, 5)}
	got := statusOf(Identity{PodUID: strings.Repeat("u", 100)}, s)
	if len(got.Plugins) != 128 || got.Plugins[0].Message != strings.Repeat("a", 254)+"…" {
		t.Errorf("got %d plugins, %q", len(got.Plugins), got.Plugins[0].Message)
	}
	runes := func(s string) int { return len([]rune(s)) }
	if runes(got.Rejected.Message) != 1024 || runes(got.ModelMessage) != 512 || runes(got.LastRecompute.Service) != 512 || len(got.PodUID) > 66 {
		t.Errorf("got lengths %d %d %d", runes(got.Rejected.Message), runes(got.ModelMessage), runes(got.LastRecompute.Service))
	}
	if *got.LastRecompute.Rounds != 20 || *got.Rejected.Sequence != 2 || got.LastRecompute.Reason != "service-up" {
		t.Errorf("got %+v", got.LastRecompute)
	}
	empty, err := json.Marshal(statusOf(Identity{PodUID: "u"}, report.Snapshot{}))
	if err != nil || string(empty) != `{"podUID":"u","startTime":"0001-01-01T00:00:00Z"}` && string(empty) != `{"podUID":"u"}` {
		t.Errorf("got %s, %v", empty, err)
	}
}
