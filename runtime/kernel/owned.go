// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kernel

import (
	"context"
	"slices"
	"strings"
	"sync"
)

// goroutine is one that a context owns.
type goroutine struct {
	label string
	done  chan struct{}
}

// Go runs fn in a goroutine that the context owns. Its ctx is the context's Lifetime. A panic is logged with its stack and
// ends that goroutine only. Teardown runs the cleanups first, so that one can close what fn waits on, and then waits for
// fn to return, at most for the dispose timeout; a cleanup that needs fn to have ended must wait for that itself.
func (c *Context) Go(label string, fn func(ctx context.Context)) {
	g := &goroutine{label: label, done: make(chan struct{})}
	c.mu.Lock()
	if c.disposed.Load() {
		c.mu.Unlock()
		c.Logger().Warn("Ignored goroutine on a context that is torn down", "goroutine", label)
		return
	}
	if c.owned == nil {
		c.owned = map[*goroutine]struct{}{}
	}
	c.owned[g] = struct{}{}
	c.mu.Unlock()
	go func() {
		defer func() {
			c.mu.Lock()
			delete(c.owned, g)
			c.mu.Unlock()
			close(g.done)
		}()
		if err := safely(func() error { fn(c.lifetime); return nil }); err != nil {
			logFailure(c.Logger(), err, "Goroutine failed", "goroutine", label)
		}
	}()
}

// join waits for the owned goroutines, at most for the dispose timeout.
func (c *Context) join() {
	c.mu.Lock()
	owned := make([]*goroutine, 0, len(c.owned))
	for g := range c.owned {
		owned = append(owned, g)
	}
	c.mu.Unlock()
	if len(owned) == 0 {
		return
	}
	limit, cancel := limitContext(c.disposeTimeout)
	defer cancel()
	var left []string
	for _, g := range owned {
		select {
		case <-g.done:
			continue
		default:
		}
		select {
		case <-g.done:
		case <-limit.Done():
			left = append(left, g.label)
		}
	}
	if len(left) > 0 {
		slices.Sort(left)
		c.abandoned.Add(int64(len(left)))
		c.Logger().Warn("Gave up waiting for goroutines", "goroutines", strings.Join(left, ", "), "timeout", c.disposeTimeout)
	}
}

type drainItem struct {
	label string
	fn    func(ctx context.Context)
}

// OnDrain registers what must happen before the context is torn down because its plugin is bounced, disabled, unloaded or
// stopped: refuse new work and return when the running work is done, or when ctx ends after the drain timeout. All drain
// functions of a context and its children run at the same time, while the plugin still works otherwise. Losing a required
// service tears down without draining.
func (c *Context) OnDrain(label string, fn func(ctx context.Context)) {
	c.mu.Lock()
	late := c.disposed.Load()
	if !late {
		c.drains = append(c.drains, drainItem{label: label, fn: fn})
	}
	c.mu.Unlock()
	if late {
		c.Logger().Warn("Ignored registration on a context that is torn down", "registration", "drain:"+label)
	}
}

// drain runs the drain functions once and waits for them until ctx or the drain timeout ends. A second call joins.
func (c *Context) drain(ctx context.Context) {
	items := c.drainItems()
	c.mu.Lock()
	if c.draining != nil || c.disposed.Load() || len(items) == 0 {
		running := c.draining
		c.mu.Unlock()
		if running != nil {
			select {
			case <-running:
			case <-ctx.Done():
			}
		}
		return
	}
	finished := make(chan struct{})
	c.draining = finished
	c.mu.Unlock()
	defer close(finished)
	c.runDrains(ctx, items)
}

func (c *Context) runDrains(ctx context.Context, items []drainItem) {
	limit := c.drainLimit()
	ctx, cancel := limitedContext(ctx, limit)
	defer cancel()
	var mu sync.Mutex
	running := map[int]string{}
	all := make(chan struct{})
	for i, item := range items {
		running[i] = item.label
	}
	for i, item := range items {
		done := background(func() error { item.fn(ctx); return nil })
		go func() {
			if err := <-done; err != nil {
				logFailure(c.Logger(), err, "Drain failed", "drain", item.label)
			}
			mu.Lock()
			defer mu.Unlock()
			if delete(running, i); len(running) == 0 {
				close(all)
			}
		}()
	}
	select {
	case <-all:
		return
	case <-ctx.Done():
	case <-c.lifetime.Done(): // torn down by somebody else meanwhile
	}
	mu.Lock()
	left := sortedLabels(running)
	mu.Unlock()
	if len(left) > 0 {
		c.abandoned.Add(int64(len(left)))
		c.Logger().Warn("Gave up draining", "drains", strings.Join(left, ", "), "timeout", limit)
	}
}

func sortedLabels(m map[int]string) []string {
	labels := make([]string, 0, len(m))
	for _, l := range m {
		labels = append(labels, l)
	}
	slices.Sort(labels)
	return labels
}

// drainItems collects the drain functions of the context and its children.
func (c *Context) drainItems() []drainItem {
	c.mu.Lock()
	items, children := slices.Clone(c.drains), slices.Clone(c.children)
	c.mu.Unlock()
	for _, child := range children {
		items = append(items, child.drainItems()...)
	}
	return items
}
