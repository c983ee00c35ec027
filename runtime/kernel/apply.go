// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kernel

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/aalis-dev/aalis-operator/runtime/recompute"
)

// ApplyReport lists what Apply did, each list sorted.
type ApplyReport struct {
	// Settings are the top-level keys that changed, Preferences the services whose preference list did.
	Settings, Preferences []string
	// Registered and Unloaded are instance ids that came and went.
	Registered, Unloaded []string
	// Reconfigured took a changed config over in place, Bounced were torn down and started again for it.
	Reconfigured, Bounced []string
	Enabled, Disabled     []string
}

// Changed reports whether Apply did anything.
func (r ApplyReport) Changed() bool {
	return len(r.Settings)+len(r.Preferences)+len(r.Registered)+len(r.Unloaded)+len(r.Reconfigured)+len(r.Bounced)+
		len(r.Enabled)+len(r.Disabled) > 0
}

// Apply makes a new config the one in effect, in place. A config that does not validate is rejected with an error and
// nothing changes. Otherwise settings are swapped and their watchers told, preferences set, plugins that are gone
// unloaded, changed ones reconfigured or else drained and bounced, others disabled, enabled and registered, all followed by
// one recompute, whose end Apply waits for until ctx ends. Only plugins whose own config changed are touched. Calls run
// one after the other; none may come from a plugin's Apply, OnReconfigure or cleanup.
func (a *App) Apply(ctx context.Context, cfg Config) (ApplyReport, error) {
	if err := a.catalog.validate(cfg); err != nil {
		return ApplyReport{}, fmt.Errorf("applying a config: %w", err)
	}
	if err := a.take(ctx); err != nil {
		return ApplyReport{}, fmt.Errorf("applying a config: %w", err)
	}
	defer a.give()
	a.mu.Lock()
	err := a.applicable()
	a.mu.Unlock()
	if err != nil {
		return ApplyReport{}, fmt.Errorf("applying a config: %w", err)
	}
	next := cfg.normal()
	old := a.config.Swap(&next)
	level, _ := parseLevel(next.LogLevel) // validated
	a.level.Set(level)
	t := transition{App: a, ctx: ctx, old: old, next: &next}
	a.manager.begin()
	t.settings()
	t.preferences()
	t.plugins()
	a.manager.request(recompute.Reason{Kind: recompute.PluginStateChanged})
	a.manager.end()
	if err := a.manager.Idle(ctx); err != nil {
		t.errs = append(t.errs, fmt.Errorf("waiting for plugins: %w", err))
	}
	if err := errors.Join(t.errs...); err != nil {
		return t.report, fmt.Errorf("applying a config: %w", err)
	}
	return t.report, nil
}

func (a *App) applicable() error {
	switch {
	case a.stopped != nil:
		return ErrStopped
	case !a.started:
		return ErrNotStarted
	}
	return nil
}

// transition is one Apply under way.
type transition struct {
	*App
	ctx       context.Context
	old, next *Config
	report    ApplyReport
	errs      []error
}

func (t *transition) settings() {
	t.report.Settings = t.root.settings.swap(t.next.Settings)
	t.root.settings.notify(t.ctx, t.report.Settings, t.opts.ApplyTimeout)
}

func (t *transition) preferences() {
	services := map[string]bool{}
	for _, m := range []map[string][]string{t.old.Preferences, t.next.Preferences} {
		for s := range m {
			services[s] = true
		}
	}
	for _, s := range slices.Sorted(maps.Keys(services)) {
		if slices.Equal(t.old.Preferences[s], t.next.Preferences[s]) {
			continue // what was chosen at run time stays
		}
		if t.root.services.prefer(newSymbol(s), t.next.Preferences[s]) {
			t.report.Preferences = append(t.report.Preferences, s)
			t.root.preferenceChanged(s)
		}
	}
}

// plugins carries out the difference in plugins: first all that is torn down, consumers before providers, then the rest.
func (t *transition) plugins() {
	for _, id := range t.manager.teardownOrder() {
		was, had := t.old.Plugins[id]
		if !had {
			was = t.manager.configOf(id) // registered at run time
		}
		if p, stays := t.next.Plugins[id]; stays {
			t.change(id, was, p)
		} else if had {
			t.note(t.manager.Unload(context.Background(), id), &t.report.Unloaded, id)
		}
	}
	for _, id := range t.next.ids() {
		p := t.next.Plugins[id]
		if _, registered := t.manager.Plugin(id); !registered {
			t.note(t.register(id, p), &t.report.Registered, id)
		} else if t.old.Plugins[id].Disabled && !p.Disabled {
			t.note(t.manager.Enable(id), &t.report.Enabled, id)
		}
	}
	for _, list := range []*[]string{&t.report.Unloaded, &t.report.Reconfigured, &t.report.Bounced, &t.report.Disabled} {
		slices.Sort(*list)
	}
}

