// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kernel_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/aalis-dev/aalis-operator/runtime/kernel"
	"github.com/aalis-dev/aalis-operator/runtime/kerneltest"
)

var ping = kernel.NewEvent[string]("ping")

func on(k *kernel.Context, r *trace, name string) func() {
	return ping.On(k, func(_ context.Context, v string) error {
		r.add(name + " " + v)
		return nil
	})
}

func TestEvents(t *testing.T) {
	ctx := context.Background()
	t.Run("8.1.1 handlers run one after the other in order of registration", bubble(func(t *testing.T) {
		h, r := kerneltest.New(t), &trace{}
		gate := make(chan struct{})
		ping.On(h.Root(), func(context.Context, string) error {
			r.add("a begins")
			<-gate
			r.add("a ends")
			return nil
		})
		on(h.Root(), r, "b")
		done := make(chan struct{})
		go func() { ping.Emit(ctx, h.Root(), "1"); close(done) }()
		synctest.Wait()
		r.want(t, "a begins")
		close(gate)
		<-done
		r.want(t, "a ends", "b 1")
	}))
	t.Run("8.1.2 removed handlers are not called and nobody is needed", bubble(func(t *testing.T) {
		h, r := kerneltest.New(t), &trace{}
		ping.Emit(ctx, h.Root(), "0")
		off := on(h.Root(), r, "a")
		off()
		off()
		ping.Emit(ctx, h.Root(), "1")
		r.want(t)
		if ping.Name() != "ping" {
			t.Errorf("name is %q", ping.Name())
		}
	}))
	t.Run("8.1.3 handlers are isolated", bubble(func(t *testing.T) {
		h, r := kerneltest.New(t), &trace{}
		k := fork(t, h.Root(), "faulty")
		ping.On(k, func(context.Context, string) error { panic(errors.New("thrown")) })
		ping.On(k, func(context.Context, string) error { return errors.New("rejected") })
		on(h.Root(), r, "c")
		ping.Emit(ctx, h.Root(), "1")
		r.want(t, "c 1")
		wantLog(t, h, "thrown", "event=\"ping\"", "scope=\"aalis:faulty\"", "stack=")
		wantLog(t, h, "rejected", "event=\"ping\"")
	}))
	t.Run("8.1.4 a sticky event is replayed once, later, and its failure reported", bubble(func(t *testing.T) {
		h, r := kerneltest.New(t), &trace{}
		kernel.EventReady.On(h.Root(), func(context.Context, struct{}) error { r.add("panics"); panic("replayed badly") })
		kernel.EventReady.On(h.Root(), func(context.Context, struct{}) error { r.add("fails"); return errors.New("replay failed") })
		synctest.Wait()
		if got := sorted(r.take()); len(got) != 2 || got[0] != "fails" || got[1] != "panics" {
			t.Errorf("replays: %v", got)
		}
		wantLog(t, h, "replayed badly", "stack=")
		wantLog(t, h, "replay failed")
	}))
	t.Run("8.1.4 a sticky event is not replayed to a handler that was removed first", bubble(func(t *testing.T) {
		h, r := kerneltest.New(t), &trace{}
		kernel.EventReady.On(h.Root(), func(context.Context, struct{}) error { r.add("ready"); return nil })()
		synctest.Wait()
		if got := r.take(); len(got) > 1 {
			t.Errorf("replays: %v", got)
		}
	}))
	t.Run("8.1.4 a handler sees each emission of a sticky event once", bubble(func(t *testing.T) {
		h, r := kerneltest.New(t, kerneltest.Unstarted()), &trace{}
		kernel.EventReady.On(h.Root(), func(context.Context, struct{}) error {
			r.add("first")
			kernel.EventReady.On(h.Root(), func(context.Context, struct{}) error { r.add("added"); return nil })
			return nil
		})
		h.Start()
		synctest.Wait()
		r.want(t, "first", "added")
	}))
	t.Run("8.1.5 a cleared sticky event is not replayed", bubble(func(t *testing.T) {
		h, r := kerneltest.New(t, kerneltest.WithOptions(func(o *kernel.Options) { o.Restart = restartFunc(nil) })), &trace{}
		must(t, h.App.Restart(ctx, nil))
		for _, e := range []kernel.Event[struct{}]{kernel.EventReady, kernel.EventAppStarted} {
			e.On(h.Root(), func(context.Context, struct{}) error { r.add(e.Name()); return nil })
		}
		synctest.Wait()
		r.want(t)
	}))
	t.Run("8.1.6 a context in teardown no longer reacts, its sibling does", bubble(func(t *testing.T) {
		h, r := kerneltest.New(t), &trace{}
		a, b := fork(t, h.Root(), "a"), fork(t, h.Root(), "b")
		on(a, r, "a")
		on(b, r, "b")
		gate := make(chan struct{})
		a.OnDispose("slow", func(context.Context) error { <-gate; return nil })
		done := make(chan struct{})
		go func() { dispose(t, a); close(done) }()
		synctest.Wait()
		ping.Emit(ctx, h.Root(), "1")
		r.want(t, "b 1")
		close(gate)
		<-done
	}))
	t.Run("8.1.7 a stale off leaves later handlers alone", bubble(func(t *testing.T) {
		h, r := kerneltest.New(t), &trace{}
		a, b := fork(t, h.Root(), "a"), fork(t, h.Root(), "b")
		off := on(a, r, "a")
		dispose(t, a)
		on(b, r, "b")
		off()
		ping.Emit(ctx, h.Root(), "1")
		r.want(t, "b 1")
	}))
	t.Run("8.1.8 the host's handlers survive any teardown", bubble(func(t *testing.T) {
		h, r := kerneltest.New(t), &trace{}
		on(h.Root(), r, "host")
		dispose(t, fork(t, h.Root(), "a"))
		ping.Emit(ctx, h.Root(), "1")
		r.want(t, "host 1")
	}))
	t.Run("handlers removed meanwhile are skipped, added ones called", bubble(func(t *testing.T) {
		h, r := kerneltest.New(t), &trace{}
		var offs []func()
		ping.On(h.Root(), func(context.Context, string) error {
			r.add("a")
			for _, off := range offs {
				off()
			}
			on(h.Root(), r, "added")
			return nil
		})
		offs = append(offs, on(h.Root(), r, "removed"))
		on(h.Root(), r, "last")
		ping.Emit(ctx, h.Root(), "1")
		r.want(t, "a", "last 1", "added 1")
	}))
	t.Run("a handler that adds handlers for ever is stopped", bubble(func(t *testing.T) {
		h := kerneltest.New(t)
		n := 0
		var add func(context.Context, string) error
		add = func(context.Context, string) error {
			n++
			ping.On(h.Root(), add)
			return nil
		}
		ping.On(h.Root(), add)
		ping.Emit(ctx, h.Root(), "1")
		if n < 1000 || n > 2000 {
			t.Errorf("called %d times", n)
		}
	}))
	t.Run("an event that emits itself ends with an error", func(t *testing.T) {
		h := kerneltest.New(t)
		ping.On(h.Root(), func(ctx context.Context, v string) error {
			ping.Emit(ctx, h.Root(), v)
			return nil
		})
		ping.Emit(ctx, h.Root(), "1")
		wantLog(t, h, "Dropped event", "ping")
	})
	t.Run("a handler for another payload type is reported", bubble(func(t *testing.T) {
		h := kerneltest.New(t)
		kernel.NewEvent[int]("ping").On(h.Root(), func(context.Context, int) error { return nil })
		ping.Emit(ctx, h.Root(), "1")
		wantLog(t, h, "takes another type than the string")
	}))
}

type restartFunc func(ctx context.Context, r kernel.RestartRequest) error

func (f restartFunc) Restart(ctx context.Context, r kernel.RestartRequest) error {
	if f == nil {
		return nil
	}
	return f(ctx, r)
}
