// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sessionmanager

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aalis-dev/aalis-operator/runtime/contract/memory"
	"github.com/aalis-dev/aalis-operator/runtime/contract/session"
)

var errNoMemory = errors.New("there is no memory backend")

// poke has the changes stored soon.
func (m *manager) poke() {
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

// keep stores what has changed, a moment after the first change, and reads what could not be read at the start.
func (m *manager) keep(ctx context.Context, t timers) {
	for m.wait(ctx, t) {
		err := m.load(ctx)
		if err == nil {
			err = m.flush(ctx)
		}
		if err == nil || ctx.Err() != nil {
			continue
		}
		m.k.Logger().Warn("Could not store sessions, trying again", "error", err)
		if !pause(ctx, t, true) {
			return
		}
		m.poke()
	}
}

// wait waits for a change and then a moment more.
func (m *manager) wait(ctx context.Context, t timers) bool {
	select {
	case <-ctx.Done():
		return false
	case <-m.wake:
		return pause(ctx, t, false)
	}
}

func pause(ctx context.Context, t timers, long bool) bool {
	d := t.debounce
	if long {
		d = t.retry
	}
	fired, stop := t.after(d)
	defer stop()
	select {
	case <-ctx.Done():
		return false
	case <-fired:
		return true
	}
}

// load reads the stored sessions, once. What was made before it could be read is laid over what is stored.
func (m *manager) load(ctx context.Context) error {
	m.mu.RLock()
	loaded := m.loaded
	m.mu.RUnlock()
	if loaded {
		return nil
	}
	b, ok := memory.Service.Get(m.k)
	if !ok {
		m.poke()
		return errNoMemory
	}
	entries, err := b.ListMetadata(ctx, memory.NamespaceSessions)
	if err != nil {
		m.poke()
		return fmt.Errorf("reading sessions: %w", err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.loaded {
		return nil
	}
	for _, e := range entries {
		var stored session.Info
		if err := json.Unmarshal(e.Data, &stored); err != nil || stored.ID != e.Key {
			m.foreign[e.Key] = true
			m.k.Logger().Warn("Ignored a stored Session that cannot be read", "sessionId", e.Key, "error", err)
			continue
		}
		m.adopt(&stored)
	}
	m.link()
	m.loaded, m.sweep = true, true
	return nil
}

// adopt takes over a stored session.
func (m *manager) adopt(stored *session.Info) {
	stored.Children = nil
	if m.gone[stored.ID] {
		return
	}
	if here := m.records[stored.ID]; here != nil {
		stored.Config = stored.Config.Overlay(here.Config)
		stored.UpdatedAt, stored.Status = here.UpdatedAt, here.Status
		if here.Name != here.ID {
			stored.Name = here.Name
		}
		set(&stored.Title, here.Title)
		set(&stored.Result, here.Result)
		metadata := maps.Clone(stored.Metadata)
		if metadata == nil {
			metadata = map[string]any{}
		}
		maps.Copy(metadata, here.Metadata)
		stored.Metadata = metadata
	}
	m.records[stored.ID] = stored
}

// link makes the tree. A session whose parent is not there, or whose ancestors go round in a circle, is a root.
func (m *manager) link() {
	clear(m.children)
	var order []*session.Info
	for _, r := range m.records {
		order = append(order, r)
	}
	slices.SortFunc(order, func(a, b *session.Info) int {
		return cmp.Or(cmp.Compare(a.CreatedAt, b.CreatedAt), strings.Compare(a.ID, b.ID))
	})
	for _, r := range order {
		if r.ParentID == "" {
			continue
		}
		if m.records[r.ParentID] == nil || m.circular(r) {
			r.ParentID = ""
			m.touch(r.ID)
			continue
		}
		m.children[r.ParentID] = append(m.children[r.ParentID], r.ID)
	}
}

func (m *manager) circular(r *session.Info) bool {
	at := r
	for range len(m.records) {
		if at = m.records[at.ParentID]; at == nil {
			return false
		}
		if at == r {
			return true
		}
	}
	return true
}

// flush stores all that has changed, in one batch. If that fails it is still to be stored. What is in the store and not
// here is removed in the same batch.
func (m *manager) flush(ctx context.Context) error {
	m.flushing.Lock()
	defer m.flushing.Unlock()
	ops, dirty, gone, sweep, err := m.changes()
	if err != nil || len(ops) == 0 {
		return err
	}
	if err := m.commit(ctx, ops, sweep); err != nil {
		m.mu.Lock()
		defer m.mu.Unlock()
		for id := range dirty {
			if m.records[id] != nil {
				m.dirty[id] = true
			}
		}
		for id := range gone {
			if m.records[id] == nil {
				m.gone[id] = true
			}
		}
		m.sweep = m.sweep || sweep
		return fmt.Errorf("storing sessions: %w", err)
	}
	return nil
}

// changes takes what is to be stored.
func (m *manager) changes() (ops []memory.Op, dirty, gone map[string]bool, sweep bool, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.loaded || len(m.dirty)+len(m.gone) == 0 {
		return nil, nil, nil, false, nil // what is stored and not known yet must not be written over
	}
	for _, id := range slices.Sorted(maps.Keys(m.dirty)) {
		op, err := memory.Put(memory.NamespaceSessions, id, m.copyOf(m.records[id]))
		if err != nil {
			return nil, nil, nil, false, fmt.Errorf("encoding session %q: %w", id, err)
		}
		ops = append(ops, op)
	}
	for _, id := range slices.Sorted(maps.Keys(m.gone)) {
		ops = append(ops, memory.Op{Namespace: memory.NamespaceSessions, Key: id})
	}
	dirty, gone, sweep = m.dirty, m.gone, m.sweep
	m.dirty, m.gone, m.sweep = map[string]bool{}, map[string]bool{}, false
	return ops, dirty, gone, sweep, nil
}

func (m *manager) commit(ctx context.Context, ops []memory.Op, sweep bool) error {
	b, ok := memory.Service.Get(m.k)
	if !ok {
		return errNoMemory
	}
	if sweep {
		entries, err := b.ListMetadata(ctx, memory.NamespaceSessions)
		if err != nil {
			return err
		}
		m.mu.RLock()
		for _, e := range entries {
			if m.records[e.Key] == nil && !m.foreign[e.Key] {
				ops = append(ops, memory.Op{Namespace: memory.NamespaceSessions, Key: e.Key})
			}
		}
		m.mu.RUnlock()
	}
	return b.CommitMetadata(ctx, ops)
}
