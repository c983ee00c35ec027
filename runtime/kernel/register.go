// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kernel

import "slices"

// enter puts an item on the chain and registers it, as one step that a teardown sees whole or not at all. It reports
// whether the context still takes registrations and warns if not.
func (c *Context) enter(d *disposable, add func()) bool {
	c.mu.Lock()
	if c.disposed.Load() {
		c.mu.Unlock()
		c.Logger().Warn("Ignored registration on a context that is torn down", "registration", d.label())
		return false
	}
	c.chain.push(d)
	add()
	c.mu.Unlock()
	return true
}

// leave takes an item off the chain.
func (c *Context) leave(d *disposable) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.chain.remove(d)
}

func nothing() {}

// provided lists the services that the context and its children have registered.
func (c *Context) provided() (names []string) {
	c.mu.Lock()
	for d := c.chain.first; d != nil; d = d.next {
		if e, ok := d.item.(*serviceEntry); ok {
			names = append(names, e.service.name)
		}
	}
	children := slices.Clone(c.children)
	c.mu.Unlock()
	for _, child := range children {
		names = append(names, child.provided()...)
	}
	return names
}

func (c *Context) provide(e *serviceEntry) (off func()) {
	if c.devMode {
		if s := c.services.dir.find(e.service); s != nil {
			for _, o := range s.entries() {
				if o.owner == c && o.id == e.id {
					c.Logger().Warn("Service is provided twice under one entry id", "service", e.service.name, "entry", e.id)
				}
			}
		}
	}
	d := &disposable{kind: "provide", name: e.service.name, item: e}
	if !c.enter(d, func() { c.services.add(e) }) {
		return nothing
	}
	c.announce(e.service, true)
	return func() {
		c.leave(d)
		if len(c.services.remove(e)) > 0 {
			c.announce(e.service, false)
		}
	}
}

// announce tells of a registered or withdrawn service: first who watches it, then the manager, then listeners.
func (c *Context) announce(sym symbol, up bool) {
	c.syncWatchers(sym)
	c.announceRest(sym, up)
}

func (c *Context) announceRest(sym symbol, up bool) {
	c.serviceChanged(sym.name, up)
	event := EventServiceUnregistered
	if up {
		event = EventServiceRegistered
	}
	emitOwn(c, event, sym.name)
}

func (c *Context) watchService(w *watcher) (off func()) {
	d := &disposable{kind: "whenService", name: w.service.name, item: w}
	if !c.enter(d, func() { c.services.addWatcher(w) }) {
		return nothing
	}
	w.sync()
	return func() {
		c.leave(d)
		w.stop()
	}
}

func (c *Context) listen(h *handler) (off func(), last stickyValue) {
	d := &disposable{kind: "on", name: h.event.name, item: h}
	if !c.enter(d, func() { last = c.bus.add(h) }) {
		return nothing, stickyValue{}
	}
	return func() {
		c.leave(d)
		c.bus.remove(h)
	}, last
}

func (c *Context) useHook(h *hookHandler) (off func()) {
	d := &disposable{kind: "middleware", name: h.hook.name, item: h}
	if !c.enter(d, func() { c.hooks.add(h) }) {
		return nothing
	}
	return func() {
		c.leave(d)
		c.hooks.remove(h)
	}
}

func (c *Context) contribute(n *contribution) (off func()) {
	d := &disposable{kind: "contribute", name: n.point.name + ":" + n.id, item: n}
	ok := c.enter(d, func() {
		if old := c.points.add(n); old != nil && old.item != nil {
			c.chain.remove(old.item)
		}
		n.item = d
	})
	if !ok {
		return nothing
	}
	return func() {
		c.leave(d)
		c.points.remove(n)
	}
}

func (c *Context) watchSetting(w *settingWatch) (off func()) {
	d := &disposable{kind: "watch", name: w.key, item: w}
	if !c.enter(d, func() { c.settings.add(w) }) {
		return nothing
	}
	w.sync(c.lifetime)
	return func() {
		c.leave(d)
		c.settings.remove(w)
	}
}