// note adds an id to a list of the report, or keeps the error.
func (t *transition) note(err error, list *[]string, id string) {
	if err != nil {
		t.errs = append(t.errs, err)
		return
	}
	*list = append(*list, id)
}

// change gives a registered instance its new config.
func (t *transition) change(id string, was, p PluginConfig) {
	m, _ := t.catalog.resolve(id, p) // validated
	config := sameConfig(m, was.Config, p.Config)
	requires := slices.Equal(was.Requires, p.Requires)
	switch {
	case p.Disabled && !was.Disabled:
		t.manager.replaceConfig(id, p)
		t.note(t.manager.Disable(context.Background(), id), &t.report.Disabled, id)
	case config && requires:
	case config || t.manager.state(id) == recompute.Disabled:
		t.manager.replaceConfig(id, p)
		if !p.Disabled && !was.Disabled {
			t.report.Reconfigured = append(t.report.Reconfigured, id)
		}
	case t.manager.reconfigure(id, p):
		t.report.Reconfigured = append(t.report.Reconfigured, id)
	default:
		t.note(t.manager.Bounce(context.Background(), id, withPluginConfig(p)), &t.report.Bounced, id)
	}
}

func withPluginConfig(p PluginConfig) BounceOption { return func(b *bounce) { b.cfg = &p } }

// sameConfig compares what a plugin would see: with defaults, and as JSON, in which 1 and 1.0 are the same number.
func sameConfig(m Module, a, b map[string]any) bool {
	x, err1 := json.Marshal(m.Config.WithDefaults(a))
	y, err2 := json.Marshal(m.Config.WithDefaults(b))
	return err1 == nil && err2 == nil && string(x) == string(y)
}

// teardownOrder lists the instances, consumers before providers.
func (m *Manager) teardownOrder() []string {
	m.mu.Lock()
	entries := m.appendLocked(nil)
	m.mu.Unlock()
	order, _ := recompute.Order(entries)
	slices.Reverse(order)
	return order
}

func (m *Manager) state(id string) recompute.State {
	status, _ := m.Plugin(id)
	return status.State
}

// configOf returns the config that an instance has now.
func (m *Manager) configOf(id string) PluginConfig {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e := m.byID[id]; e != nil {
		return e.cfg.Clone()
	}
	return PluginConfig{}
}

// replaceConfig gives an instance a config that takes effect when it is applied next, and its requirements now.
func (m *Manager) replaceConfig(id string, p PluginConfig) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e := m.byID[id]; e != nil {
		m.replaceLocked(e, p)
	}
}

func (m *Manager) replaceLocked(e *entry, p PluginConfig) {
	disabled := e.cfg.Disabled
	e.cfg = p.Clone()
	e.cfg.Module, e.cfg.Disabled = e.module.Name, disabled
	e.config = e.module.Config.WithDefaults(p.Config)
	e.declare()
}

// reconfigure lets an active plugin take a config over in place and reports whether it did.
func (m *Manager) reconfigure(id string, p PluginConfig) bool {
	m.mu.Lock()
	e := m.byID[id]
	if e == nil || e.state != recompute.Active || e.ctx == nil {
		m.mu.Unlock()
		return false
	}
	c, before, after := e.ctx, e.module.Config.WithDefaults(e.config), e.module.Config.WithDefaults(p.Config)
	m.mu.Unlock()
	c.mu.Lock()
	fn := c.reconfigure
	c.mu.Unlock()
	if fn == nil {
		return false
	}
	err := bounded(m.applyTimeout, func(ctx context.Context) error { return fn(ctx, before, after) })
	switch {
	case err == nil:
	case errors.Is(err, ErrNeedsBounce):
		return false
	case errors.Is(err, errTimeout):
		c.giveUpAfter(m.applyTimeout, "waitingFor", "reconfigure")
		return false
	default:
		logWarning(c.Logger(), err, "Plugin did not take its config over in place and is bounced")
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.byID[id] != e || e.ctx != c || e.state != recompute.Active {
		return false
	}
	m.replaceLocked(e, p)
	return true
}

// overlay writes what management calls changed over a config's plugins.
func (m *Manager) overlay(plugins map[string]PluginConfig) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for id, p := range plugins {
		if e := m.byID[id]; e != nil {
			p.Config, p.Disabled = e.cfg.Clone().Config, e.cfg.Disabled
			plugins[id] = p
		}
	}
}
