// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kernel_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/aalis-dev/aalis-operator/runtime/kernel"
	"github.com/aalis-dev/aalis-operator/runtime/kerneltest"
	"github.com/aalis-dev/aalis-operator/runtime/recompute"
	"github.com/aalis-dev/aalis-operator/runtime/schema"
)

func TestApp(t *testing.T) {
	background := context.Background()
	t.Run("8.3.17 start returns when the plugins have come to rest, then tells", bubble(func(t *testing.T) {
		r := &trace{}
		slow := spec{name: "slow", provides: []string{"s"}, apply: func(k *kernel.Context, _ map[string]any) error {
			pass(time.Second)
			service("s").Provide(k, "x")
			r.add("slow")
			return nil
		}}.module()
		h := kerneltest.New(t, kerneltest.Unstarted(), kerneltest.WithPlugin(slow, "", nil),
			kerneltest.WithPlugin(spec{name: "c", requires: []string{"s"}}.module(), "", nil))
		for _, e := range []kernel.Event[struct{}]{kernel.EventAppStarting, kernel.EventReady, kernel.EventAppStarted} {
			e.On(h.Root(), func(context.Context, struct{}) error { r.add(e.Name()); return nil })
		}
		h.Start()
		r.want(t, "slow", "app:starting", "ready", "app:started")
		h.WantState("c", recompute.Active)
		if err := h.App.Start(background); !errors.Is(err, kernel.ErrStarted) {
			t.Errorf("second start: %v", err)
		}
		h.Stop()
		if err := h.App.Start(background); !errors.Is(err, kernel.ErrStopped) {
			t.Errorf("start after stop: %v", err)
		}
	}))
	t.Run("8.3.18 apps share nothing, stop tells and cleans", bubble(func(t *testing.T) {
		r := &trace{}
		one, two := kerneltest.New(t), kerneltest.New(t)
		llm.Provide(one.Root(), "x")
		if _, ok := llm.Get(two.Root()); ok {
			t.Error("a service is shared")
		}
		on(two.Root(), r, "two")
		ping.Emit(background, one.Root(), "1")
		one.Root().Logger().Info("only here")
		if len(two.Logs.Find("only here")) > 0 {
			t.Error("the log is shared")
		}
		app, _ := kernel.ServiceApp.Get(one.Root())
		manager, _ := kernel.ServicePlugins.Get(one.Root())
		if app != one.App || manager != one.App.Plugins() {
			t.Error("the kernel's own services are missing")
		}
		cleanup(one.Root(), r, "root cleaned")
		kernel.EventAppStopping.On(one.Root(), func(context.Context, struct{}) error { r.add("stopping"); return nil })
		one.Stop()
		one.Stop()
		r.want(t, "stopping", "root cleaned")
		if s := one.App.Stats(); s != (kernel.Stats{}) {
			t.Errorf("after stop %+v", s)
		}
	}))
	t.Run("a start that takes too long returns, and the app can be stopped", bubble(func(t *testing.T) {
		gate := make(chan struct{})
		stuck := spec{name: "stuck", apply: func(*kernel.Context, map[string]any) error { <-gate; return nil }}.module()
		h := kerneltest.New(t, kerneltest.Unstarted(), kerneltest.WithPlugin(stuck, "", nil))
		ctx, cancel := context.WithTimeout(background, time.Second)
		defer cancel()
		err := h.App.Start(ctx)
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		began := time.Now()
		h.Stop()
		if took := time.Since(began); took != 2*kernel.DefaultDisposeTimeout {
			t.Errorf("stopping took %s", took)
		}
		if got := h.Plugin("stuck"); got.State != recompute.Error || got.Error != "apply did not return before the shutdown" {
			t.Errorf("status %+v", got)
		}
		close(gate)
	}))
	t.Run("a stop drains in order, within one limit, and an impatient one cuts it short", bubble(func(t *testing.T) {
		r := &trace{}
		h := kerneltest.New(t)
		register(t, h, spec{name: "p", provides: []string{"s"}, cleanup: func() { r.add("p cleaned") }, apply: func(k *kernel.Context, _ map[string]any) error {
			service("s").Provide(k, "x")
			k.OnDrain("p", func(ctx context.Context) { <-ctx.Done(); r.add("p drained") })
			return nil
		}}.module(), "")
		register(t, h, spec{name: "c", requires: []string{"s"}, cleanup: func() { r.add("c cleaned") }, apply: func(k *kernel.Context, _ map[string]any) error {
			k.OnDrain("turns", func(context.Context) {
				if k.Lifetime().Err() != nil {
					t.Error("the lifetime ended before draining")
				}
				pass(20 * time.Second)
				r.add("c drained")
			})
			return nil
		}}.module(), "")
		h.WantState("c", recompute.Active)
		ctx, cancel := context.WithTimeout(background, 30*time.Second)
		defer cancel()
		err := h.App.Stop(ctx)
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		h.Stop()
		settle()
		if got := r.take(); !slices.Equal(got[:2], []string{"c drained", "c cleaned"}) || !slices.Contains(got, "p cleaned") {
			t.Errorf("steps %v", got)
		}
	}))
	t.Run("8.4.8 restart hands over to the strategy, one at a time", bubble(func(t *testing.T) {
		r, gate := &trace{}, make(chan struct{})
		var h *kerneltest.Harness
		strategy := restartFunc(func(ctx context.Context, req kernel.RestartRequest) error {
			r.add("restart " + req.Rollback.(string))
			<-gate
			if err := req.Stop(ctx); err != nil {
				return err
			}
			panic("cannot spawn")
		})
		h = kerneltest.New(t, kerneltest.WithOptions(func(o *kernel.Options) { o.Restart = strategy }))
		kernel.EventRestarting.On(h.Root(), func(context.Context, struct{}) error { r.add("restarting"); return nil })
		done := make(chan error)
		go func() { done <- h.App.Restart(background, "ticket") }()
		settle()
		must(t, h.App.Restart(background, "another"))
		close(gate)
		must(t, <-done)
		r.want(t, "restarting", "restart ticket")
		wantLog(t, h, "WARN", "Restart failed", "cannot spawn")
		if err := kerneltest.New(t).App.Restart(background, nil); !errors.Is(err, kernel.ErrNoRestartStrategy) {
			t.Errorf("without a strategy: %v", err)
		}
	}))
	t.Run("8.4.1 enabling and disabling twice is as once", bubble(func(t *testing.T) {
		h, r := kerneltest.New(t), &trace{}
		register(t, h, spec{name: "p", cleanup: func() { r.add("cleaned") }, apply: func(*kernel.Context, map[string]any) error {
			r.add("applied")
			return nil
		}}.module(), "")
		h.Idle()
		for range 2 {
			disable(t, h, "p")
		}
		h.WantState("p", recompute.Disabled)
		for range 2 {
			must(t, h.App.Plugins().Enable("p"))
		}
		h.WantState("p", recompute.Active)
		r.want(t, "applied", "cleaned", "applied")
	}))
	t.Run("8.4.2 what is saved has texts as they were given", bubble(func(t *testing.T) {
		texts := map[string]any{"key": "${KEY}", "list": []any{"a\nb", "  "}}
		m := spec{name: "p"}.module()
		m.Config = schema.Object{Fields: []schema.Field{{Name: "key", Type: schema.Textarea, Secret: true}, {Name: "list", Type: schema.Array}}}
		var saved kernel.Config
		h := kerneltest.New(t, kerneltest.WithPlugin(m, "", texts), kerneltest.WithOptions(func(o *kernel.Options) {
			o.Store = storeFunc(func(_ context.Context, c kernel.Config) error { saved = c; return nil })
		}))
		must(t, h.App.SaveConfig(context.Background()))
		if diff := cmp.Diff(texts, saved.Plugins["p"].Config); diff != "" {
			t.Errorf("saved (-want +got):\n%s", diff)
		}
	}))
	t.Run("8.4.1 save hands over the config in effect, without a store it does nothing", bubble(func(t *testing.T) {
		var saved kernel.Config
		store := storeFunc(func(_ context.Context, c kernel.Config) error { saved = c; return nil })
		h := kerneltest.New(t, kerneltest.WithPlugin(spec{name: "p"}.module(), "", nil),
			kerneltest.WithSetting("secret", "${X}"), kerneltest.WithOptions(func(o *kernel.Options) { o.Store = store }))
		disable(t, h, "p")
		must(t, h.App.SaveConfig(background))
		if saved.Name != "Test" || !saved.Plugins["p"].Disabled || string(saved.Settings["secret"]) != `"${X}"` {
			t.Errorf("saved %+v", saved)
		}
		must(t, kerneltest.New(t).App.SaveConfig(background))
		failing := storeFunc(func(context.Context, kernel.Config) error { return errors.New("read-only") })
		h = kerneltest.New(t, kerneltest.WithOptions(func(o *kernel.Options) { o.Store = failing }))
		wantError(t, h.App.SaveConfig(background), "saving the config: read-only")
	}))
}

