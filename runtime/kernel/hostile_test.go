// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kernel_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aalis-dev/aalis-operator/runtime/kernel"
	"github.com/aalis-dev/aalis-operator/runtime/kerneltest"
	"github.com/aalis-dev/aalis-operator/runtime/recompute"
)

// TestNothingHangs has plugin code that does not return in every place where the kernel calls it, and sees that the kernel
// goes on, names the culprit and stops.
func TestNothingHangs(t *testing.T) {
	for name, tc := range map[string]struct {
		// misbehave has plugin code wait for the end of the test.
		misbehave func(k *kernel.Context, wait func())
		// log is what the kernel says of it.
		log []string
	}{
		"a listener of plugin:loaded": {func(k *kernel.Context, wait func()) {
			kernel.EventPluginLoaded.On(k, func(context.Context, string) error { wait(); return nil })
		}, []string{"Gave up waiting", "listeners of plugin:loaded"}},
		"a listener of plugin:unloaded": {func(k *kernel.Context, wait func()) {
			kernel.EventPluginUnloaded.On(k, func(context.Context, string) error { wait(); return nil })
		}, []string{"Gave up waiting", "listeners of plugin:unloaded"}},
		"a listener of plugins:changed": {func(k *kernel.Context, wait func()) {
			kernel.EventPluginsChanged.On(k, func(context.Context, struct{}) error { wait(); return nil })
		}, []string{"Gave up waiting", "listeners of plugins:changed"}},
		"a listener of service:registered": {func(k *kernel.Context, wait func()) {
			kernel.EventServiceRegistered.On(k, func(context.Context, string) error { wait(); return nil })
		}, []string{"Gave up waiting", "listeners of service:registered"}},
		"a listener of service:unregistered": {func(k *kernel.Context, wait func()) {
			kernel.EventServiceUnregistered.On(k, func(context.Context, string) error { wait(); return nil })
		}, []string{"Gave up waiting", "listeners of service:unregistered"}},
		"a listener of service:preference-changed": {func(k *kernel.Context, wait func()) {
			kernel.EventServicePreferenceChanged.On(k, func(context.Context, string) error { wait(); return nil })
		}, []string{"Gave up waiting", "listeners of service:preference-changed"}},
		"a listener of app:stopping": {func(k *kernel.Context, wait func()) {
			kernel.EventAppStopping.On(k, func(context.Context, struct{}) error { wait(); return nil })
		}, []string{"Gave up waiting", "listeners of app:stopping"}},
		"a listener that ends its goroutine": {func(k *kernel.Context, _ func()) {
			kernel.EventPluginLoaded.On(k, func(context.Context, string) error { runtime.Goexit(); return nil })
			kernel.EventReady.On(k, func(context.Context, struct{}) error { runtime.Goexit(); return nil })
			first := true
			persona.Watch(k, func(context.Context, card, bool) {
				if !first {
					runtime.Goexit()
				}
				first = false
			})
		}, []string{"ERROR", "Event was not delivered to all", "plugin:loaded", "Goexit"}},
		"a service callback": {func(k *kernel.Context, wait func()) {
			first := true
			service("s").When(k, func(string) func() {
				if !first {
					wait()
				}
				first = false
				return nil
			})
		}, []string{"Gave up waiting", "service callbacks"}},
		"a watch of a setting": {func(k *kernel.Context, wait func()) {
			first := true
			persona.Watch(k, func(context.Context, card, bool) {
				if !first {
					wait()
				}
				first = false
			})
		}, []string{"Gave up waiting", "watch of setting persona"}},
		"a reconfigure": {func(k *kernel.Context, wait func()) {
			k.OnReconfigure(func(context.Context, map[string]any, map[string]any) error { wait(); return nil })
		}, []string{"Gave up waiting", "waitingFor=\"reconfigure\""}},
		"a drain": {func(k *kernel.Context, wait func()) {
			k.OnDrain("turns", func(context.Context) { wait() })
		}, []string{"Gave up draining", "turns"}},
		"a cleanup": {func(k *kernel.Context, wait func()) {
			k.OnDispose("close", func(context.Context) error { wait(); return nil })
		}, []string{"Gave up waiting", "cleanup=\"close\""}},
		"a goroutine": {func(k *kernel.Context, wait func()) {
			k.Go("loop", func(context.Context) { wait() })
		}, []string{"Gave up waiting for goroutines", "loop"}},
	} {
		t.Run(name, bubble(func(t *testing.T) {
			end := make(chan struct{})
			defer close(end)
			culprit := spec{name: "culprit", apply: func(k *kernel.Context, _ map[string]any) error {
				tc.misbehave(k, func() { <-end })
				return nil
			}}.module()
			culprit.Config = limitsSchema(t)
			bystander := spec{name: "bystander", provides: []string{"s"}}.module()
			h := kerneltest.New(t, kerneltest.WithPlugin(culprit, "", nil), kerneltest.WithPlugin(bystander, "", nil))
			m := h.App.Plugins()
			must(t, m.Bounce(context.Background(), "bystander"))
			h.WantState("bystander", recompute.Active)
			apply(t, h, func(c *kernel.Config) {
				c.Settings["persona"] = []byte(`{"name":"owl"}`)
				c.Preferences["s"] = []string{"x"}
				c.Plugins["culprit"] = limit(7)
			})
			h.WantState("culprit", recompute.Active)
			stop(t, h)
			wantLog(t, h, tc.log...)
		}))
	}
}

