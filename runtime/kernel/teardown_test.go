// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kernel_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/aalis-dev/aalis-operator/runtime/kernel"
	"github.com/aalis-dev/aalis-operator/runtime/kerneltest"
)

func cleanup(k *kernel.Context, r *trace, label string) func() {
	return k.OnDispose(label, func(context.Context) error { r.add(label); return nil })
}

func TestTeardown(t *testing.T) {
	t.Run("8.2.1 cleanups run in reverse, each once", bubble(func(t *testing.T) {
		h, r := kerneltest.New(t), &trace{}
		k := fork(t, h.Root(), "p")
		cleanup(k, r, "1")
		off := cleanup(k, r, "2")
		k.OnDispose("fails", func(context.Context) error { r.add("fails"); return errors.New("cannot close") })
		k.OnDispose("panics", func(context.Context) error { r.add("panics"); panic("cannot close") })
		k.OnDispose("exits", func(context.Context) error { r.add("exits"); runtime.Goexit(); return nil })
		cleanup(k, r, "removed")()
		removed := cleanup(k, r, "removed by the next")
		k.OnDispose("remover", func(context.Context) error { removed(); off(); return nil })
		dispose(t, k)
		r.want(t, "exits", "panics", "fails", "1")
		dispose(t, k)
		r.want(t)
	}))
	t.Run("8.2.1 a cleanup registered afterwards runs at once", bubble(func(t *testing.T) {
		h, r := kerneltest.New(t), &trace{}
		k := fork(t, h.Root(), "p")
		dispose(t, k)
		cleanup(k, r, "late")()
		settle()
		r.want(t, "late")
		wantLog(t, h, "WARN", "Ran cleanup at once", "cleanup=\"late\"")
	}))
	t.Run("8.2.2 cleanups are sequential, a hanging one is given up", bubble(func(t *testing.T) {
		h, r := kerneltest.New(t), &trace{}
		k := fork(t, h.Root(), "p")
		cleanup(k, r, "first")
		gate := make(chan struct{})
		k.OnDispose("hangs", func(ctx context.Context) error {
			<-ctx.Done()
			r.add("told")
			<-gate
			return nil
		})
		k.OnDispose("rejects", func(context.Context) error { return errors.New("no") })
		k.OnDispose("slow", func(context.Context) error {
			r.add("slow begins")
			pass(time.Second)
			r.add("slow ends")
			return nil
		})
		began := time.Now()
		dispose(t, k)
		settle()
		if took := time.Since(began); took != 6*time.Second {
			t.Errorf("took %s", took)
		}
		if n := h.App.Stats().Abandoned; n != 1 {
			t.Errorf("abandoned %d", n)
		}
		close(gate)
		if got := r.take(); len(got) != 4 || got[0] != "slow begins" || got[1] != "slow ends" {
			t.Errorf("steps %v", got)
		}
	}))
	t.Run("8.2.3 dispose without waiting withdraws at once", bubble(func(t *testing.T) {
		h, r := kerneltest.New(t), &trace{}
		k := fork(t, h.Root(), "p")
		child := fork(t, k, "p/child")
		gate := make(chan struct{})
		k.OnDispose("slow", func(context.Context) error { <-gate; return nil })
		k.OnDispose("panics", func(context.Context) error { panic("inside") })
		for _, c := range []*kernel.Context{k, child} {
			on(c, r, "event")
			wrap(c, r, "hook")
			contribute(t, c, "x", "1")
			llm.Provide(c, "x")
		}
		record(h.Root(), r, kernel.EventServiceUnregistered)
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		err := k.Dispose(ended)
		if !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		ping.Emit(context.Background(), h.Root(), "1")
		_, err = before.Run(context.Background(), h.Root(), &turn{}, nil)
		must(t, err)
		wantCollected(t, h.Root())
		if _, ok := llm.Get(h.Root()); ok || !k.Disposed() || !child.Disposed() {
			t.Error("something is still there")
		}
		r.want(t, "service:unregistered llm", "service:unregistered llm")
		close(gate)
		dispose(t, k)
		r.want(t)
	}))
	t.Run("8.2.6 warnings name the cleanup", bubble(func(t *testing.T) {
		h := kerneltest.New(t)
		k := fork(t, h.Root(), "p")
		gate := make(chan struct{})
		k.OnDispose("connection", func(context.Context) error { <-gate; return nil })
		k.OnDispose("file", func(context.Context) error { return errors.New("disk full") })
		k.OnDispose("", func(context.Context) error { return errors.New("nameless") })
		dispose(t, k)
		close(gate)
		wantLog(t, h, "WARN", "Gave up waiting", "cleanup=\"connection\"", "timeout=\"5s\"")
		wantLog(t, h, "WARN", "Cleanup failed", "cleanup=\"file\"", "disk full")
		wantLog(t, h, "WARN", "Cleanup failed", "cleanup=\"#2\"", "nameless")
	}))
	t.Run("8.2.17 a second dispose joins the first", bubble(func(t *testing.T) {
		h, r := kerneltest.New(t), &trace{}
		k := fork(t, h.Root(), "p")
		gate := make(chan struct{})
		k.OnDispose("slow", func(context.Context) error { <-gate; r.add("cleaned"); return nil })
		go func() { _ = k.Dispose(context.Background()) }()
		settle()
		impatient, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		err := k.Dispose(impatient)
		wantError(t, err, "tearing down p", "deadline")
		go func() { close(gate) }()
		dispose(t, k)
		r.want(t, "cleaned")
		dispose(t, k)
		r.want(t)
	}))
	t.Run("8.2.17 a parent waits for a child that is half torn down", bubble(func(t *testing.T) {
		h, r := kerneltest.New(t), &trace{}
		k := fork(t, h.Root(), "p")
		child := fork(t, k, "p/child")
		gate := make(chan struct{})
		cleanup(k, r, "parent")
		child.OnDispose("slow", func(context.Context) error { <-gate; r.add("child"); return nil })
		go func() { _ = child.Dispose(context.Background()) }()
		settle()
		go func() { _ = k.Dispose(context.Background()) }()
		settle()
		r.want(t)
		close(gate)
		dispose(t, k)
		r.want(t, "child", "parent")
	}))
	t.Run("a child that hangs is given up by its parent", bubble(func(t *testing.T) {
		h, r := kerneltest.New(t), &trace{}
		k := fork(t, h.Root(), "p")
		cleanup(k, r, "parent")
		child := fork(t, k, "p/child")
		gate := make(chan struct{})
		for range 3 {
			child.OnDispose("slow", func(context.Context) error { <-gate; return nil })
		}
		dispose(t, k)
		r.want(t, "parent")
		wantLog(t, h, "Gave up waiting", "child=\"p/child\"")
		close(gate)
		dispose(t, child)
	}))
	t.Run("8.2.19 after teardown", bubble(func(t *testing.T) {
		h, r := kerneltest.New(t), &trace{}
		k := fork(t, h.Root(), "p")
		dispose(t, k)
		start := h.App.Stats()
		record(h.Root(), r, kernel.EventServiceRegistered, kernel.EventServiceUnregistered)
		start.Handlers, start.Disposables = start.Handlers+2, start.Disposables+2
		on(k, r, "event")()
		wrap(k, r, "hook")()
		llm.Provide(k, "x")()
		llm.When(k, attach(r))()
		contribute(t, k, "x", "1")()
		k.Go("worker", func(context.Context) { r.add("worker") })
		k.OnDrain("work", func(context.Context) { r.add("drain") })
		for _, what := range []string{"on:ping", "middleware:before", "provide:llm", "whenService:llm", "contribute:prompts:x", "drain:work"} {
			wantLog(t, h, "WARN", "Ignored registration", fmt.Sprintf("registration=%q", what), "scope=\"aalis:p\"")
		}
		wantLog(t, h, "WARN", "Ignored goroutine", "worker")
		_, err := k.Fork("q")
		if !errors.Is(err, kernel.ErrContextDisposed) {
			t.Errorf("fork: %v", err)
		}
		_, err = k.UseModule(spec{name: "m"}.module(), nil)
		if !errors.Is(err, kernel.ErrContextDisposed) {
			t.Errorf("use module: %v", err)
		}
		settle()
		r.want(t)
		if now := h.App.Stats(); now != start {
			t.Errorf("start %+v, now %+v", start, now)
		}
	}))
}