type storeFunc func(context.Context, kernel.Config) error

func (f storeFunc) Save(ctx context.Context, c kernel.Config) error { return f(ctx, c) }

func TestDrain(t *testing.T) {
	background := context.Background()
	drained := func(r *trace, name string, d time.Duration) func(k *kernel.Context, _ map[string]any) error {
		return func(k *kernel.Context, _ map[string]any) error {
			k.OnDrain(name, func(context.Context) { pass(d); r.add("drained") })
			k.OnDispose("cleanup", func(context.Context) error { r.add("cleaned"); return nil })
			return nil
		}
	}
	t.Run("comes before disposal and happens once", bubble(func(t *testing.T) {
		h, r := kerneltest.New(t), &trace{}
		register(t, h, spec{name: "p", apply: drained(r, "turns", time.Second)}.module(), "")
		h.Idle()
		done := make(chan error)
		for range 2 {
			go func() { done <- h.App.Plugins().Bounce(background, "p") }()
		}
		must(t, errors.Join(<-done, <-done))
		r.want(t, "drained", "cleaned")
		h.WantState("p", recompute.Active)
		if n := h.App.Stats().Abandoned; n != 0 {
			t.Errorf("abandoned %d", n)
		}
	}))
	t.Run("is bounded", bubble(func(t *testing.T) {
		h, r := kerneltest.New(t), &trace{}
		register(t, h, spec{name: "p", apply: func(k *kernel.Context, _ map[string]any) error {
			k.OnDrain("polite", func(ctx context.Context) { <-ctx.Done(); r.add("told") })
			k.OnDrain("faulty", func(context.Context) { panic("cannot drain") })
			k.OnDrain("stuck", func(context.Context) { pass(time.Hour) })
			return nil
		}}.module(), "")
		h.Idle()
		began := time.Now()
		unload(t, h, "p")
		if took := time.Since(began); took != kernel.DefaultDrainTimeout {
			t.Errorf("took %s", took)
		}
		wantLog(t, h, "WARN", "Gave up draining", "stuck")
		wantLog(t, h, "ERROR", "Drain failed", "drain=\"faulty\"", "cannot drain")
		pass(time.Hour)
	}))
	t.Run("its bound can be changed while the app runs", bubble(func(t *testing.T) {
		h, r := kerneltest.New(t), &trace{}
		register(t, h, spec{name: "p", apply: drained(r, "turns", 2*time.Minute)}.module(), "")
		h.Idle()
		for _, tc := range []struct{ limit, takes time.Duration }{
			{time.Second, time.Second}, {0, kernel.DefaultDrainTimeout}, {kernel.NoTimeout, 2 * time.Minute},
		} {
			h.App.SetDrainTimeout(tc.limit)
			from := time.Now()
			bounce(t, h, "p")
			if took := time.Since(from); took != tc.takes {
				t.Errorf("with %s draining took %s, want %s", tc.limit, took, tc.takes)
			}
			h.Idle()
		}
		unload(t, h, "p")
		pass(2 * time.Minute) // for those that were given up
	}))
	t.Run("includes children and is not done when a dependency is lost", bubble(func(t *testing.T) {
		h, r := kerneltest.New(t), &trace{}
		part := spec{name: "part", apply: drained(r, "part", time.Second)}.module()
		register(t, h, spec{name: "p", requires: []string{"s"}, apply: func(k *kernel.Context, _ map[string]any) error {
			_, err := k.UseModule(part, nil)
			return err
		}}.module(), "")
		off := service("s").Provide(h.Root(), "x")
		h.WantState("p", recompute.Active)
		off()
		h.WantState("p", recompute.Pending)
		r.want(t, "cleaned")
		service("s").Provide(h.Root(), "x")
		h.WantState("p", recompute.Active)
		bounce(t, h, "p")
		r.want(t, "drained", "cleaned")
	}))
	t.Run("ends when somebody else tears the context down", bubble(func(t *testing.T) {
		limitless := kerneltest.WithOptions(func(o *kernel.Options) { o.DrainTimeout = kernel.NoTimeout })
		h, own := kerneltest.New(t, limitless), make(chan *kernel.Context, 1)
		gate := make(chan struct{})
		register(t, h, spec{name: "p", apply: func(k *kernel.Context, _ map[string]any) error {
			own <- k
			k.OnDrain("stuck", func(context.Context) { <-gate })
			return nil
		}}.module(), "")
		h.Idle()
		done := make(chan error)
		go func() { done <- h.App.Plugins().Disable(background, "p") }()
		settle()
		dispose(t, <-own)
		must(t, <-done)
		h.WantState("p", recompute.Disabled)
		close(gate)
	}))
}