// apply and stop are the harness's with as much patience as several timeouts in a row need; the time is a bubble's.
func apply(t *testing.T, h *kerneltest.Harness, change func(*kernel.Config)) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	cfg := h.App.Config()
	change(&cfg)
	_, err := h.App.Apply(ctx, cfg)
	must(t, err)
}

func stop(t *testing.T, h *kerneltest.Harness) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	must(t, h.App.Stop(ctx))
}

// TestStartHangs has listeners of what Start emits not return: Start gives up with its context.
func TestStartHangs(t *testing.T) {
	for _, e := range []kernel.Event[struct{}]{kernel.EventAppStarting, kernel.EventReady, kernel.EventAppStarted} {
		t.Run(e.Name(), bubble(func(t *testing.T) {
			end := make(chan struct{})
			defer close(end)
			h := kerneltest.New(t, kerneltest.Unstarted())
			e.On(h.Root(), func(context.Context, struct{}) error { <-end; return nil })
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			defer cancel()
			wantError(t, h.App.Start(ctx), "listeners of "+e.Name(), "deadline")
			h.Stop()
		}))
	}
}

// places has plugin code act in every place where the kernel calls it.
func places(act func()) map[string]func(k *kernel.Context) {
	return map[string]func(k *kernel.Context){
		"a goroutine": func(k *kernel.Context) { k.Go("loop", func(context.Context) { act() }) },
		"a handler": func(k *kernel.Context) {
			ping.On(k, func(context.Context, string) error { act(); return nil })
		},
		"a listener of the kernel": func(k *kernel.Context) {
			for _, e := range []kernel.Event[string]{
				kernel.EventPluginLoaded, kernel.EventPluginUnloaded, kernel.EventServiceRegistered, kernel.EventServiceUnregistered,
			} {
				e.On(k, func(_ context.Context, name string) error {
					if name != "probe" {
						act()
					}
					return nil
				})
			}
		},
		"a replay": func(k *kernel.Context) {
			kernel.EventReady.On(k, func(context.Context, struct{}) error { act(); return nil })
		},
		"a hook": func(k *kernel.Context) {
			before.Use(k, func(context.Context, *turn, kernel.Next) error { act(); return nil })
		},
		"a service callback": func(k *kernel.Context) { service("s").When(k, func(string) func() { act(); return nil }) },
		"a detach":           func(k *kernel.Context) { service("s").When(k, func(string) func() { return act }) },
		"a watch of a setting": func(k *kernel.Context) {
			persona.Watch(k, func(context.Context, card, bool) { act() })
		},
		"a reconfigure": func(k *kernel.Context) {
			k.OnReconfigure(func(context.Context, map[string]any, map[string]any) error { act(); return nil })
		},
		"a drain":   func(k *kernel.Context) { k.OnDrain("turns", func(context.Context) { act() }) },
		"a cleanup": func(k *kernel.Context) { k.OnDispose("close", func(context.Context) error { act(); return nil }) },
		"a used module": func(k *kernel.Context) {
			_, _ = k.UseModule(spec{name: "used", apply: func(*kernel.Context, map[string]any) error { act(); return nil }}.module(), nil)
		},
		"a service told of a context": func(k *kernel.Context) {
			kernel.NewService[unregisterer]("forgetful").Provide(k, unregisterer{act})
		},
	}
}

// visit makes the kernel call plugin code in all the places, of which the culprit has one.
func visit(t *testing.T, h *kerneltest.Harness) {
	t.Helper()
	ping.Emit(context.Background(), h.Root(), "x")
	_, err := before.Run(context.Background(), h.Root(), &turn{}, nil)
	if p := (*kernel.PanicError)(nil); err != nil && !errors.As(err, &p) {
		t.Errorf("the hook's error is %v", err)
	}
	bounce(t, h, "bystander")
	h.Idle()
	h.Apply(func(c *kernel.Config) { c.Plugins["culprit"] = limit(7) })
	h.WantState("culprit", recompute.Active)
	h.WantState("bystander", recompute.Active)
	h.Stop()
	if n := h.App.Stats().Abandoned; n != 0 {
		t.Errorf("gave up waiting %d times:\n%s", n, h.Logs)
	}
}

func hostile(t *testing.T, place func(k *kernel.Context), opts ...kerneltest.Option) *kerneltest.Harness {
	t.Helper()
	culprit := spec{name: "culprit", apply: func(k *kernel.Context, _ map[string]any) error { place(k); return nil }}.module()
	culprit.Config = limitsSchema(t)
	bystander := spec{name: "bystander", provides: []string{"s"}}.module()
	return kerneltest.New(t, append(opts, kerneltest.WithPlugin(culprit, "", nil), kerneltest.WithPlugin(bystander, "", nil))...)
}