func TestGoroutines(t *testing.T) {
	t.Run("are told, joined after the cleanups, and their panics contained", bubble(func(t *testing.T) {
		h, r := kerneltest.New(t), &trace{}
		k := fork(t, h.Root(), "p")
		conn := make(chan struct{})
		k.OnDispose("close", func(context.Context) error { r.add("close"); close(conn); return nil })
		k.Go("reader", func(ctx context.Context) {
			<-conn
			r.add(fmt.Sprint("reader ends, ", ctx.Err()))
		})
		k.Go("faulty", func(context.Context) { panic("in a goroutine") })
		settle()
		wantLog(t, h, "ERROR", "Goroutine failed", "goroutine=\"faulty\"", "in a goroutine", "stack=")
		if n := h.App.Stats().Goroutines; n != 1 {
			t.Errorf("%d goroutines", n)
		}
		if k.Lifetime().Err() != nil {
			t.Error("the lifetime has ended before teardown")
		}
		dispose(t, k)
		r.want(t, "close", "reader ends, context canceled")
	}))
	t.Run("that do not end are given up", bubble(func(t *testing.T) {
		h := kerneltest.New(t)
		k := fork(t, h.Root(), "p")
		gate := make(chan struct{})
		k.Go("b", func(context.Context) { <-gate })
		k.Go("a", func(context.Context) { <-gate })
		dispose(t, k)
		wantLog(t, h, "WARN", "Gave up waiting for goroutines", "goroutines=\"a, b\"")
		if n := h.App.Stats().Abandoned; n != 2 {
			t.Errorf("abandoned %d", n)
		}
		close(gate)
	}))
	t.Run("without a timeout teardown waits as long as it takes", bubble(func(t *testing.T) {
		h, r := kerneltest.New(t, kerneltest.WithOptions(func(o *kernel.Options) { o.DisposeTimeout = kernel.NoTimeout })), &trace{}
		k := fork(t, h.Root(), "p")
		k.Go("slow", func(context.Context) { pass(time.Hour); r.add("ended") })
		dispose(t, k)
		r.want(t, "ended")
	}))
}

