// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package persona

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/aalis-dev/aalis-operator/runtime/contract/memory"
	"github.com/aalis-dev/aalis-operator/runtime/contract/session"
)

// fakeMemory holds one namespace of metadata. Calls of anything else panic.
type fakeMemory struct {
	memory.Backend
	mu     sync.Mutex
	values map[string]json.RawMessage
	broken bool
	clears int
}

var errBroken = errors.New("out of order")

func newMemory() *fakeMemory { return &fakeMemory{values: map[string]json.RawMessage{}} }

func (m *fakeMemory) set(broken bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.broken = broken
}

func (m *fakeMemory) Metadata(_ context.Context, _, key string) (json.RawMessage, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.broken {
		return nil, false, errBroken
	}
	raw, ok := m.values[key]
	return raw, ok, nil
}

func (m *fakeMemory) ListMetadata(context.Context, string) ([]memory.Entry, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.broken {
		return nil, errBroken
	}
	var out []memory.Entry
	for key, raw := range m.values {
		out = append(out, memory.Entry{Key: key, Data: raw})
	}
	slices.SortFunc(out, func(a, b memory.Entry) int { return strings.Compare(a.Key, b.Key) })
	return out, nil
}

func (m *fakeMemory) CommitMetadata(_ context.Context, ops []memory.Op) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.broken {
		return errBroken
	}
	for _, op := range ops {
		if op.Namespace != stateNamespace {
			return errors.New("another namespace: " + op.Namespace)
		}
		if op.Data == nil {
			delete(m.values, op.Key)
			continue
		}
		m.values[op.Key] = op.Data
	}
	return nil
}

func (m *fakeMemory) ClearSession(context.Context, string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.clears++
	if m.broken {
		return errBroken
	}
	return nil
}

func (m *fakeMemory) ClearAll(ctx context.Context) error { return m.ClearSession(ctx, "") }

// fakeSessions resolves to one config by session and platform.
type fakeSessions struct {
	session.Manager
	configs map[string]session.Config // by "session@platform"
}

func (s fakeSessions) Resolve(sessionID, platform string) session.Config {
	return s.configs[sessionID+"@"+platform]
}
