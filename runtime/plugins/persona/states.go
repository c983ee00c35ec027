// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package persona

import (
	"container/list"
	"context"
	"encoding/json"
	"maps"
	"sync"

	"github.com/aalis-dev/aalis-operator/runtime/contract/memory"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
)

const (
	// stateNamespace holds the last state of each session in the memory backend.
	stateNamespace = "persona"
	// stateSource is the name under which people choose to clear it.
	stateSource = "persona"
	// maxStates bounds the sessions whose state is at hand; the others are read from the backend when they speak again.
	maxStates = 1024
)

// states holds what structured replies said besides the text: at hand for the newest sessions, and in the memory backend
// if there is one. A map in it is never modified.
type states struct {
	k     *kernel.Context
	mu    sync.Mutex
	limit int
	at    map[string]*list.Element // of *sessionState
	order list.List                // the longest unused at the front
}

type sessionState struct {
	session string
	values  map[string]any // nil: the backend has none
}

func newStates(k *kernel.Context, limit int) *states {
	return &states{k: k, limit: limit, at: map[string]*list.Element{}}
}

// get gives a copy of what is at hand for a session.
func (s *states) get(session string) (values map[string]any, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, ok := s.at[session]
	if !ok {
		return nil, false
	}
	s.order.MoveToBack(e)
	return maps.Clone(stateOf(e).values), true
}

func stateOf(e *list.Element) *sessionState {
	st, ok := e.Value.(*sessionState)
	if !ok {
		return &sessionState{}
	}
	return st
}

func (s *states) put(session string, values map[string]any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e, ok := s.at[session]; ok {
		stateOf(e).values = values
		s.order.MoveToBack(e)
		return
	}
	s.at[session] = s.order.PushBack(&sessionState{session: session, values: values})
	for len(s.at) > s.limit {
		oldest := s.order.Front()
		delete(s.at, stateOf(oldest).session)
		s.order.Remove(oldest)
	}
}

// forget drops what is at hand for a session, or for all of them.
func (s *states) forget(session string, all bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if all {
		clear(s.at)
		s.order.Init()
		return
	}
	if e, ok := s.at[session]; ok {
		delete(s.at, session)
		s.order.Remove(e)
	}
}

// load has the state of a session at hand.
func (s *states) load(ctx context.Context, session string) {
	b, ok := memory.Service.Get(s.k)
	if !ok || session == "" {
		return
	}
	if _, known := s.get(session); known {
		return
	}
	raw, ok, err := b.Metadata(ctx, stateNamespace, session)
	var values map[string]any
	if err == nil && ok {
		err = json.Unmarshal(raw, &values)
	}
	if err != nil {
		s.k.Logger().Warn("Could not read persona state", "sessionId", session, "error", err)
		return
	}
	s.put(session, values)
}

// save keeps the state of a session. What the backend does not take lives on until the bot restarts.
func (s *states) save(ctx context.Context, session string, values map[string]any) {
	s.put(session, values)
	b, ok := memory.Service.Get(s.k)
	if !ok {
		return
	}
	op, err := memory.Put(stateNamespace, session, values)
	if err == nil {
		err = b.CommitMetadata(ctx, []memory.Op{op})
	}
	if err != nil {
		s.k.Logger().Warn("Could not store persona state", "sessionId", session, "error", err)
	}
}

// clear takes part in the clearing of memory. If the rest of it fails, what was stored is put back.
func (s *states) clear(ctx context.Context, d *memory.ClearData, next kernel.Next) error {
	if !d.Wants(stateSource, memory.TypeContext) {
		return next(ctx)
	}
	all := d.Scope == memory.ClearAllScope
	if !all && d.SessionID == "" {
		return next(ctx)
	}
	undo, err := s.erase(ctx, d.SessionID, all)
	s.forget(d.SessionID, all)
	switch {
	case err != nil:
		s.k.Logger().Warn("Could not clear persona state", "sessionId", d.SessionID, "error", err)
		d.Add(stateSource, false, err.Error())
	case len(undo) > 0:
		d.Add(stateSource, true, "")
		d.Rollbacks = append(d.Rollbacks, memory.Rollback{Source: stateSource, Undo: func(ctx context.Context) error {
			s.forget(d.SessionID, all)
			return s.commit(ctx, undo)
		}})
	}
	return next(ctx)
}

// erase removes states from the backend, and gives what puts them back.
func (s *states) erase(ctx context.Context, session string, all bool) (undo []memory.Op, err error) {
	b, ok := memory.Service.Get(s.k)
	if !ok {
		return nil, nil
	}
	if all {
		entries, err := b.ListMetadata(ctx, stateNamespace)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			undo = append(undo, memory.Op{Namespace: stateNamespace, Key: e.Key, Data: e.Data})
		}
	} else {
		raw, ok, err := b.Metadata(ctx, stateNamespace, session)
		if err != nil {
			return nil, err
		}
		if ok {
			undo = []memory.Op{{Namespace: stateNamespace, Key: session, Data: raw}}
		}
	}
	ops := make([]memory.Op, len(undo))
	for i, op := range undo {
		ops[i] = memory.Op{Namespace: op.Namespace, Key: op.Key}
	}
	return undo, s.commit(ctx, ops)
}

func (s *states) commit(ctx context.Context, ops []memory.Op) error {
	b, ok := memory.Service.Get(s.k)
	if !ok || len(ops) == 0 {
		return nil
	}
	return b.CommitMetadata(ctx, ops)
}
