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
	if m.finish(info) && !shutdown {
		emitOwn(m.root, EventPluginsChanged, struct{}{})
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

// maxUnrest is how many recomputes that change nothing may follow one another, each asked for during the one before.
const maxUnrest = 100

// finish notes the end of a recompute and reports whether it is to be announced: it is not when listeners of plugins:changed
// answer each announcement with something that asks for the next recompute, because that would go on for ever.
func (m *Manager) finish(info RecomputeInfo) (announce bool) {
	m.mu.Lock()
	if m.unrest++; info.Rounds > 0 {
		m.unrest = 0
	}
	announce = m.unrest <= maxUnrest
	first := m.unrest == maxUnrest+1
	info.At, info.Count = m.root.now(), m.last.Count+1
	m.last = info
	if m.observer != nil {
		m.notes = append(m.notes, func(o Observer) { o.Recomputed(info) })
	}
	m.mu.Unlock()
	m.tell()
	if first {
		m.root.Logger().Warn("Recomputes follow one another without an end and change nothing: not announced until that stops",
			"reason", string(info.Reason.Kind), "service", info.Reason.Service)
	}
	return announce
}

// round carries out one plan and reports whether that changed anything. A failed activation does not count.
func (m *Manager) round(reason recompute.Reason, info *RecomputeInfo) (changed bool) {
	plan := m.plan(reason, true)
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
		plan = m.plan(recompute.Degrade(reason), false)
	}
	m.explain(plan.Waiting)
	m.tell()
	return changed
}

// plan asks the planner. With answers set, what is queued by now is answered by this plan and dropped, unless its reason has
// a meaning of its own.
func (m *Manager) plan(reason recompute.Reason, answers bool) recompute.Round {
	m.mu.Lock()
	if q := m.queued; answers && q != nil && (q.Kind == recompute.PluginStateChanged || q.Kind == recompute.ServiceUp) {
		m.queued = nil
	}
	m.entries = m.appendLocked(m.entries[:0])
	m.mu.Unlock()
	m.providers = m.root.services.providers(m.providers[:0])
	return m.planner.Plan(m.entries, m.providers, reason)
}

func (m *Manager) appendLocked(to []recompute.Entry) []recompute.Entry {
	for _, e := range m.order {
		to = append(to, e.plan())
	}
	return to
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
	return limitedContext(m.hurry, m.root.drainLimit())
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
