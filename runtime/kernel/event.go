// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kernel

import (
	"context"
	"errors"
	"fmt"
)

// Event is the typed key of an event.
type Event[T any] struct {
	_ [0]*T
	symbol
}

// NewEvent returns the key of the event of that name.
func NewEvent[T any](name string) Event[T] { return Event[T]{symbol: newSymbol(name)} }

// Name returns the event's name.
func (e Event[T]) Name() string { return e.name }

// On registers a handler until off is called or the context is torn down. Handlers are called in order of registration,
// one after the other; that order carries no meaning that code may rely on. If the event is sticky and was emitted
// before, fn is called once with the last value, asynchronously.
//
// Functions have no identity in Go, so registering one twice makes two handlers.
func (e Event[T]) On(k *Context, fn func(ctx context.Context, v T) error) (off func()) {
	h := &handler{event: e.symbol, owner: k, fn: fn}
	off, last := k.listen(h)
	if v, ok := last.value.(*T); ok {
		k.Go("replay:"+e.name, func(ctx context.Context) {
			if !h.gone.Load() && h.seen.CompareAndSwap(0, last.n) {
				if err := callHandler(ctx, fn, *v); err != nil {
					h.report(err)
				}
			}
		})
	}
	return off
}

// Emit calls every handler and returns when all have returned. A handler's error or panic is logged in the name of the
// context that registered it and stops nobody else. A handler removed meanwhile and not yet called is skipped, one added
// meanwhile is called. It takes no lock while handlers run and allocates nothing.
func (e Event[T]) Emit(ctx context.Context, k *Context, v T) {
	slot := k.bus.dir.find(e.symbol)
	if slot == nil {
		return
	}
	var emission uint64
	if slot.sticky {
		emission = k.bus.remember(slot, box(v))
	}
	list := slot.handlers.Load()
	if list == nil || len(list.items) == 0 {
		return
	}
	if slot.inFlight.Add(1) > maxInFlight {
		slot.inFlight.Add(-1)
		slot.dropped.Add(1)
		k.Logger().Error("Dropped event", "event", e.name, "error", errTooDeep)
		return
	}
	defer slot.inFlight.Add(-1)
	slot.emitted.Add(1)
	last := list.next + maxAddedDuringEmit
	for i := 0; i < len(list.items); i++ {
		h := list.items[i]
		if h.seq > last {
			return
		}
		if h.gone.Load() || slot.sticky && h.seen.Swap(emission) == emission {
			continue
		}
		if fn, ok := h.fn.(func(context.Context, T) error); !ok {
			slot.failed.Add(1)
			h.report(fmt.Errorf("handler takes another type than the %T that was emitted", v))
		} else if err := callHandler(ctx, fn, v); err != nil {
			slot.failed.Add(1)
			h.report(err)
		}
		if now := slot.handlers.Load(); now != list {
			list = now
			i = now.after(h.seq) - 1
		}
	}
}

// emitOwn emits an event of the kernel's own. Listeners that take longer than the dispose timeout still have their turn,
// but are not waited for: no plugin can hold the kernel up.
func emitOwn[T any](c *Context, e Event[T], v T) {
	if !c.bus.heard(e.symbol) {
		return
	}
	err := bounded(c.disposeTimeout, func(ctx context.Context) error { e.Emit(ctx, c, v); return nil })
	switch {
	case err == nil:
	case errors.Is(err, errTimeout):
		c.giveUp("waitingFor", "listeners of "+e.name)
	default: // a listener ended the goroutine
		logFailure(c.Logger(), err, "Event was not delivered to all", "event", e.name)
	}
}

// box moves the allocation out of Emit, which has none for events that are not sticky.
//
//go:noinline
func box[T any](v T) any { return &v }

func callHandler[T any](ctx context.Context, fn func(context.Context, T) error, v T) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = newPanicError(r)
		}
	}()
	return fn(ctx, v)
}
