// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package usage

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/aalis-dev/aalis-operator/runtime/contract/agent"
	"github.com/aalis-dev/aalis-operator/runtime/contract/llm"
	"github.com/aalis-dev/aalis-operator/runtime/contract/memory"
	"github.com/aalis-dev/aalis-operator/runtime/contract/usage"
	"github.com/aalis-dev/aalis-operator/runtime/kerneltest"
	"github.com/aalis-dev/aalis-operator/runtime/usagebook"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// shelf is a memory backend that holds what the plugin stores. What it has no method for panics.
type shelf struct {
	memory.Backend

	mu     sync.Mutex
	values map[string]json.RawMessage
	broken bool
}

func newShelf() *shelf { return &shelf{values: map[string]json.RawMessage{}} }

func (s *shelf) breakDown(broken bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.broken = broken
}

func (s *shelf) ListMetadata(_ context.Context, namespace string) ([]memory.Entry, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.broken || namespace != memory.NamespaceUsage {
		return nil, errors.New("out of order")
	}
	var out []memory.Entry
	for _, key := range slices.Sorted(maps.Keys(s.values)) {
		out = append(out, memory.Entry{Key: key, Data: s.values[key]})
	}
	return out, nil
}

func (s *shelf) CommitMetadata(_ context.Context, ops []memory.Op) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.broken {
		return errors.New("out of order")
	}
	for _, op := range ops {
		if op.Data == nil {
			delete(s.values, op.Key)
		} else {
			s.values[op.Key] = op.Data
		}
	}
	return nil
}

func (s *shelf) pages() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.values)
}

func start(t *testing.T, s memory.Backend) *kerneltest.Harness {
	t.Helper()
	return kerneltest.New(t, kerneltest.WithPlugin(module(time.Millisecond), "", nil), kerneltest.WithService(memory.Service, s))
}

func called(h *kerneltest.Harness, n int) {
	for range n {
		cached := 4
		agent.LLMCall.Emit(context.Background(), h.Root(), agent.CallDone{
			Persona: "owl", Provider: "p", Model: "m", SessionID: "canary", UserID: "canary", Estimated: true,
			Usage: llm.Usage{PromptTokens: 10, CachedPromptTokens: &cached, CompletionTokens: 5},
			Price: &llm.Price{Currency: "USD", Prompt: 1_000_000, CachedPrompt: 1_000_000, Completion: 1_000_000},
		})
	}
}

func report(t *testing.T, h *kerneltest.Harness) usagebook.Report {
	t.Helper()
	b, ok := usage.Service.Get(h.Root())
	if !ok {
		t.Fatal("there is no book")
	}
	return b.Report()
}

// until waits for something that another goroutine does.
func until(t *testing.T, what string, done func() bool) {
	t.Helper()
	for !done() {
		select {
		case <-t.Context().Done():
			t.Fatal(what)
		case <-time.After(time.Millisecond):
		}
	}
}

func TestConformance(t *testing.T) {
	kerneltest.Run(t, Plugin, kerneltest.WithService[memory.Backend](memory.Service, newShelf()))
}

// TestBookOutlivesTheBot: what was used is there after a restart, once, and what is too old is not.
func TestBookOutlivesTheBot(t *testing.T) {
	s := newShelf()
	h := start(t, s)
	called(h, 7)
	h.Stop()
	again := start(t, s)
	until(t, "the book was not read", func() bool { return len(report(t, again).Days) == 1 })
	called(again, 3)
	day := report(t, again).Days[0].Rows
	if len(day) != 1 || day[0].Calls != 10 || day[0].Prompt != 100 || day[0].Cached != 40 || day[0].Estimated != 150 || day[0].Costs["USD"] != 150 || day[0].Persona != "owl" {
		t.Errorf("%+v", day)
	}
	again.Clock.Advance(usagebook.Hours * time.Hour)
	called(again, 1)
	again.Stop()
	if n := s.pages(); n != 3 { // an hour and two days
		t.Errorf("%d pages are stored", n)
	}
	for key, data := range s.values {
		if text := key + string(data); strings.Contains(text, "canary") {
			t.Errorf("somebody is in the book: %s", text)
		}
	}
}

// TestStoreThatFails: calls go on, nothing that was stored before is overwritten, and all is stored when the store works again.
func TestStoreThatFails(t *testing.T) {
	s := newShelf()
	h := start(t, s)
	called(h, 2)
	h.Stop()
	s.breakDown(true)
	h = start(t, s)
	called(h, 2)
	s.breakDown(false)
	until(t, "the book was not read", func() bool {
		days := report(t, h).Days
		return len(days) == 1 && days[0].Rows[0].Calls == 4
	})
	s.breakDown(true)
	called(h, 1)
	s.breakDown(false)
	h.Stop()
	h = start(t, s)
	until(t, "the book was not stored", func() bool {
		days := report(t, h).Days
		return len(days) == 1 && days[0].Rows[0].Calls == 5
	})
}
