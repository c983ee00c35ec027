// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"context"
	"sync"
)

// verdict says whether a message is taken.
type verdict int

const (
	taken verdict = iota
	tooMany
	stopping
)

// intake counts the messages in work and refuses those that are too many.
type intake struct {
	mu      sync.Mutex
	limit   int
	running int
	closed  bool
	empty   chan struct{} // closed when running becomes 0 after closed was set; made by the first drain
}

func newIntake(limit int) *intake { return &intake{limit: limit} }

func (i *intake) setLimit(limit int) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.limit = limit
}

// enter takes one message. Whoever gets taken calls leave once.
func (i *intake) enter() (v verdict, limit int) {
	i.mu.Lock()
	defer i.mu.Unlock()
	switch {
	case i.closed:
		return stopping, i.limit
	case i.running >= i.limit:
		return tooMany, i.limit
	default:
		i.running++
		return taken, i.limit
	}
}

func (i *intake) leave() {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.running--; i.running == 0 && i.empty != nil {
		close(i.empty)
		i.empty = nil
	}
}

// drain refuses everything from now on and returns when nothing is in work, or when ctx ends.
func (i *intake) drain(ctx context.Context) {
	i.mu.Lock()
	i.closed = true
	if i.running == 0 {
		i.mu.Unlock()
		return
	}
	if i.empty == nil {
		i.empty = make(chan struct{})
	}
	empty := i.empty
	i.mu.Unlock()
	select {
	case <-empty:
	case <-ctx.Done():
	}
}
