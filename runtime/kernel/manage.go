// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kernel

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/aalis-dev/aalis-operator/runtime/recompute"
	"github.com/aalis-dev/aalis-operator/runtime/schema"
)

// What management calls return when they refuse.
var (
	ErrUnknownPlugin  = errors.New("no such plugin")
	ErrDuplicate      = errors.New("a plugin with that id is registered")
	ErrCorePlugin     = errors.New("a core plugin cannot be disabled")
	ErrPluginDisabled = errors.New("the plugin is disabled")
	ErrPluginDisposed = errors.New("the plugin is disposed of")
	ErrShuttingDown   = errors.New("the app is shutting down")
)

// Register adds an instance of a module under an id (empty: the module's name) and asks for a recompute; it does not wait
// for activation, see [Manager.Idle]. An id that is registered, or whose former instance is still being torn down, is refused.
func (m *Manager) Register(module Module, id string, cfg PluginConfig) error {
	if id == "" {
		id = module.Name
	}
	e, err := newEntry(module, id, cfg)
	if err != nil {
		return fmt.Errorf("registering plugin %s: %w", id, err)
	}
	m.mu.Lock()
	switch {
	case m.shuttingDown:
		err = ErrShuttingDown
	case m.byID[id] != nil:
		err = ErrDuplicate
	default:
		m.byID[id] = e
		m.order = append(m.order, e)
		state := recompute.Pending
		if cfg.Disabled {
			state = recompute.Disabled
		}
		m.setLocked(e, state, "")
	}
	m.mu.Unlock()
	if err != nil {
		m.root.Logger().Warn("Refused plugin", "plugin", id, "error", err.Error())
		return fmt.Errorf("registering plugin %s: %w", id, err)
	}
	m.tell()
	if !cfg.Disabled {
		m.request(recompute.Reason{Kind: recompute.PluginStateChanged})
	}
	return nil
}

func newEntry(module Module, id string, cfg PluginConfig) (*entry, error) {
	if err := module.check(); err != nil {
		return nil, err
	}
	parsed, err := ParseInstanceID(id)
	if err != nil {
		return nil, err
	}
	if err := checkInstance(module, parsed); err != nil {
		return nil, err
	}
	if cfg.Disabled && module.Core {
		return nil, ErrCorePlugin
	}
	cfg.Module = module.Name
	e := &entry{id: id, module: module}
	return e, e.configure(cfg)
}

// configure validates a config and makes it the entry's.
func (e *entry) configure(cfg PluginConfig) error {
	if err := schema.Errors(e.module.Config.Validate(cfg.Config)); err != nil {
		return fmt.Errorf("config: %w", err)
	}
	e.cfg = cfg.Clone()
	e.config = e.module.Config.WithDefaults(cfg.Config)
	e.declare()
	return nil
}

// section runs a management call's work while no recompute starts, and asks for one afterwards. When ctx ends it stops
// waiting; the work goes on.
func (m *Manager) section(ctx context.Context, work func() error) error {
	run := func() error {
		m.begin()
		defer func() {
			m.request(recompute.Reason{Kind: recompute.PluginStateChanged})
			m.end()
		}()
		return work()
	}
	if ctx.Done() == nil {
		return run()
	}
	done := background(run)
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// find looks an entry up and says what forbids managing it.
func (m *Manager) find(verb, id string) (*entry, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.byID[id]
	if e == nil {
		return nil, fmt.Errorf("%s plugin %s: %w", verb, id, ErrUnknownPlugin)
	}
	if e.state == recompute.Disposed {
		return e, fmt.Errorf("%s plugin %s: %w", verb, id, ErrPluginDisposed)
	}
	return e, nil
}

// drain lets an active entry finish its work.
func (m *Manager) drain(e *entry) {
	m.mu.Lock()
	c := e.ctx
	active := e.state == recompute.Active && c != nil
	m.mu.Unlock()
	if active {
		c.drain(m.hurry)
	}
}

// Unload tears an instance down, after draining it, and forgets it. It waits for that until ctx ends; the rest, like the
// retirement of what required it, is left to the recompute that follows.
func (m *Manager) Unload(ctx context.Context, id string) error {
	e, err := m.find("unloading", id)
	if e == nil {
		return err
	}
	return m.section(ctx, func() error {
		m.drain(e)
		m.mu.Lock()
		m.setLocked(e, recompute.Disposed, "")
		c := e.ctx
		m.mu.Unlock()
		m.tell()
		m.dispose(e, c, true)
		m.forget(e)
		return nil
	})
}

// forget removes an entry whose teardown has ended. Removing it earlier would let its id be registered again, and the old
// teardown would meet the new registrations.
func (m *Manager) forget(e *entry) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.byID[e.id] == e {
		delete(m.byID, e.id)
		m.order = slices.DeleteFunc(m.order, func(o *entry) bool { return o == e })
	}
}

// Enable lets a disabled instance, or one in error, start again. In any other state it does nothing.
func (m *Manager) Enable(id string) error {
	e, err := m.find("enabling", id)
	if err != nil {
		return err
	}
	m.mu.Lock()
	revive := e.state == recompute.Disabled || e.state == recompute.Error
	if revive {
		e.cfg.Disabled = false
		m.setLocked(e, recompute.Pending, "")
	}
	m.mu.Unlock()
	if revive {
		m.tell()
		m.request(recompute.Reason{Kind: recompute.PluginStateChanged})
	}
	return nil
}

