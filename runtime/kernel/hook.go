// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kernel

import (
	"context"
	"fmt"
	"sync/atomic"
)

// Next continues a hook: it runs the rest of the handlers and then the final action, and returns their error. Calling it
// again, or after the handler has returned, is harmless: it does nothing and returns the first call's result. It is for
// the handler that it was given to; no handler ever runs twice in one run, whoever calls.
type Next func(ctx context.Context) error

// Hook is the typed key of a hook.
type Hook[T any] struct {
	_ [0]*T
	symbol
}

// NewHook returns the key of the hook of that name.
func NewHook[T any](name string) Hook[T] { return Hook[T]{symbol: newSymbol(name)} }

// Name returns the hook's name.
func (h Hook[T]) Name() string { return h.name }

// Use registers a handler until off is called or the context is torn down. Handlers wrap each other in order of
// registration, the first outermost. A handler that does not call next ends the run there. To change what goes on,
// it changes *data.
func (h Hook[T]) Use(k *Context, fn func(ctx context.Context, data *T, next Next) error) (off func()) {
	return k.useHook(&hookHandler{hook: h.symbol, owner: k, fn: fn})
}

// RunOption refines Run.
type RunOption func(*runOptions)

type runOptions struct{ warnOnStall bool }

// WarnOnStall logs a warning when a handler returns without an error and without having called next while handlers are
// left.
func WarnOnStall() RunOption { return func(o *runOptions) { o.warnOnStall = true } }

// Run calls the handlers registered now, except those removed before their turn, and then final (may be nil).
// It reports whether the end was reached, that is whether every handler called next. An error stops the run, unless an
// outer handler swallows it, and is returned; a panic in a handler becomes a [PanicError] and is logged with its stack.
func (h Hook[T]) Run(
	ctx context.Context, k *Context, data *T, final func(ctx context.Context) error, opts ...RunOption,
) (reachedEnd bool, err error) {
	var list []*hookHandler
	slot := k.hooks.dir.find(h.symbol)
	if slot != nil {
		list = slot.handlers()
	}
	if len(list) == 0 {
		return true, callFinal(ctx, final)
	}
	if slot.inFlight.Add(1) > maxInFlight {
		slot.inFlight.Add(-1)
		return false, fmt.Errorf("running hook %s: %w", h.name, errTooDeep)
	}
	defer slot.inFlight.Add(-1)
	run := &hookRun[T]{handlers: list, data: data, final: final}
	run.next = run.step
	for _, opt := range opts {
		opt(&run.runOptions)
	}
	err = run.step(ctx)
	return run.reachedEnd.Load(), err
}

// hookRun is one run. It goes down through the handlers and then, from the first return on, only up again: whoever is
// still running then has called next before, because that is how those below were reached. So one cursor and one flag
// tell first calls of next from later ones, and all handlers share one Next.
type hookRun[T any] struct {
	runOptions
	handlers   []*hookHandler
	data       *T
	final      func(ctx context.Context) error
	next       Next
	cursor     atomic.Int64 // how many handlers, and at last the final action, have had their turn
	ascending  atomic.Bool
	reachedEnd atomic.Bool
	result     atomic.Pointer[error] // of the call of next that returned last; nil for no error
}

// step is the run's Next: it calls the first handler below that is still registered, or the final action. It is one
// function, with nothing between it and the handler, because runs nest deeply and happen for every message.
func (r *hookRun[T]) step(ctx context.Context) (err error) {
	if r.ascending.Load() {
		return r.first()
	}
	i := r.turn()
	defer func() {
		if v := recover(); v != nil {
			err = r.panicked(i, v)
		}
		r.ascend(err)
	}()
	if i >= len(r.handlers) {
		if i > len(r.handlers) || r.final == nil {
			return nil // in the first case next was called while the final action runs
		}
		return r.final(ctx)
	}
	fn, ok := r.handlers[i].fn.(func(context.Context, *T, Next) error)
	if !ok {
		return fmt.Errorf("hook %s: handler of %s takes another type than %T", r.handlers[i].hook.name, r.handlers[i].owner.id, r.data)
	}
	if err = fn(ctx, r.data, r.next); r.warnOnStall && err == nil {
		r.warnStalled(i)
	}
	return err
}

// turn gives the index of the handler whose turn it is, the number of handlers for the final action, or more than that.
func (r *hookRun[T]) turn() int {
	for {
		i := int(r.cursor.Add(1)) - 1
		if i < len(r.handlers) && r.handlers[i].gone.Load() {
			continue
		}
		if i == len(r.handlers) {
			r.reachedEnd.Store(true)
		}
		return i
	}
}

// ascend notes the result of a call of next.
func (r *hookRun[T]) ascend(err error) {
	if !r.ascending.Load() {
		r.ascending.Store(true)
	}
	if err != nil {
		result := err
		r.result.Store(&result)
	} else if r.result.Load() != nil {
		r.result.Store(nil)
	}
}

// first is the result of the innermost handler's first call of next.
func (r *hookRun[T]) first() error {
	if err := r.result.Load(); err != nil {
		return *err
	}
	return nil
}

// panicked makes an error of a panic. The final action's is the business of the caller of Run.
func (r *hookRun[T]) panicked(i int, value any) error {
	err := newPanicError(value)
	if i < len(r.handlers) {
		h := r.handlers[i]
		logFailure(h.owner.Logger(), err, "Hook handler failed", "hook", h.hook.name)
	}
	return err
}

func (r *hookRun[T]) warnStalled(i int) {
	if r.ascending.Load() {
		return
	}
	skipped := 0
	for _, o := range r.handlers[i+1:] {
		if !o.gone.Load() {
			skipped++
		}
	}
	if h := r.handlers[i]; skipped > 0 {
		h.owner.Logger().Warn("Hook handler did not call next", "hook", h.hook.name, "skipped", skipped)
	}
}

// callFinal runs the final action of a hook without handlers.
func callFinal(ctx context.Context, final func(ctx context.Context) error) error {
	if final == nil {
		return nil
	}
	return safely(func() error { return final(ctx) })
}
