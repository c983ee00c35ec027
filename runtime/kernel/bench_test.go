// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kernel_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/aalis-dev/aalis-operator/runtime/kernel"
	"github.com/aalis-dev/aalis-operator/runtime/recompute"
)

func benchApp(b *testing.B, modules []kernel.Module, cfg kernel.Config) *kernel.App {
	b.Helper()
	app, err := kernel.New(kernel.Options{Modules: modules, Config: cfg, Now: time.Now})
	if err != nil {
		b.Fatal(err)
	}
	return app
}

func benchRoot(b *testing.B) *kernel.Context {
	b.Helper()
	app := benchApp(b, nil, kernel.Config{})
	b.Cleanup(func() { _ = app.Stop(context.Background()) })
	return app.Root()
}

func BenchmarkEmit(b *testing.B) {
	for _, n := range []int{0, 1, 10, 50} {
		b.Run(fmt.Sprintf("listeners=%d", n), func(b *testing.B) {
			k, ctx, calls := benchRoot(b), context.Background(), 0
			for range n {
				ping.On(k, func(context.Context, string) error { calls++; return nil })
			}
			b.ReportAllocs()
			for b.Loop() {
				ping.Emit(ctx, k, "x")
			}
			if n > 0 && calls < n {
				b.Fatal("not called")
			}
		})
	}
}

func BenchmarkHook(b *testing.B) {
	for _, n := range []int{0, 1, 10, 20} {
		b.Run(fmt.Sprintf("handlers=%d", n), func(b *testing.B) {
			k, ctx, calls := benchRoot(b), context.Background(), 0
			for range n {
				before.Use(k, func(ctx context.Context, _ *turn, next kernel.Next) error { return next(ctx) })
			}
			d, final := &turn{}, func(context.Context) error { calls++; return nil }
			b.ReportAllocs()
			for b.Loop() {
				if end, err := before.Run(ctx, k, d, final); !end || err != nil {
					b.Fatal(end, err)
				}
			}
			if calls == 0 {
				b.Fatal("not called")
			}
		})
	}
}

func BenchmarkGetService(b *testing.B) {
	for _, n := range []int{0, 1, 5} {
		b.Run(fmt.Sprintf("providers=%d", n), func(b *testing.B) {
			k := benchRoot(b)
			key := kernel.NewService[*turn]("bench")
			for i := range 40 {
				service(fmt.Sprint("other-", i)).Provide(k, "x")
			}
			for i := range n {
				key.Provide(k, &turn{}, kernel.WithEntryID(fmt.Sprint("root/", i)))
			}
			k.Prefer("bench", fmt.Sprint("root/", n-1))
			b.ReportAllocs()
			for b.Loop() {
				if _, ok := key.Get(k); ok != (n > 0) {
					b.Fatal(ok)
				}
			}
		})
	}
	b.Run("interface", func(b *testing.B) {
		k := benchRoot(b)
		key := kernel.NewService[fmt.Stringer]("bench")
		key.Provide(k, time.Second)
		b.ReportAllocs()
		for b.Loop() {
			if _, ok := key.Get(k); !ok {
				b.Fatal(ok)
			}
		}
	})
}

func BenchmarkCollect(b *testing.B) {
	k := benchRoot(b)
	for i := range 50 {
		if _, err := prompts.Contribute(k, fmt.Sprint("c", i), &turn{}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		if got := prompts.Collect(k); len(got) != 50 {
			b.Fatal(len(got))
		}
	}
}

// chainOf makes n modules of which each requires the one before it, or which are independent.
func chainOf(n int, independent bool) ([]kernel.Module, map[string]kernel.PluginConfig) {
	var modules []kernel.Module
	plugins := map[string]kernel.PluginConfig{}
	for i := range n {
		s := spec{name: fmt.Sprintf("p%04d", i), provides: []string{fmt.Sprintf("s%d", i)}}
		if i > 0 && !independent {
			s.requires = []string{fmt.Sprintf("s%d", i-1)}
		}
		modules = append(modules, s.module())
		plugins[s.name] = kernel.PluginConfig{}
	}
	return modules, plugins
}

// BenchmarkRecompute is a recompute that finds nothing to change, asked for by a service that nobody uses.
func BenchmarkRecompute(b *testing.B) {
	for _, n := range []int{40, 1000} {
		b.Run(fmt.Sprintf("plugins=%d", n), func(b *testing.B) {
			ctx := context.Background()
			modules, plugins := chainOf(n, false)
			app := benchApp(b, modules, kernel.Config{Plugins: plugins})
			benchStep(b, true, func() error { return app.Start(ctx) })
			b.Cleanup(func() { _ = app.Stop(ctx) })
			b.ReportAllocs()
			for b.Loop() {
				count := app.LastRecompute().Count
				off := llm.Provide(app.Root(), "x")
				benchStep(b, true, func() error { return app.Plugins().Idle(ctx) })
				if app.LastRecompute().Count == count {
					b.Fatal("no recompute")
				}
				benchStep(b, false, func() error { off(); return app.Plugins().Idle(ctx) })
			}
		})
	}
}

// benchStep runs a part of an iteration, on the clock or off it.
func benchStep(b *testing.B, timed bool, fn func() error) {
	b.Helper()
	if !timed {
		b.StopTimer()
		defer b.StartTimer()
	}
	if err := fn(); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkChain measures plugins of which each requires the one before it: starting them, losing the root, having it
// back, stopping.
func BenchmarkChain(b *testing.B) {
	const length = 200
	ctx := context.Background()
	modules, plugins := chainOf(length, false)
	for _, timed := range []string{"converge", "lose root", "root back", "stop"} {
		b.Run(timed, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				var app *kernel.App
				step := func(name string, active int, fn func() error) {
					b.Helper()
					benchStep(b, name == timed, fn)
					benchStep(b, false, func() error { return wantActive(app, active) })
				}
				b.StopTimer()
				app = benchApp(b, modules, kernel.Config{Plugins: plugins})
				b.StartTimer()
				m := app.Plugins()
				step("converge", length, func() error { return app.Start(ctx) })
				step("lose root", 0, func() error { return errors.Join(m.Disable(ctx, "p0000"), m.Idle(ctx)) })
				step("root back", length, func() error { return errors.Join(m.Enable("p0000"), m.Idle(ctx)) })
				step("stop", 0, func() error { return app.Stop(ctx) })
			}
		})
	}
}

func wantActive(app *kernel.App, want int) error {
	got := 0
	for _, p := range app.Plugins().Status() {
		if p.State == recompute.Active {
			got++
		}
	}
	if got != want {
		return fmt.Errorf("%d plugins are active, want %d", got, want)
	}
	return nil
}