// TestPanicsAreContained has plugin code panic in every place: the process lives on, the log has the stack, and only what the
// plugin itself was doing fails.
func TestPanicsAreContained(t *testing.T) {
	for name, place := range places(func() { panic("boom") }) {
		t.Run(name, bubble(func(t *testing.T) {
			h := hostile(t, place)
			visit(t, h)
			wantLog(t, h, "boom", "stack=")
		}))
	}
}

// TestNoLockIsHeld has plugin code in every place wait for another goroutine that uses the whole kernel. If the kernel held a
// lock while it calls plugin code, neither would go on.
func TestNoLockIsHeld(t *testing.T) {
	for name := range places(nil) {
		t.Run(name, bubble(func(t *testing.T) {
			var h *kerneltest.Harness
			var visits atomic.Int32
			probe := func() {
				if h == nil {
					return // still in New
				}
				visits.Add(1)
				done := make(chan struct{})
				go func() {
					defer close(done)
					useAll(h)
				}()
				<-done
			}
			h = hostile(t, places(probe)[name], kerneltest.Unstarted())
			h.Start()
			visit(t, h)
			if visits.Load() == 0 {
				t.Error("the kernel did not come here")
			}
		}))
	}
}

// useAll takes every lock that the kernel has.
func useAll(h *kerneltest.Harness) {
	k, m := h.Root(), h.App.Plugins()
	m.Status()
	m.Plugin("culprit")
	m.IsShuttingDown()
	h.App.Config()
	h.App.Stats()
	h.App.Totals()
	h.App.LastRecompute()
	h.App.Logs().Subscribe(func(kernel.LogEntry) {})()
	k.ServiceNames()
	k.Preferred("s")
	service("probe").Provide(k, "x")()
	service("probe").When(k, func(string) func() { return nil })()
	kernel.NewEvent[int]("probe").On(k, func(context.Context, int) error { return nil })()
	kernel.NewHook[int]("probe").Use(k, func(ctx context.Context, _ *int, next kernel.Next) error { return next(ctx) })()
	if off, err := kernel.NewPoint[int]("probe").Contribute(k, "probe", 1); err == nil {
		off()
	}
	kernel.NewSetting[int]("probe").Watch(k, func(context.Context, int, bool) {})()
	if c, err := k.Fork("probe"); err == nil {
		c.OnDispose("x", func(context.Context) error { return nil })
		c.Go("x", func(context.Context) {})
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_ = c.Dispose(ctx) // goes on in the background: told of it, the one who waits for this would be called again
	}
}

type unregisterer struct{ fn func() }

func (u unregisterer) UnregisterByPlugin(string) { u.fn() }

// TestRestless has plugins that keep the manager busy of their own accord.
func TestRestless(t *testing.T) {
	t.Run("a listener that answers every recompute with a service", bubble(func(t *testing.T) {
		h := kerneltest.New(t)
		kernel.EventPluginsChanged.On(h.Root(), func(context.Context, struct{}) error {
			service("s").Provide(h.Root(), "x")()
			return nil
		})
		service("t").Provide(h.Root(), "x")
		h.Idle()
		wantLog(t, h, "Recomputes follow one another")
		register(t, h, spec{name: "p", requires: []string{"t"}}.module(), "")
		h.WantState("p", recompute.Active)
	}))
	t.Run("a plugin that bounces itself whenever it is loaded does not keep the app from stopping", bubble(func(t *testing.T) {
		h := kerneltest.New(t)
		m := h.App.Plugins()
		kernel.EventPluginLoaded.On(h.Root(), func(_ context.Context, id string) error {
			go func() { _ = m.Bounce(context.Background(), id) }()
			pass(time.Second)
			return nil
		})
		register(t, h, spec{name: "p"}.module(), "")
		pass(10 * time.Second)
		stop(t, h)
		if !m.IsShuttingDown() || h.App.Stats() != (kernel.Stats{}) {
			t.Errorf("after the stop: %+v", h.App.Stats())
		}
	}))
	t.Run("a service callback that provides its own service", bubble(func(t *testing.T) {
		h := kerneltest.New(t)
		n := 0
		service("s").When(h.Root(), func(string) func() {
			n++
			service("s").Provide(h.Root(), "better", kernel.WithPriority(n))
			return nil
		})
		service("s").Provide(h.Root(), "first")
		wantLog(t, h, "Ended a service callback that changes its own service")
		if n > 2000 {
			t.Errorf("called %d times", n)
		}
	}))
	t.Run("an apply that ends its goroutine", bubble(func(t *testing.T) {
		h := kerneltest.New(t)
		register(t, h, spec{name: "p", apply: func(*kernel.Context, map[string]any) error { runtime.Goexit(); return nil }}.module(), "")
		register(t, h, spec{name: "q"}.module(), "")
		h.WantState("p", recompute.Error)
		h.WantState("q", recompute.Active)
		if got := h.Plugin("p").Error; !strings.Contains(got, "Goexit") {
			t.Errorf("error %q", got)
		}
	}))
}
