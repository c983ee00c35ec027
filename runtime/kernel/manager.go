// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kernel

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/aalis-dev/aalis-operator/runtime/recompute"
)

// Manager holds the plugin instances and keeps them in the states that their dependencies allow. One recompute runs at a
// time, in a goroutine that exists only meanwhile; a request during one, or while a management call tears something down,
// is merged into one that follows. Management calls take an instance over from a recompute that is at it: whoever writes
// the state last decides, and the other one sees that and lets go.
type Manager struct {
	root         *Context
	observer     Observer // may be nil
	applyTimeout time.Duration
	// hurry ends when a stop cannot wait for draining any longer.
	hurry  context.Context
	rush   context.CancelFunc
	abort  chan struct{} // closed when activations are to be given up
	abortF func()

	mu           sync.Mutex
	order        []*entry // in order of registration
	byID         map[string]*entry
	running      bool              // a recompute goroutine exists
	depth        int               // management calls under way
	queued       *recompute.Reason // what the next recompute is for: nil or &merged
	unrest       int               // recomputes in a row that changed nothing
	merged       recompute.Reason
	shuttingDown bool
	waiting      chan struct{} // closed when idle; nil if nobody waits
	last         RecomputeInfo
	notes        []func(Observer)
	telling      bool

	// These belong to the recompute goroutine.
	worker    worker
	planner   recompute.Planner
	entries   []recompute.Entry
	providers []recompute.Provider
}

func newManager(root *Context, opts Options) *Manager {
	m := &Manager{
		root: root, observer: opts.Observer, applyTimeout: opts.ApplyTimeout,
		byID: map[string]*entry{}, abort: make(chan struct{}),
	}
	m.hurry, m.rush = context.WithCancel(context.Background())
	m.abortF = sync.OnceFunc(func() { close(m.abort) })
	return m
}

// request asks for a recompute. It never waits.
func (m *Manager) request(reason recompute.Reason) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.shuttingDown && reason.Kind != recompute.Shutdown {
		return
	}
	m.merged = recompute.Merge(m.queued, reason)
	m.queued = &m.merged
	m.startLocked()
}

func (m *Manager) startLocked() {
	if !m.running && m.depth == 0 && m.queued != nil {
		m.running = true
		go m.run()
	}
}

// run does what is queued until nothing is, then ends.
func (m *Manager) run() {
	for {
		m.mu.Lock()
		if m.queued == nil || m.depth > 0 {
			m.worker.leave()
			m.running, m.unrest = false, 0
			m.releaseLocked()
			m.mu.Unlock()
			return
		}
		reason := *m.queued
		m.queued = nil
		m.mu.Unlock()
		m.recompute(reason)
	}
}

// begin opens a section in which no recompute starts; end closes it. Sections may overlap.
func (m *Manager) begin() {
	m.mu.Lock()
	m.depth++
	m.mu.Unlock()
}

func (m *Manager) end() {
	m.mu.Lock()
	m.depth--
	m.startLocked()
	m.releaseLocked()
	m.mu.Unlock()
}

func (m *Manager) idleLocked() bool { return !m.running && m.depth == 0 && m.queued == nil }

func (m *Manager) releaseLocked() {
	if m.waiting != nil && m.idleLocked() {
		close(m.waiting)
		m.waiting = nil
	}
}

// Idle waits until no recompute runs or is due and no management call is under way, or until ctx ends. It must not be
// called from inside Apply, a cleanup or a listener of the kernel's events, which are part of what it waits for.
func (m *Manager) Idle(ctx context.Context) error {
	m.mu.Lock()
	if m.idleLocked() {
		m.mu.Unlock()
		return nil
	}
	if m.waiting == nil {
		m.waiting = make(chan struct{})
	}
	waiting := m.waiting
	m.mu.Unlock()
	select {
	case <-waiting:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// IsShuttingDown reports whether all plugins are being stopped for good.
func (m *Manager) IsShuttingDown() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.shuttingDown
}

// Status returns the state of every instance, in order of registration.
func (m *Manager) Status() []PluginStatus {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := make([]PluginStatus, len(m.order))
	for i, e := range m.order {
		out[i] = e.status()
	}
	return out
}

// Plugin returns the state of one instance.
func (m *Manager) Plugin(id string) (PluginStatus, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e := m.byID[id]; e != nil {
		return e.status(), true
	}
	return PluginStatus{}, false
}

func (m *Manager) lastRecompute() RecomputeInfo {
	m.mu.Lock()
	defer m.mu.Unlock()
	info := m.last
	info.Activated, info.Retired = slices.Clone(info.Activated), slices.Clone(info.Retired)
	return info
}

// setLocked moves an entry to a state. errText is kept in the error state only.
func (m *Manager) setLocked(e *entry, state recompute.State, errText string) {
	if e.state == state && e.err == errText && e.message == "" {
		return
	}
	e.state, e.err, e.message, e.missing, e.since = state, errText, "", nil, m.root.now()
	m.noteLocked(e)
}

func (m *Manager) noteLocked(e *entry) {
	if m.observer != nil {
		status := e.status()
		m.notes = append(m.notes, func(o Observer) { o.PluginChanged(status) })
	}
}

// tell delivers what the observer has not been told yet, unless somebody is at it already.
func (m *Manager) tell() {
	m.mu.Lock()
	if m.telling {
		m.mu.Unlock()
		return
	}
	m.telling = true
	for len(m.notes) > 0 {
		notes := m.notes
		m.notes = nil
		m.mu.Unlock()
		for _, note := range notes {
			if err := safely(func() error { note(m.observer); return nil }); err != nil {
				logFailure(m.root.Logger(), err, "Observer failed")
			}
		}
		m.mu.Lock()
	}
	m.telling = false
	m.mu.Unlock()
}

func (m *Manager) emit(event Event[string], id string) { emitOwn(m.root, event, id) }
