// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kernel

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"
)

// OnDispose registers a cleanup to run when the context is torn down, until off is called. Cleanups run one after the
// other, the last registered first; each is given up after the dispose timeout (its ctx ends then) and the next one runs.
// The label names it in the log. A cleanup must not wait for anything that tears down this context or one above it.
//
// Registered while teardown waits, the cleanup still takes part; registered after all have run, it is run at once, in the
// background, with a warning.
func (c *Context) OnDispose(label string, fn func(ctx context.Context) error) (off func()) {
	d := &disposable{kind: label, fn: fn}
	c.mu.Lock()
	late, joins := c.drained, c.disposed.Load()
	if !late {
		c.chain.push(d)
	}
	c.mu.Unlock()
	switch {
	case late:
		c.Logger().Warn("Ran cleanup at once: it was registered after teardown", "cleanup", label)
		go c.clean(d, 0)
	case joins:
		c.Logger().Debug("Cleanup joined the teardown under way", "cleanup", label)
	}
	return func() { c.leave(d) }
}

// Dispose tears the context down and waits for that, at most until ctx ends; then it returns ctx's cause and teardown goes
// on. A call while another is at it joins. A call after it has ended returns at once. If ctx has ended already, Dispose
// does not wait at all, and what the context and its children registered is withdrawn when it returns.
func (c *Context) Dispose(ctx context.Context) error {
	c.mu.Lock()
	first := !c.down
	c.down = true
	c.disposed.Store(true)
	c.mu.Unlock()
	if ctx.Err() != nil {
		c.cutTree()
	}
	switch {
	case first && ctx.Done() == nil:
		c.teardown()
		return nil
	case first:
		go c.teardown()
	}
	select {
	case <-c.ended:
		return nil
	case <-ctx.Done():
	}
	select { // both may be ready: having ended wins
	case <-c.ended:
		return nil
	default:
		return fmt.Errorf("tearing down %s: %w", c.id, context.Cause(ctx))
	}
}

// disposeWithin is Dispose limited by the dispose timeout.
func (c *Context) disposeWithin() error {
	ctx, cancel := limitContext(c.disposeTimeout)
	defer cancel()
	return c.Dispose(ctx)
}

// teardown follows the order that plugins rely on: wait for apply, children, withdraw, cleanups in reverse, goroutines,
// and only then tell the others.
func (c *Context) teardown() {
	c.cancel()
	c.awaitApply()
	c.mu.Lock()
	children := slices.Clone(c.children)
	c.mu.Unlock()
	slices.Reverse(children)
	for _, child := range children {
		if err := child.disposeWithin(); err != nil {
			c.giveUp("child", child.id)
		}
	}
	removed := c.cut()
	c.runChain()
	c.join()
	for _, sym := range removed {
		c.announceRest(sym, false)
	}
	c.tellServices()
	if c.parent != nil {
		c.parent.removeChild(c)
	}
	c.release(c)
	close(c.ended)
}

func (c *Context) giveUp(what, name string) { c.giveUpAfter(c.disposeTimeout, what, name) }

func (c *Context) giveUpAfter(limit time.Duration, what, name string) {
	c.abandoned.Add(1)
	c.Logger().Warn("Gave up waiting", what, name, "timeout", limit)
}

// awaitApply waits for an apply function that is still running, so that what it registers last is cleaned up too.
func (c *Context) awaitApply() {
	c.mu.Lock()
	applying := c.applying
	c.mu.Unlock()
	if applying == nil {
		return
	}
	select {
	case <-applying:
		return
	default:
	}
	limit, cancel := limitContext(c.disposeTimeout)
	defer cancel()
	select {
	case <-applying:
	case <-limit.Done():
		c.giveUp("waitingFor", "apply")
	}
}

// cut withdraws everything the context registered, so that a half-torn plugin no longer reacts, and brings those who
// watch its services up to date. The cleanups of Whens stay on the chain. It returns the services withdrawn by this call.
func (c *Context) cut() (removed []symbol) {
	var (
		services []*serviceEntry
		handlers []*handler
		hooks    []*hookHandler
		points   []*contribution
		watchers []*watcher
		settings []*settingWatch
	)
	c.mu.Lock()
	for d := c.chain.first; d != nil; d = d.next {
		switch item := d.item.(type) {
		case *serviceEntry:
			services = append(services, item)
		case *handler:
			handlers = append(handlers, item)
		case *hookHandler:
			hooks = append(hooks, item)
		case *contribution:
			points = append(points, item)
		case *watcher:
			watchers = append(watchers, item)
		case *settingWatch:
			settings = append(settings, item)
		}
	}
	c.mu.Unlock()
	removed = c.services.remove(services...)
	c.hooks.remove(hooks...)
	c.points.remove(points...)
	c.bus.remove(handlers...)
	for _, w := range watchers {
		c.services.removeWatcher(w)
	}
	for _, w := range settings {
		c.settings.remove(w)
	}
	c.syncWatchers(removed...)
	return removed
}

// cutTree withdraws what the context and its children registered, without waiting for anything.
func (c *Context) cutTree() {
	c.mu.Lock()
	children := slices.Clone(c.children)
	c.mu.Unlock()
	for _, child := range children {
		child.mu.Lock()
		child.disposed.Store(true)
		child.mu.Unlock()
		child.cutTree()
	}
	for _, sym := range c.cut() {
		c.announceRest(sym, false)
	}
}

// runChain runs the cleanups in reverse order of registration until none is left.
func (c *Context) runChain() {
	for {
		c.mu.Lock()
		d := c.chain.pop()
		if d == nil {
			c.drained = true
			c.mu.Unlock()
			return
		}
		index := c.chain.n
		c.mu.Unlock()
		c.clean(d, index)
	}
}

// clean runs one cleanup. Its failure is logged and stops nothing.
func (c *Context) clean(d *disposable, index int) {
	fn := d.fn
	if w, ok := d.item.(*watcher); ok {
		fn = func(ctx context.Context) error { w.stop(); return w.join(ctx) }
	}
	if fn == nil {
		return // withdrawn already
	}
	label := d.label()
	if label == "" {
		label = fmt.Sprintf("#%d", index)
	}
	err := bounded(c.disposeTimeout, fn)
	switch {
	case err == nil:
	case errors.Is(err, errTimeout):
		c.giveUp("cleanup", label)
	default:
		logWarning(c.Logger(), err, "Cleanup failed", "cleanup", label)
	}
}

// tellServices calls every registered instance that wants to know of contexts that went, once per distinct instance.
func (c *Context) tellServices() {
	listeners := c.services.listeners()
	if len(listeners) == 0 {
		return
	}
	seen := map[any]bool{}
	err := bounded(c.disposeTimeout, func(context.Context) error {
		for _, e := range listeners {
			if reflect.ValueOf(e.raw).Comparable() {
				if seen[e.raw] {
					continue
				}
				seen[e.raw] = true
			}
			err := safely(func() error { e.raw.(PluginUnregisterer).UnregisterByPlugin(c.id); return nil })
			if err != nil {
				logWarning(e.owner.Logger(), err, "Service failed to forget a context", "service", e.service.name, "context", c.id)
			}
		}
		return nil
	})
	if err != nil {
		c.giveUp("waitingFor", "services to forget the context")
	}
}
