// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kernel_test

import (
	"context"
	"errors"
	"testing"

	"github.com/aalis-dev/aalis-operator/runtime/kernel"
	"github.com/aalis-dev/aalis-operator/runtime/kerneltest"
)

type turn struct{ text string }

var before = kernel.NewHook[turn]("before")

func wrap(k *kernel.Context, r *trace, name string) func() {
	return before.Use(k, func(ctx context.Context, _ *turn, next kernel.Next) error {
		r.add(name + " before")
		err := next(ctx)
		r.add(name + " after")
		return err
	})
}

func TestHooks(t *testing.T) {
	ctx := context.Background()
	run := func(t *testing.T, k *kernel.Context, r *trace, opts ...kernel.RunOption) bool {
		t.Helper()
		end, err := before.Run(ctx, k, &turn{}, func(context.Context) error { r.add("final"); return nil }, opts...)
		must(t, err)
		return end
	}
	t.Run("8.1.9 handlers wrap each other in order of registration", bubble(func(t *testing.T) {
		h, r := kerneltest.New(t), &trace{}
		wrap(h.Root(), r, "A")
		wrap(h.Root(), r, "B")
		if !run(t, h.Root(), r) {
			t.Error("the end was not reached")
		}
		r.want(t, "A before", "B before", "final", "B after", "A after")
		if before.Name() != "before" {
			t.Errorf("name is %q", before.Name())
		}
	}))
	t.Run("8.1.10 a handler that does not call next ends the run", bubble(func(t *testing.T) {
		h, r := kerneltest.New(t), &trace{}
		before.Use(h.Root(), func(context.Context, *turn, kernel.Next) error { r.add("A"); return nil })
		wrap(h.Root(), r, "B")
		if run(t, h.Root(), r) {
			t.Error("the end was reached")
		}
		r.want(t, "A")
		if len(h.Logs.Find("did not call next")) > 0 {
			t.Error("warned without having been asked to")
		}
		run(t, h.Root(), r, kernel.WarnOnStall())
		wantLog(t, h, "did not call next", "hook=\"before\"", "skipped=\"1\"")
	}))
	t.Run("8.1.10 the last handler may swallow without a warning", bubble(func(t *testing.T) {
		h, r := kerneltest.New(t), &trace{}
		before.Use(h.Root(), func(context.Context, *turn, kernel.Next) error { return nil })
		run(t, h.Root(), r, kernel.WarnOnStall())
		if len(h.Logs.Find("did not call next")) > 0 {
			t.Error("warned")
		}
	}))
	t.Run("8.1.11 with no handlers the final action runs", bubble(func(t *testing.T) {
		h, r := kerneltest.New(t), &trace{}
		if !run(t, h.Root(), r) {
			t.Error("the end was not reached")
		}
		r.want(t, "final")
		wrap(h.Root(), r, "A")()
		run(t, h.Root(), r)
		r.want(t, "final")
		if end, err := before.Run(ctx, h.Root(), &turn{}, nil); !end || err != nil {
			t.Errorf("with no final action: %v, %v", end, err)
		}
	}))
	t.Run("8.1.12 a handler that removes itself skips nobody", bubble(func(t *testing.T) {
		h, r := kerneltest.New(t), &trace{}
		var off func()
		off = before.Use(h.Root(), func(ctx context.Context, _ *turn, next kernel.Next) error {
			off()
			r.add("A")
			return next(ctx)
		})
		wrap(h.Root(), r, "B")
		if !run(t, h.Root(), r) {
			t.Error("the end was not reached")
		}
		r.want(t, "A", "B before", "final", "B after")
	}))
	t.Run("8.1.13 a handler removed before its turn is skipped, one added is not run", bubble(func(t *testing.T) {
		h, r := kerneltest.New(t), &trace{}
		var off func()
		before.Use(h.Root(), func(ctx context.Context, _ *turn, next kernel.Next) error {
			off()
			wrap(h.Root(), r, "added")
			return next(ctx)
		})
		off = wrap(h.Root(), r, "B")
		wrap(h.Root(), r, "C")
		if !run(t, h.Root(), r) {
			t.Error("the end was not reached")
		}
		r.want(t, "C before", "final", "C after")
	}))
	t.Run("8.1.14 old offs remove only their own entry", bubble(func(t *testing.T) {
		h, r := kerneltest.New(t), &trace{}
		a, b := fork(t, h.Root(), "a"), fork(t, h.Root(), "b")
		offA := wrap(a, r, "A")
		offB := wrap(b, r, "B")
		dispose(t, a)
		a = fork(t, h.Root(), "a")
		wrap(a, r, "A2")
		offA()
		run(t, h.Root(), r)
		r.want(t, "B before", "A2 before", "final", "A2 after", "B after")
		offB()
		run(t, h.Root(), r)
		r.want(t, "A2 before", "final", "A2 after")
	}))
	t.Run("calling next twice is harmless", bubble(func(t *testing.T) {
		h, r := kerneltest.New(t), &trace{}
		broken := errors.New("broken")
		before.Use(h.Root(), func(ctx context.Context, _ *turn, next kernel.Next) error {
			first := next(ctx)
			if second := next(ctx); !errors.Is(second, first) {
				t.Errorf("second call gave %v, first %v", second, first)
			}
			return nil
		})
		before.Use(h.Root(), func(ctx context.Context, _ *turn, next kernel.Next) error { r.add("B"); return next(ctx) })
		_, err := before.Run(ctx, h.Root(), &turn{}, func(context.Context) error { r.add("final"); return broken })
		must(t, err)
		r.want(t, "B", "final")
	}))
	t.Run("whoever calls next and however often, nobody runs twice", bubble(func(t *testing.T) {
		h, r := kerneltest.New(t), &trace{}
		var outer kernel.Next
		before.Use(h.Root(), func(ctx context.Context, _ *turn, next kernel.Next) error { outer = next; return next(ctx) })
		before.Use(h.Root(), func(ctx context.Context, _ *turn, next kernel.Next) error {
			r.add("B")
			return errors.Join(outer(ctx), next(ctx), outer(ctx))
		})
		before.Use(h.Root(), func(ctx context.Context, _ *turn, next kernel.Next) error { r.add("C"); return next(ctx) })
		end, err := before.Run(ctx, h.Root(), &turn{}, func(ctx context.Context) error {
			r.add("final")
			return outer(ctx)
		})
		must(t, errors.Join(err, outer(ctx)))
		if !end {
			t.Error("the end was not reached")
		}
		r.want(t, "B", "C", "final")
	}))
	t.Run("a later call of next gives the first call's result at each level", bubble(func(t *testing.T) {
		h := kerneltest.New(t)
		inner := errors.New("inner")
		before.Use(h.Root(), func(ctx context.Context, _ *turn, next kernel.Next) error {
			if first, second := next(ctx), next(ctx); first != nil || second != nil {
				t.Errorf("outer: %v, %v", first, second)
			}
			return nil
		})
		before.Use(h.Root(), func(ctx context.Context, _ *turn, next kernel.Next) error {
			if first, second := next(ctx), next(ctx); !errors.Is(first, inner) || !errors.Is(second, inner) {
				t.Errorf("inner: %v, %v", first, second)
			}
			return nil
		})
		_, err := before.Run(ctx, h.Root(), &turn{}, func(context.Context) error { return inner })
		must(t, err)
	}))
	t.Run("next may be called from another goroutine, and twice at once", bubble(func(t *testing.T) {
		h, r := kerneltest.New(t), &trace{}
		before.Use(h.Root(), func(ctx context.Context, _ *turn, next kernel.Next) error {
			done := make(chan error)
			for range 2 {
				go func() { done <- next(ctx) }()
			}
			return errors.Join(<-done, <-done)
		})
		for _, name := range []string{"B", "C"} {
			before.Use(h.Root(), func(ctx context.Context, _ *turn, next kernel.Next) error { r.add(name); return next(ctx) })
		}
		run(t, h.Root(), r)
		for _, step := range []string{"B", "C"} {
			if n := r.count(step); n != 1 {
				t.Errorf("%s ran %d times", step, n)
			}
		}
	}))
	t.Run("errors and panics reach the caller", bubble(func(t *testing.T) {
		h, r := kerneltest.New(t), &trace{}
		k := fork(t, h.Root(), "faulty")
		wrap(h.Root(), r, "A")
		off := before.Use(k, func(context.Context, *turn, kernel.Next) error { return errors.New("refused") })
		end, err := before.Run(ctx, h.Root(), &turn{}, func(context.Context) error { r.add("final"); return nil })
		wantError(t, err, "refused")
		if end {
			t.Error("the end was reached")
		}
		r.want(t, "A before", "A after")
		off()
		before.Use(k, func(context.Context, *turn, kernel.Next) error { panic("oops") })
		_, err = before.Run(ctx, h.Root(), &turn{}, nil)
		var p *kernel.PanicError
		if !errors.As(err, &p) || len(p.Stack) == 0 {
			t.Errorf("got %v, want a PanicError with a stack", err)
		}
		wantLog(t, h, "Hook handler failed", "oops", "scope=\"aalis:faulty\"", "stack=")
		dispose(t, k)
		_, err = before.Run(ctx, h.Root(), &turn{}, func(context.Context) error { panic(context.Canceled) })
		if !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want the value of the final action's panic", err)
		}
	}))
	t.Run("handlers change the data", bubble(func(t *testing.T) {
		h := kerneltest.New(t)
		before.Use(h.Root(), func(ctx context.Context, d *turn, next kernel.Next) error { d.text += "a"; return next(ctx) })
		before.Use(h.Root(), func(ctx context.Context, d *turn, next kernel.Next) error { *d = turn{d.text + "b"}; return next(ctx) })
		d := &turn{}
		_, err := before.Run(ctx, h.Root(), d, nil)
		must(t, err)
		if d.text != "ab" {
			t.Errorf("data is %q", d.text)
		}
	}))
	t.Run("a hook that runs itself ends with an error", func(t *testing.T) {
		h := kerneltest.New(t)
		before.Use(h.Root(), func(ctx context.Context, d *turn, _ kernel.Next) error {
			_, err := before.Run(ctx, h.Root(), d, nil)
			return err
		})
		_, err := before.Run(ctx, h.Root(), &turn{}, nil)
		wantError(t, err, "hook before", "too many nested")
	})
	t.Run("a handler for another data type is an error", bubble(func(t *testing.T) {
		h := kerneltest.New(t)
		kernel.NewHook[int]("before").Use(h.Root(), func(context.Context, *int, kernel.Next) error { return nil })
		_, err := before.Run(ctx, h.Root(), &turn{}, nil)
		wantError(t, err, "another type")
	}))
}
