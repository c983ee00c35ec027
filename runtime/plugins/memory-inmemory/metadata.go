// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package memoryinmemory

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/aalis-dev/aalis-operator/runtime/contract/memory"
	"github.com/aalis-dev/aalis-operator/runtime/store"
)

// maxMetadataEntries bounds metadata. It is state that must not vanish, so a write beyond it is refused.
const maxMetadataEntries = 100_000

// place is where a value lives.
type place struct{ namespace, key string }

type value struct {
	data      json.RawMessage // never modified
	updatedAt int64
}

// metadata keeps values by namespace and key. A batch is checked whole before any of it is applied under the lock, so
// that it takes effect whole or not at all and is never seen half-way.
type metadata struct {
	mu         sync.RWMutex
	namespaces map[string]map[string]value
	entries    int
}

func newMetadata() *metadata { return &metadata{namespaces: map[string]map[string]value{}} }

func (m *metadata) get(namespace, key string) (json.RawMessage, bool) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	v, ok := m.namespaces[namespace][key]
	return slices.Clone(v.data), ok
}

func (m *metadata) list(namespace string) []memory.Entry {
	m.mu.RLock()
	values := m.namespaces[namespace]
	out := make([]memory.Entry, 0, len(values))
	for key, v := range values {
		out = append(out, memory.Entry{Key: key, Data: slices.Clone(v.data), UpdatedAt: v.updatedAt})
	}
	m.mu.RUnlock()
	slices.SortFunc(out, func(a, b memory.Entry) int { return strings.Compare(a.Key, b.Key) })
	return out
}

// commit applies a batch at a time, in milliseconds. Of two writes to one place the later one in the batch wins.
func (m *metadata) commit(ops []memory.Op, now int64) error {
	if err := store.CheckOps(ops); err != nil {
		return err
	}
	ops = slices.Clone(ops)
	for i := range ops {
		ops[i].Data = slices.Clone(ops[i].Data)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if n := m.after(ops); n > maxMetadataEntries {
		return fmt.Errorf("committing metadata: at most %d entries are kept, and this would make %d", maxMetadataEntries, n)
	}
	for _, op := range ops {
		m.apply(op, now)
	}
	return nil
}

// after is the number of entries that a batch would leave.
func (m *metadata) after(ops []memory.Op) int {
	if m.entries+len(ops) <= maxMetadataEntries {
		return m.entries
	}
	there := map[place]bool{}
	n := m.entries
	for _, op := range ops {
		p := place{op.Namespace, op.Key}
		was, seen := there[p]
		if !seen {
			_, was = m.namespaces[op.Namespace][op.Key]
		}
		is := op.Data != nil
		there[p] = is
		switch {
		case is && !was:
			n++
		case was && !is:
			n--
		}
	}
	return n
}

func (m *metadata) apply(op memory.Op, now int64) {
	values := m.namespaces[op.Namespace]
	old, had := values[op.Key]
	if op.Data == nil {
		if !had {
			return
		}
		m.entries--
		if delete(values, op.Key); len(values) == 0 {
			delete(m.namespaces, op.Namespace)
		}
		return
	}
	if values == nil {
		values = map[string]value{}
		m.namespaces[op.Namespace] = values
	}
	if !had {
		m.entries++
	}
	// Strictly growing, so that who polls by time sees every change.
	values[op.Key] = value{data: op.Data, updatedAt: max(now, old.updatedAt+1)}
}

// clear drops every namespace that holds no state of the bot.
func (m *metadata) clear() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for namespace, values := range m.namespaces {
		if !memory.IsState(namespace) {
			m.entries -= len(values)
			delete(m.namespaces, namespace)
		}
	}
}
