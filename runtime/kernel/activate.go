// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kernel

import (
	"errors"
	"fmt"
	"slices"

	"github.com/aalis-dev/aalis-operator/runtime/recompute"
)

var (
	errTornDown = errors.New("the context was torn down while the plugin was being applied")
	errStopping = errors.New("apply did not return before the shutdown")
)

// activate starts a pending entry whose required services are there, and reports whether it became active.
func (m *Manager) activate(id string) bool {
	e, c, apply := m.beginActivation(id)
	m.tell()
	if apply == nil {
		return false
	}
	err := m.await(c, apply)
	m.mu.Lock()
	if e.state != recompute.Activating || e.ctx != c {
		m.mu.Unlock()
		return false // taken over by a management call, which sees to the context too
	}
	switch {
	case c.Disposed():
		err = errTornDown
	case err == nil:
		err = m.unfulfilled(e)
	}
	if err != nil {
		m.setLocked(e, recompute.Error, err.Error())
		m.mu.Unlock()
		m.tell()
		logFailure(c.Logger(), err, "Plugin failed to start")
		m.dispose(e, c, false)
		return false
	}
	m.setLocked(e, recompute.Active, "")
	m.bindLocked(e)
	undeclared := m.undeclared(e)
	m.mu.Unlock()
	m.tell()
	if len(undeclared) > 0 {
		c.devWarn("Plugin provides services that its module does not declare", "services", undeclared)
	}
	c.Logger().Info("Activated plugin")
	m.emit(EventPluginLoaded, id)
	return true
}

// beginActivation checks that the entry can be activated, and if so marks it and gives it a context.
func (m *Manager) beginActivation(id string) (*entry, *Context, func() error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.byID[id]
	if e == nil || e.state != recompute.Pending || e.ctx != nil || m.aborted() {
		return nil, nil, nil
	}
	for _, s := range e.declared.Required {
		if m.root.services.winner(newSymbol(s)) == nil {
			return nil, nil, nil
		}
	}
	c, err := m.root.Fork(id)
	if err != nil {
		m.setLocked(e, recompute.Error, err.Error())
		return nil, nil, nil
	}
	m.setLocked(e, recompute.Activating, "")
	e.ctx = c
	return e, c, c.beginApply(e.module, e.module.Config.WithDefaults(e.config))
}

func (m *Manager) aborted() bool {
	select {
	case <-m.abort:
		return true
	default:
		return false
	}
}

// await runs an apply function until it returns, its context has been torn down, or it takes too long. The function may
// outlive the call; teardown waits for it once more and then leaves it to itself.
func (m *Manager) await(c *Context, apply func() error) error {
	late := m.worker.alarm(m.applyTimeout)
	select {
	case err := <-m.worker.start(apply):
		m.worker.ended(err)
		return err
	case <-c.ended:
		m.worker.leave()
		return errTornDown
	case <-late:
		m.worker.leave()
		return fmt.Errorf("apply did not return within %s", m.applyTimeout)
	case <-m.abort:
		m.worker.leave()
		return errStopping
	}
}

// unfulfilled reports the declared services that the plugin did not register.
func (m *Manager) unfulfilled(e *entry) error {
	var missing []string
	for _, s := range e.module.Provides {
		if !m.root.services.ownedBy(newSymbol(s), e.id) {
			missing = append(missing, s)
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("declared services were not registered: %v", missing)
	}
	return nil
}

// undeclared lists what the plugin registered beyond its module's declaration, if anybody is to be told.
func (m *Manager) undeclared(e *entry) (names []string) {
	if !m.root.devMode {
		return nil
	}
	for _, s := range e.ctx.provided() {
		if !slices.Contains(e.declared.Provides, s) && !slices.Contains(e.declared.MayProvide, s) {
			names = append(names, s)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func (m *Manager) bindLocked(e *entry) {
	if !e.module.RequiresBounceOnDepChange {
		return
	}
	for _, s := range slices.Concat(e.declared.Required, e.declared.Optional) {
		if w := m.root.services.winner(newSymbol(s)); w != nil {
			e.bound = append(e.bound, w.provider())
		}
	}
}