func TestUseModule(t *testing.T) {
	t.Run("a failing module leaves nothing behind", bubble(func(t *testing.T) {
		h, r := kerneltest.New(t), &trace{}
		k := fork(t, h.Root(), "p")
		start := h.App.Stats()
		for _, apply := range []func(*kernel.Context, map[string]any) error{
			func(k *kernel.Context, _ map[string]any) error { llm.Provide(k, "x"); return errors.New("failed") },
			func(k *kernel.Context, _ map[string]any) error { cleanup(k, r, "cleaned"); panic("failed") },
		} {
			_, err := k.UseModule(spec{name: "part", apply: apply}.module(), nil)
			wantError(t, err, "using module part in p", "failed")
			h.Idle()
			if now := h.App.Stats(); now != start {
				t.Errorf("start %+v, now %+v", start, now)
			}
		}
		r.want(t, "cleaned")
		wantLog(t, h, "Used module failed", "stack=")
	}))
	t.Run("config is checked and completed", bubble(func(t *testing.T) {
		h := kerneltest.New(t)
		type config struct {
			Limit int `json:"limit" min:"1"`
		}
		var got config
		m := kernel.Define(kernel.Module{Name: "part"}, config{Limit: 7}, func(_ *kernel.Context, c config) error { got = c; return nil })
		_, err := h.Root().UseModule(m, map[string]any{"limit": 0})
		wantError(t, err, "limit")
		_, err = h.Root().UseModule(m, map[string]any{"lmit": 1})
		wantError(t, err, "lmit", "limit")
		_, err = h.Root().UseModule(m, nil)
		must(t, err)
		if got.Limit != 7 {
			t.Errorf("config %+v", got)
		}
		_, err = h.Root().UseModule(kernel.Module{Name: "empty"}, nil)
		wantError(t, err, "apply must be set")
	}))
	t.Run("ids of living contexts are unique", bubble(func(t *testing.T) {
		h := kerneltest.New(t)
		fork(t, h.Root(), "a")
		_, err := h.Root().Fork("a")
		wantError(t, err, "forking a from root", "living context")
		_, err = h.Root().Fork("")
		wantError(t, err, "non-empty")
	}))
	t.Run("8.2.4 teardown waits for the apply of a child", bubble(func(t *testing.T) {
		h, r := kerneltest.New(t), &trace{}
		p := fork(t, h.Root(), "p")
		gate := make(chan struct{})
		m := spec{name: "part", apply: func(k *kernel.Context, _ map[string]any) error {
			<-gate
			cleanup(k, r, "closed")
			return nil
		}}.module()
		go func() { _, _ = p.UseModule(m, nil) }()
		settle()
		done := make(chan struct{})
		go func() { dispose(t, p); r.add("disposed"); close(done) }()
		settle()
		r.want(t)
		close(gate)
		<-done
		r.want(t, "closed", "disposed")
	}))
}

func TestContext(t *testing.T) {
	t.Run("hands out what the host gave", bubble(func(t *testing.T) {
		h := kerneltest.New(t, kerneltest.WithOptions(func(o *kernel.Options) { o.DataDir = "/data" }))
		k := fork(t, h.Root(), "p")
		h.Clock.Advance(time.Minute)
		if k.ID() != "p" || k.DataDir() != "/data" || k.AppName() != "Test" || !k.Now().Equal(h.Clock.Now()) {
			t.Errorf("id %s, data dir %s, name %s, now %s", k.ID(), k.DataDir(), k.AppName(), k.Now())
		}
		k.Logger().Info("hello")
		wantLog(t, h, "hello", "scope=\"aalis:p\"")
		h.Root().Logger().Info("hello")
		wantLog(t, h, "hello", "scope=\"aalis\"")
		h.Apply(func(c *kernel.Config) { c.Name, c.LogLevel = "Renamed", "warn" })
		if k.AppName() != "Renamed" {
			t.Errorf("name %s", k.AppName())
		}
		k.Logger().Info("unheard")
		k.Logger().WithGroup("g").With("a", 1).Warn("heard")
		if len(h.Logs.Find("unheard")) > 0 {
			t.Error("the log level had no effect")
		}
		wantLog(t, h, "heard", "g.a=\"1\"")
	}))
}
