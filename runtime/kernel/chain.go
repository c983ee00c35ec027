// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kernel

import "context"

// disposable is one cleanup on a context's chain.
type disposable struct {
	kind, name string // together the label: "provide:llm"; kind alone for OnDispose
	// fn is plugin code: it is bounded by the dispose timeout. Nil for the kernel's own items.
	fn func(ctx context.Context) error
	// item is what the kernel registered: a *serviceEntry, *handler, *hookHandler, *contribution, *watcher or
	// *settingWatch.
	item any

	prev, next *disposable
	on         bool // on a chain
}

func (d *disposable) label() string {
	if d.name == "" {
		return d.kind
	}
	return d.kind + ":" + d.name
}

// chain is a list of cleanups, run from the last to the first. Removing one costs the same wherever it is. It is guarded
// by the context's lock.
type chain struct {
	first, last *disposable
	n           int
}

func (c *chain) push(d *disposable) {
	d.on, d.prev = true, c.last
	if c.last != nil {
		c.last.next = d
	} else {
		c.first = d
	}
	c.last = d
	c.n++
}

// remove takes an item off, if it is on.
func (c *chain) remove(d *disposable) {
	if !d.on {
		return
	}
	if d.prev != nil {
		d.prev.next = d.next
	} else {
		c.first = d.next
	}
	if d.next != nil {
		d.next.prev = d.prev
	} else {
		c.last = d.prev
	}
	d.on, d.prev, d.next = false, nil, nil
	c.n--
}

// pop takes the last item off, or returns nil.
func (c *chain) pop() *disposable {
	d := c.last
	if d != nil {
		c.remove(d)
	}
	return d
}
