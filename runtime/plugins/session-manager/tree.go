// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sessionmanager

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/aalis-dev/aalis-operator/runtime/contract/agent"
	"github.com/aalis-dev/aalis-operator/runtime/contract/memory"
	"github.com/aalis-dev/aalis-operator/runtime/contract/session"
)

// List implements session.Manager.
func (m *manager) List(parentID string, status session.Status) []session.Info {
	m.mu.RLock()
	defer m.mu.RUnlock()
	var out []session.Info
	for _, r := range m.records {
		if r.ParentID == parentID && (status == "" || r.Status == status) {
			out = append(out, m.copyOf(r))
		}
	}
	slices.SortFunc(out, newestFirst)
	return out
}

func newestFirst(a, b session.Info) int {
	return cmp.Or(cmp.Compare(b.UpdatedAt, a.UpdatedAt), strings.Compare(a.ID, b.ID))
}

// Tree implements session.Manager.
func (m *manager) Tree(rootID string) []session.Tree {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if rootID != "" {
		if m.records[rootID] == nil {
			return nil
		}
		return m.branches([]string{rootID})
	}
	var roots []string
	for id, r := range m.records {
		if r.ParentID == "" {
			roots = append(roots, id)
		}
	}
	return m.branches(roots)
}

func (m *manager) branches(ids []string) []session.Tree {
	var out []session.Tree
	for _, id := range ids {
		out = append(out, session.Tree{Info: m.copyOf(m.records[id]), Children: m.branches(m.children[id])})
	}
	slices.SortFunc(out, func(a, b session.Tree) int { return newestFirst(a.Info, b.Info) })
	return out
}

// Delete implements session.Manager. All records go at once, so that nothing is added below one that goes; then, children
// first, each session's turns are ended and its memory is cleared.
func (m *manager) Delete(ctx context.Context, id string) error {
	m.mu.Lock()
	var going []string
	if m.records[id] != nil {
		going = m.descendants(id, nil)
	}
	for _, each := range going {
		m.remove(each)
	}
	m.mu.Unlock()
	m.poke()
	for _, each := range going {
		if a, ok := agent.Service.Get(m.k); ok {
			a.Abort(each)
		}
		if err := memory.RunClear(ctx, m.k, &memory.ClearData{Scope: memory.ClearSessionScope, SessionID: each}); err != nil {
			m.k.Logger().Warn("Could not clear the memory of a deleted Session", "sessionId", each, "error", err)
		}
		session.Deleted.Emit(ctx, m.k, each)
	}
	return nil
}

// descendants lists a session and all below it, children before their parents.
func (m *manager) descendants(id string, into []string) []string {
	for _, child := range m.children[id] {
		into = m.descendants(child, into)
	}
	return append(into, id)
}
