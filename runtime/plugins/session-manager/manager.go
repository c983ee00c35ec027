// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sessionmanager

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/aalis-dev/aalis-operator/runtime/contract/session"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
)

// manager implements session.Manager. No lock is held while others' code runs.
type manager struct {
	k        *kernel.Context
	settings atomic.Pointer[settings]
	wake     chan struct{} // something is to be stored
	flushing sync.Mutex    // one write at a time

	mu       sync.RWMutex
	records  map[string]*session.Info // Children is left empty: see children
	children map[string][]string      // by parent, in order of creation
	dirty    map[string]bool          // to be stored
	gone     map[string]bool          // to be removed from the store
	sweep    bool                     // the store may hold what is not here
	loaded   bool
	foreign  map[string]bool // keys of the store that cannot be read, and are left alone
	titling  map[string]bool
}

func newManager(k *kernel.Context, s *settings) *manager {
	m := &manager{
		k: k, wake: make(chan struct{}, 1), records: map[string]*session.Info{}, children: map[string][]string{},
		dirty: map[string]bool{}, gone: map[string]bool{}, foreign: map[string]bool{}, titling: map[string]bool{},
	}
	m.settings.Store(s)
	return m
}

// Get implements session.Manager.
func (m *manager) Get(id string) (session.Info, bool) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	r, ok := m.records[id]
	if !ok {
		return session.Info{}, false
	}
	return m.copyOf(r), true
}

// copyOf gives a copy that shares nothing. Metadata values are JSON, and nobody changes them.
func (m *manager) copyOf(r *session.Info) session.Info {
	out := *r
	out.Children = slices.Clone(m.children[r.ID])
	out.Config = r.Config.Clone()
	out.Metadata = maps.Clone(r.Metadata)
	return out
}

// Ensure implements session.Manager.
func (m *manager) Ensure(ctx context.Context, id string, p session.Patch) (session.Info, error) {
	if err := check(id, p); err != nil {
		return session.Info{}, err
	}
	m.mu.Lock()
	if r, ok := m.records[id]; ok {
		return m.change(ctx, r, p)
	}
	return m.create(ctx, id, "", p)
}

// Update implements session.Manager.
func (m *manager) Update(ctx context.Context, id string, p session.Patch) (session.Info, error) {
	if err := check(id, p); err != nil {
		return session.Info{}, err
	}
	m.mu.Lock()
	r, ok := m.records[id]
	if !ok {
		m.mu.Unlock()
		return session.Info{}, fmt.Errorf("session %q: %w", id, session.ErrUnknown)
	}
	return m.change(ctx, r, p)
}

// CreateChild implements session.Manager.
func (m *manager) CreateChild(ctx context.Context, parentID string, p session.Patch) (session.Info, error) {
	if err := check(parentID+suffixOf(parentID, "00000000"), p); err != nil {
		return session.Info{}, err
	}
	m.mu.Lock()
	if _, ok := m.records[parentID]; !ok && parentID != "" {
		m.mu.Unlock()
		return session.Info{}, fmt.Errorf("parent session %q: %w", parentID, session.ErrUnknown)
	}
	id := parentID + suffixOf(parentID, newSuffix())
	for m.records[id] != nil {
		id = parentID + suffixOf(parentID, newSuffix())
	}
	return m.create(ctx, id, parentID, p)
}

// create makes a record. It is called with the lock, which it gives up.
func (m *manager) create(ctx context.Context, id, parentID string, p session.Patch) (session.Info, error) {
	archived, ok := m.makeRoom()
	if !ok {
		m.mu.Unlock()
		return session.Info{}, fmt.Errorf("making session %q: %w: at most %d, see maxSessions", id, session.ErrFull, m.settings.Load().max)
	}
	now := m.k.Now().UnixMilli()
	r := &session.Info{ID: id, Name: id, ParentID: parentID, Status: session.Active, CreatedAt: now, CreatedBy: p.CreatedBy}
	amend(r, p, now)
	m.records[id] = r
	if parentID != "" {
		m.children[parentID] = append(m.children[parentID], id)
	}
	delete(m.gone, id)
	m.touch(id)
	info := m.copyOf(r)
	m.mu.Unlock()
	m.poke()
	for _, old := range archived {
		session.Updated.Emit(ctx, m.k, old)
	}
	session.Created.Emit(ctx, m.k, info)
	return info, nil
}

// change changes a record. It is called with the lock, which it gives up.
func (m *manager) change(ctx context.Context, r *session.Info, p session.Patch) (session.Info, error) {
	amend(r, p, m.k.Now().UnixMilli())
	m.touch(r.ID)
	info := m.copyOf(r)
	m.mu.Unlock()
	m.poke()
	session.Updated.Emit(ctx, m.k, info)
	return info, nil
}

// makeRoom drops the records that are too many, with one to come: those that have been quiet for longest, have no
// children and decide nothing, or are archived.
func (m *manager) makeRoom() (archived []session.Info, ok bool) {
	for limit := m.settings.Load().max; len(m.records) >= limit; {
		var victim *session.Info
		for _, r := range m.records {
			if len(m.children[r.ID]) > 0 || r.Status != session.Archived && !decidesNothing(r.Config) {
				continue
			}
			if victim == nil || r.UpdatedAt < victim.UpdatedAt || r.UpdatedAt == victim.UpdatedAt && r.ID < victim.ID {
				victim = r
			}
		}
		if victim == nil {
			return archived, false
		}
		victim.Status = session.Archived
		archived = append(archived, m.copyOf(victim))
		m.remove(victim.ID)
	}
	return archived, true
}

// remove drops a record that has no children.
func (m *manager) remove(id string) {
	if r := m.records[id]; r != nil && r.ParentID != "" {
		left := slices.DeleteFunc(m.children[r.ParentID], func(c string) bool { return c == id })
		if m.children[r.ParentID] = left; len(left) == 0 {
			delete(m.children, r.ParentID)
		}
	}
	delete(m.records, id)
	delete(m.dirty, id)
	m.gone[id] = true
}

func (m *manager) touch(id string) { m.dirty[id] = true }

// Complete implements session.Manager.
func (m *manager) Complete(ctx context.Context, id, result string) error {
	info, err := m.Update(ctx, id, session.Patch{Status: session.Completed, Result: result})
	if err != nil {
		return err
	}
	session.Ended.Emit(ctx, m.k, info)
	return nil
}

// Resolve implements session.Manager.
func (m *manager) Resolve(sessionID, platform string) session.Config {
	return session.Resolve(m.Layers(sessionID, platform))
}

// Inherited implements session.Manager.
func (m *manager) Inherited(sessionID, platform string) session.Config {
	return session.Resolve(m.Layers(sessionID, platform)[1:])
}

// Layers implements session.Manager.
func (m *manager) Layers(sessionID, platform string) []session.LayerConfig {
	s := m.settings.Load()
	var own, parent session.Config
	m.mu.RLock()
	if r := m.records[sessionID]; r != nil {
		own = r.Config.Clone()
		if p := m.records[r.ParentID]; p != nil && p.Config.SessionDefaults != nil {
			parent = p.Config.SessionDefaults.Clone()
		}
	}
	m.mu.RUnlock()
	return []session.LayerConfig{
		{Layer: session.LayerSession, Config: own},
		{Layer: session.LayerParent, Config: parent},
		{Layer: session.LayerPlatform, Config: s.profiles[platform].Clone()},
		{Layer: session.LayerDefault, Config: s.defaults.Clone()},
	}
}

var _ session.Manager = (*manager)(nil)