// Disable drains an instance and tears it down until it is enabled. It waits for that until ctx ends. Core plugins are
// refused; disabling a disabled one does nothing.
func (m *Manager) Disable(ctx context.Context, id string) error {
	e, err := m.find("disabling", id)
	if err != nil {
		return err
	}
	m.mu.Lock()
	core, done := e.module.Core, e.state == recompute.Disabled
	m.mu.Unlock()
	if core {
		m.root.Logger().Warn("Refused to disable a core plugin", "plugin", id)
		return fmt.Errorf("disabling plugin %s: %w", id, ErrCorePlugin)
	}
	if done {
		return nil
	}
	return m.section(ctx, func() error {
		m.drain(e)
		m.mu.Lock()
		if e.state == recompute.Disposed {
			m.mu.Unlock()
			return fmt.Errorf("disabling plugin %s: %w", id, ErrPluginDisposed)
		}
		e.cfg.Disabled = true
		m.setLocked(e, recompute.Disabled, "")
		c := e.ctx
		m.mu.Unlock()
		m.tell()
		m.dispose(e, c, true)
		return nil
	})
}

// BounceOption refines Bounce.
type BounceOption func(*bounce)

type bounce struct {
	config map[string]any
	module *Module
	cfg    *PluginConfig
}

// WithConfig gives the instance a new config.
func WithConfig(cfg map[string]any) BounceOption {
	return func(b *bounce) { b.config = schema.Object{}.WithDefaults(cfg) }
}

// WithModule replaces the instance's module by another version of the same name.
func WithModule(m Module) BounceOption { return func(b *bounce) { b.module = &m } }

// Bounce drains an instance, tears it down and lets it start again; an instance in error is thereby retried. Active
// plugins that require a bounce when one of its services changes are retired first. It waits for the teardown until ctx
// ends, not for the new start. Disabled and disposed instances are refused, and so is a config that the schema refuses.
func (m *Manager) Bounce(ctx context.Context, id string, opts ...BounceOption) error {
	e, err := m.find("bouncing", id)
	if err != nil {
		return err
	}
	var b bounce
	for _, opt := range opts {
		opt(&b)
	}
	next, err := m.next(e, b)
	if err != nil {
		return fmt.Errorf("bouncing plugin %s: %w", id, err)
	}
	return m.section(ctx, func() error {
		m.drain(e)
		m.mu.Lock()
		if err := refusesBounce(e); err != nil {
			m.mu.Unlock()
			return fmt.Errorf("bouncing plugin %s: %w", id, err)
		}
		provides := slices.Concat(e.declared.Provides, e.declared.MayProvide)
		next.cfg.Disabled = e.cfg.Disabled
		e.module, e.cfg, e.config, e.declared = next.module, next.cfg, next.config, next.declared
		m.setLocked(e, recompute.Pending, "")
		c := e.ctx
		m.mu.Unlock()
		m.tell()
		if c != nil {
			m.evict(e, provides)
			m.dispose(e, c, true)
		}
		return nil
	})
}

func refusesBounce(e *entry) error {
	switch e.state {
	case recompute.Disabled:
		return ErrPluginDisabled
	case recompute.Disposed:
		return ErrPluginDisposed
	}
	return nil
}

// next works out what a bounce makes of an entry.
func (m *Manager) next(e *entry, b bounce) (*entry, error) {
	m.mu.Lock()
	next := &entry{id: e.id, module: e.module}
	cfg, err := e.cfg.Clone(), refusesBounce(e)
	m.mu.Unlock()
	if err != nil {
		m.root.Logger().Warn("Refused bounce", "plugin", e.id, "error", err.Error())
		return nil, err
	}
	if b.module != nil {
		if err := b.module.check(); err != nil {
			return nil, err
		}
		if b.module.Name != next.module.Name {
			return nil, fmt.Errorf("module must be %s, got %s", next.module.Name, b.module.Name)
		}
		next.module = *b.module
	}
	if b.cfg != nil {
		cfg = *b.cfg
	}
	if b.config != nil {
		cfg.Config = b.config
	}
	cfg.Module = next.module.Name
	return next, next.configure(cfg)
}

// evict retires the active and activating plugins that want a bounce when one of these services changes. They are chosen
// by state: one that was disabled meanwhile and is still being torn down must not come back.
func (m *Manager) evict(except *entry, services []string) {
	m.mu.Lock()
	var victims []*entry
	for _, e := range slices.Backward(m.order) {
		if e != except && e.module.RequiresBounceOnDepChange && e.uses(services) && evictable(e) {
			victims = append(victims, e)
		}
	}
	m.mu.Unlock()
	for _, e := range victims {
		m.drain(e)
		m.mu.Lock()
		if !evictable(e) {
			m.mu.Unlock()
			continue
		}
		m.setLocked(e, recompute.Pending, "")
		c := e.ctx
		m.mu.Unlock()
		m.tell()
		m.dispose(e, c, true)
	}
}

func evictable(e *entry) bool {
	return e.state == recompute.Active || e.state == recompute.Activating
}

// stopAll retires everything for good and waits for that.
func (m *Manager) stopAll() {
	m.mu.Lock()
	m.shuttingDown = true
	m.mu.Unlock()
	m.request(recompute.Reason{Kind: recompute.Shutdown})
	_ = m.Idle(context.Background())
}
