// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sessionmanager

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/aalis-dev/aalis-operator/runtime/contract/agent"
	"github.com/aalis-dev/aalis-operator/runtime/contract/llm"
	"github.com/aalis-dev/aalis-operator/runtime/contract/memory"
	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
	"github.com/aalis-dev/aalis-operator/runtime/contract/session"
	"github.com/aalis-dev/aalis-operator/runtime/kerneltest"
)

// probe is the session that settled makes.
const probe = "probe"

var errBroken = errors.New("out of order")

// fakeMemory holds the sessions. Calls of what it has no method for panic.
type fakeMemory struct {
	memory.Backend
	mu                    sync.Mutex
	values                map[string]json.RawMessage
	history               []message.Message
	noList, noCommit, bad bool
	commits               int
	cleared               []string
}

func newMemory() *fakeMemory { return &fakeMemory{values: map[string]json.RawMessage{}} }

func (m *fakeMemory) with(change func(m *fakeMemory)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	change(m)
}

func (m *fakeMemory) keys() (keys []string) {
	m.with(func(m *fakeMemory) { keys = slices.Sorted(maps.Keys(m.values)) })
	return slices.DeleteFunc(keys, func(k string) bool { return k == probe })
}

func (m *fakeMemory) ListMetadata(context.Context, string) ([]memory.Entry, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.noList {
		return nil, errBroken
	}
	var out []memory.Entry
	for _, key := range slices.Sorted(maps.Keys(m.values)) {
		out = append(out, memory.Entry{Key: key, Data: m.values[key]})
	}
	return out, nil
}

func (m *fakeMemory) CommitMetadata(_ context.Context, ops []memory.Op) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.noCommit {
		return errBroken
	}
	m.commits++
	for _, op := range ops {
		if op.Namespace != memory.NamespaceSessions {
			m.bad = true
		}
		if op.Data == nil {
			delete(m.values, op.Key)
			continue
		}
		m.values[op.Key] = op.Data
	}
	return nil
}

func (m *fakeMemory) History(context.Context, string, int) ([]message.Message, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.history), nil
}

func (m *fakeMemory) ClearSession(_ context.Context, id string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.cleared = append(m.cleared, id)
	if id == "broken" {
		return errBroken
	}
	return nil
}

// hands are timers that fire when told.
type hands struct{ asked chan chan time.Time }

func newHands() hands { return hands{asked: make(chan chan time.Time)} }

func (h hands) timers() timers {
	return timers{debounce: time.Second, retry: time.Minute, after: func(time.Duration) (<-chan time.Time, func()) {
		fired, stopped := make(chan time.Time, 1), make(chan struct{})
		var once sync.Once
		go func() {
			select {
			case h.asked <- fired:
			case <-stopped:
			}
		}()
		return fired, func() { once.Do(func() { close(stopped) }) }
	}}
}

// waiting waits until somebody waits for time to pass.
func (h hands) waiting(t *testing.T) (fired chan<- time.Time) {
	t.Helper()
	select {
	case fired := <-h.asked:
		return fired
	case <-time.After(kerneltest.Patience):
		t.Fatal("nobody waits")
		return nil
	}
}

// fire waits until somebody waits for time to pass, and lets it pass.
func (h hands) fire(t *testing.T) {
	t.Helper()
	h.waiting(t) <- time.Time{}
}

// fakeAgent notes whose turns were aborted.
type fakeAgent struct {
	agent.Agent
	mu      sync.Mutex
	aborted []string
	entry   string
}

func (a *fakeAgent) Abort(id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.aborted = append(a.aborted, id)
}

func (a *fakeAgent) DefaultModel() (string, error) {
	if a.entry == "" {
		return "", errBroken
	}
	return a.entry, nil
}

// fakeModel answers with a title.
type fakeModel struct {
	llm.Model
	id    string
	reply string
	err   error
	mu    sync.Mutex
	asked []llm.Request
	hold  chan struct{} // an answer waits for it unless it is nil
}

func (m *fakeModel) Info() llm.Info {
	return llm.Info{ID: m.id, Provider: "p", Capabilities: []llm.Capability{llm.CapChat}}
}

func (m *fakeModel) Chat(ctx context.Context, req llm.Request) (llm.Response, error) {
	m.mu.Lock()
	m.asked = append(m.asked, req)
	m.mu.Unlock()
	if m.hold != nil {
		select {
		case <-m.hold:
		case <-ctx.Done():
			return llm.Response{}, ctx.Err()
		}
	}
	return llm.Response{Content: m.reply, Usage: &llm.Usage{TotalTokens: 7}}, m.err
}

type bot struct {
	*kerneltest.Harness
	session.Manager
	mem   *fakeMemory
	hands hands
}

func (b *bot) Stop() { b.Harness.Stop() }

func start(t *testing.T, mem *fakeMemory, cfg map[string]any, opts ...kerneltest.Option) *bot {
	t.Helper()
	b := &bot{mem: mem, hands: newHands()}
	b.Harness = kerneltest.New(t, append([]kerneltest.Option{
		kerneltest.WithPlugin(module(b.hands.timers()), "", cfg), kerneltest.WithService[memory.Backend](memory.Service, mem),
	}, opts...)...)
	m, ok := session.Service.Get(b.Root())
	if !ok {
		t.Fatalf("there are no sessions:\n%s", b.Logs)
	}
	b.Manager = m
	return b
}

func (b *bot) ensure(t *testing.T, id string, p session.Patch) session.Info {
	t.Helper()
	info, err := b.Ensure(context.Background(), id, p)
	if err != nil {
		t.Fatal(err)
	}
	return info
}

func (b *bot) child(t *testing.T, parent string, p session.Patch) session.Info {
	t.Helper()
	info, err := b.CreateChild(context.Background(), parent, p)
	if err != nil {
		t.Fatal(err)
	}
	return info
}

func ptr[T any](v T) *T { return &v }
