// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kernel

import (
	"context"
	"fmt"
	"slices"

	"github.com/aalis-dev/aalis-operator/runtime/recompute"
)

// recompute carries out rounds of plans until one changes nothing.
func (m *Manager) recompute(reason recompute.Reason) {
	info := RecomputeInfo{Reason: reason}
	shutdown := reason.Kind == recompute.Shutdown
	for {
		if info.Rounds == recompute.MaxRounds {
			m.giveUp(&info)
			break
		}
		if !m.round(reason, &info) {
			break
		}
		info.Rounds++
		if shutdown {
			break
		}
		reason = recompute.Degrade(reason)
	}
	m.finish(info)
	if !shutdown {
		EventPluginsChanged.Emit(context.Background(), m.root, struct{}{})
	}
}

// giveUp ends a recompute that has used up its rounds. What was started again and again in it is put into error: its own
// registrations and withdrawals are what asks for recomputes, so leaving it as it is would begin the next one at once.
func (m *Manager) giveUp(info *RecomputeInfo) {
	starts := map[string]int{}
	for _, id := range info.Activated {
		starts[id]++
	}
	var restless []string
	for id, n := range starts {
		if n > recompute.MaxRounds/4 {
			restless = append(restless, id)
		}
	}
	slices.Sort(restless)
	m.root.Logger().Warn("Gave up a recompute that does not come to rest", "rounds", info.Rounds, "plugins", restless)
	for _, id := range restless {
		m.mu.Lock()
		e := m.byID[id]
		if e == nil || e.state != recompute.Active && e.state != recompute.Pending {
			m.mu.Unlock()
			continue
		}
		m.setLocked(e, recompute.Error, fmt.Sprintf("does not come to rest: started %d times in one recompute", starts[id]))
		c := e.ctx
		m.mu.Unlock()
		info.Retired = append(info.Retired, id)
		m.dispose(e, c, true)
	}
}

func (m *Manager) finish(info RecomputeInfo) {
	m.mu.Lock()
	info.At, info.Count = m.root.now(), m.last.Count+1
	m.last = info
	if m.observer != nil {
		m.notes = append(m.notes, func(o Observer) { o.Recomputed(info) })
	}
	m.mu.Unlock()
	m.tell()
}

// round carries out one plan and reports whether that changed anything. A failed activation does not count.
func (m *Manager) round(reason recompute.Reason, info *RecomputeInfo) (changed bool) {
	entries := m.snapshot()
	plan := recompute.Plan(entries, m.root.services.providers(), reason)
	ctx, cancel := m.drainLimit()
	defer cancel()
	for _, r := range plan.Retire {
		if m.retirePlanned(ctx, r) {
			info.Retired = append(info.Retired, r.ID)
			changed = true
		}
	}
	failed := false
	for _, id := range plan.Activate {
		if !m.activate(id) {
			failed = true
			continue
		}
		info.Activated = append(info.Activated, id)
		changed = true
	}
	if failed && !changed { // there is no next round, and this one's plan had counted on what failed
		plan = recompute.Plan(m.entries(), m.root.services.providers(), recompute.Degrade(reason))
	}
	m.explain(plan.Waiting)
	m.tell()
	return changed
}

// snapshot lists the entries for a plan. What is queued by now is answered by that plan and dropped, unless its reason
// has a meaning of its own.
func (m *Manager) snapshot() []recompute.Entry {
	m.mu.Lock()
	defer m.mu.Unlock()
	if q := m.queued; q != nil && (q.Kind == recompute.PluginStateChanged || q.Kind == recompute.ServiceUp) {
		m.queued = nil
	}
	return m.entriesLocked()
}

func (m *Manager) entries() []recompute.Entry {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.entriesLocked()
}

func (m *Manager) entriesLocked() []recompute.Entry {
	entries := make([]recompute.Entry, len(m.order))
	for i, e := range m.order {
		entries[i] = e.plan()
	}
	return entries
}

// explain writes down why pending entries wait.
func (m *Manager) explain(waits []recompute.Wait) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, w := range waits {
		e := m.byID[w.ID]
		if e == nil || e.state != recompute.Pending || e.message == w.Message && slices.Equal(e.missing, w.Missing) {
			continue
		}
		e.message, e.missing = w.Message, w.Missing
		m.noteLocked(e)
	}
}

// drainLimit is the one limit within which a shutdown drains all plugins.
func (m *Manager) drainLimit() (context.Context, context.CancelFunc) {
	if d := m.root.drainTimeout; d > 0 {
		return context.WithTimeout(m.hurry, d)
	}
	return context.WithCancel(m.hurry)
}

// retirePlanned retires an entry that is still what the plan took it for. Only a shutdown drains: otherwise what the
// plugin needs to do its work is gone already.
func (m *Manager) retirePlanned(ctx context.Context, r recompute.Retirement) bool {
	shutdown := r.Target == recompute.Disposed
	e, c := m.retirable(r.ID, shutdown)
	if e == nil {
		return false
	}
	if shutdown && c != nil {
		c.drain(ctx)
	}
	m.mu.Lock()
	if e.ctx != c || !running(e, shutdown) {
		m.mu.Unlock()
		return false
	}
	m.setLocked(e, r.Target, "")
	m.mu.Unlock()
	m.tell()
	m.root.Logger().Info("Retired plugin", "plugin", r.ID, "state", string(r.Target), "cause", r.Cause)
	m.dispose(e, c, !shutdown)
	return true
}

func (m *Manager) retirable(id string, shutdown bool) (*entry, *Context) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.byID[id]
	if e == nil || !running(e, shutdown) {
		return nil, nil
	}
	return e, e.ctx
}

func running(e *entry, shutdown bool) bool {
	return e.state == recompute.Active || shutdown && e.state == recompute.Activating
}

// dispose tears a context of an entry down. The entry's state has been written before, its ctx is cleared after, and only
// then the others are told, once per context however many wait for it here.
func (m *Manager) dispose(e *entry, c *Context, announce bool) {
	if c == nil {
		return
	}
	_ = c.Dispose(context.Background())
	m.mu.Lock()
	mine := e.ctx == c
	if mine {
		e.ctx, e.bound = nil, nil
	}
	m.mu.Unlock()
	if mine && announce {
		m.emit(EventPluginUnloaded, e.id)
	}
}
