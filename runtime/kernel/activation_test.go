// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kernel_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/aalis-dev/aalis-operator/runtime/kernel"
	"github.com/aalis-dev/aalis-operator/runtime/kerneltest"
	"github.com/aalis-dev/aalis-operator/runtime/recompute"
)

// gated is a module whose apply waits for a gate before it registers anything.
func gated(r *trace, gate <-chan struct{}, result error, s spec) kernel.Module {
	provides := s.provides
	s.apply = func(k *kernel.Context, _ map[string]any) error {
		r.add("apply " + k.ID())
		<-gate
		cleanup(k, r, "close "+k.ID())
		for _, p := range provides {
			service(p).Provide(k, k.ID())
		}
		return result
	}
	return s.module()
}

// TestTakeOver covers management calls that meet an activation under way.
func TestTakeOver(t *testing.T) {
	background := context.Background()
	t.Run("8.2.4 and 8.2.5 teardown waits for apply and for what it registers last", bubble(func(t *testing.T) {
		h, r, gate := kerneltest.New(t), &trace{}, make(chan struct{})
		register(t, h, gated(r, gate, nil, spec{name: "p", provides: []string{"s"}}), "")
		settle()
		done := make(chan error)
		go func() { done <- h.App.Plugins().Unload(background, "p") }()
		settle()
		close(gate)
		must(t, <-done)
		r.want(t, "apply p", "close p")
		if _, ok := service("s").Get(h.Root()); ok {
			t.Error("the service is still there")
		}
		wantLog(t, h, "DEBUG", "Cleanup joined the teardown under way", "close p") // 8.2.5
		if len(h.Logs.Find("Ran cleanup at once")) > 0 {
			t.Error("8.2.5: warned of a cleanup that was in time")
		}
	}))
	t.Run("8.2.4 an apply that never returns is given up", bubble(func(t *testing.T) {
		h, r, gate := kerneltest.New(t), &trace{}, make(chan struct{})
		register(t, h, gated(r, gate, nil, spec{name: "p"}), "")
		register(t, h, spec{name: "q"}.module(), "")
		settle()
		began := time.Now()
		disable(t, h, "p")
		if took := time.Since(began); took != kernel.DefaultDisposeTimeout {
			t.Errorf("took %s", took)
		}
		h.WantState("p", recompute.Disabled)
		h.WantState("q", recompute.Active)
		wantLog(t, h, "Gave up waiting", "waitingFor=\"apply\"")
		close(gate)
		settle()
		r.want(t, "apply p", "close p")
	}))
	t.Run("an apply that takes too long ends in error", bubble(func(t *testing.T) {
		limit := kerneltest.WithOptions(func(o *kernel.Options) { o.ApplyTimeout = 9 * time.Second })
		h, r, gate := kerneltest.New(t, limit), &trace{}, make(chan struct{})
		register(t, h, gated(r, gate, nil, spec{name: "p"}), "")
		register(t, h, spec{name: "q"}.module(), "")
		h.WantState("p", recompute.Error)
		h.WantState("q", recompute.Active)
		if got := h.Plugin("p").Error; got != "apply did not return within 9s" {
			t.Errorf("error %q", got)
		}
		close(gate)
	}))
	t.Run("8.2.7 a context torn down by the host during apply", bubble(func(t *testing.T) {
		h := kerneltest.New(t)
		own, gate := make(chan *kernel.Context, 1), make(chan struct{})
		m := spec{name: "p", provides: []string{"s"}, apply: func(k *kernel.Context, _ map[string]any) error {
			own <- k
			<-gate
			return nil
		}}.module()
		register(t, h, m, "")
		k := <-own
		go func() { _ = k.Dispose(background) }()
		settle()
		close(gate)
		h.WantState("p", recompute.Error)
		if got := h.Plugin("p").Error; !strings.Contains(got, "torn down") || strings.Contains(got, "not registered") {
			t.Errorf("error %q", got)
		}
	}))
	for _, result := range []error{nil, errors.New("failed")} {
		name := "apply succeeds"
		if result != nil {
			name = "apply fails"
		}
		t.Run("8.2.8 unload while activating, "+name, bubble(func(t *testing.T) {
			h, r, gate := kerneltest.New(t), &trace{}, make(chan struct{})
			record(h.Root(), r, kernel.EventPluginLoaded, kernel.EventPluginUnloaded)
			start := h.App.Stats()
			register(t, h, gated(r, gate, result, spec{name: "p", provides: []string{"s"}}), "")
			settle()
			go func() { pass(time.Second); close(gate) }()
			unload(t, h, "p")
			h.Idle()
			r.want(t, "apply p", "close p", "plugin:unloaded p")
			if _, ok := h.App.Plugins().Plugin("p"); ok {
				t.Error("the plugin is still registered")
			}
			if now := h.App.Stats(); now != start {
				t.Errorf("start %+v, now %+v", start, now)
			}
		}))
		t.Run("8.2.9 disable while activating, "+name, bubble(func(t *testing.T) {
			h, r, gate := kerneltest.New(t), &trace{}, make(chan struct{})
			start := h.App.Stats()
			register(t, h, gated(r, gate, result, spec{name: "p", provides: []string{"s"}}), "")
			settle()
			go func() { pass(time.Second); close(gate) }()
			disable(t, h, "p")
			h.WantState("p", recompute.Disabled)
			r.want(t, "apply p", "close p")
			if now := h.App.Stats(); now != start {
				t.Errorf("start %+v, now %+v", start, now)
			}
		}))
	}
	t.Run("8.2.10 disable with a slow cleanup while its provider is bounced", bubble(func(t *testing.T) {
		h, r, gate := kerneltest.New(t), &trace{}, make(chan struct{})
		register(t, h, spec{name: "provider", provides: []string{"s"}}.module(), "")
		register(t, h, spec{name: "p", requires: []string{"s"}, apply: func(k *kernel.Context, _ map[string]any) error {
			r.add("apply")
			k.OnDispose("slow", func(context.Context) error { <-gate; return nil })
			return nil
		}}.module(), "")
		h.WantState("p", recompute.Active)
		done := make(chan error)
		go func() { done <- h.App.Plugins().Disable(background, "p") }()
		settle()
		bounce(t, h, "provider")
		close(gate)
		must(t, <-done)
		h.WantState("provider", recompute.Active)
		h.WantState("p", recompute.Disabled)
		r.want(t, "apply")
	}))
	t.Run("8.2.11 a provider is bounced while a consumer that wants to know is activating", bubble(func(t *testing.T) {
		h, r, gate := kerneltest.New(t), &trace{}, make(chan struct{})
		register(t, h, spec{name: "provider", provides: []string{"s"}, apply: func(k *kernel.Context, cfg map[string]any) error {
			service("s").Provide(k, "instance")
			return nil
		}}.module(), "")
		h.Idle()
		register(t, h, spec{name: "p", optional: []string{"s"}, bounce: true, apply: func(k *kernel.Context, _ map[string]any) error {
			r.add("apply")
			<-gate
			cleanup(k, r, "close")
			return nil
		}}.module(), "")
		settle()
		go func() { pass(time.Second); close(gate) }()
		bounce(t, h, "provider")
		h.WantState("p", recompute.Active)
		r.want(t, "apply", "close", "apply")
	}))
	t.Run("8.2.12 a failed apply leaves an entry that can be enabled", bubble(func(t *testing.T) {
		h := kerneltest.New(t)
		start := h.App.Stats()
		fail := true
		register(t, h, spec{name: "p", apply: func(k *kernel.Context, _ map[string]any) error {
			llm.Provide(k, "x")
			if fail {
				return errors.New("not yet")
			}
			return nil
		}}.module(), "")
		h.WantState("p", recompute.Error)
		if now := h.App.Stats(); now != start {
			t.Errorf("start %+v, now %+v", start, now)
		}
		fail = false
		must(t, h.App.Plugins().Enable("p"))
		h.WantState("p", recompute.Active)
		if got := h.Plugin("p").Error; got != "" {
			t.Errorf("error %q", got)
		}
	}))
	t.Run("8.2.13 a consumer disabled in the middle of a cascade stays disabled", bubble(func(t *testing.T) {
		h, gate := kerneltest.New(t), make(chan struct{})
		register(t, h, spec{name: "provider", provides: []string{"s"}}.module(), "")
		register(t, h, spec{name: "p", requires: []string{"s"}, apply: func(k *kernel.Context, _ map[string]any) error {
			k.OnDispose("slow", func(context.Context) error { <-gate; return nil })
			return nil
		}}.module(), "")
		h.WantState("p", recompute.Active)
		disable(t, h, "provider")
		settle() // p is being torn down for want of s
		done := make(chan error)
		go func() { done <- h.App.Plugins().Disable(background, "p") }()
		settle()
		close(gate)
		must(t, <-done)
		must(t, h.App.Plugins().Enable("provider"))
		h.WantState("provider", recompute.Active)
		h.WantState("p", recompute.Disabled)
	}))
	t.Run("8.2.14 an id cannot be registered while its former instance unloads", bubble(func(t *testing.T) {
		h, gate := kerneltest.New(t), make(chan struct{})
		m := spec{name: "p", provides: []string{"s"}, apply: func(k *kernel.Context, _ map[string]any) error {
			service("s").Provide(k, "x")
			k.OnDispose("slow", func(context.Context) error { <-gate; return nil })
			return nil
		}}.module()
		register(t, h, m, "")
		h.WantState("p", recompute.Active)
		done := make(chan error)
		go func() { done <- h.App.Plugins().Unload(background, "p") }()
		settle()
		if err := h.App.Plugins().Register(m, "", kernel.PluginConfig{}); !errors.Is(err, kernel.ErrDuplicate) {
			t.Errorf("got %v", err)
		}
		wantLog(t, h, "WARN", "Refused plugin", "plugin=\"p\"")
		close(gate)
		must(t, <-done)
		register(t, h, m, "")
		h.WantState("p", recompute.Active)
		if _, ok := service("s").Get(h.Root()); !ok {
			t.Error("the service is missing")
		}
	}))
	t.Run("8.2.15 two unloads at once", bubble(func(t *testing.T) {
		h, r, gate := kerneltest.New(t), &trace{}, make(chan struct{})
		record(h.Root(), r, kernel.EventPluginUnloaded)
		register(t, h, spec{name: "p", apply: func(k *kernel.Context, _ map[string]any) error {
			k.OnDispose("slow", func(context.Context) error { <-gate; return nil })
			return nil
		}}.module(), "")
		h.WantState("p", recompute.Active)
		done := make(chan error)
		for range 2 {
			go func() { done <- h.App.Plugins().Unload(background, "p") }()
		}
		settle()
		close(gate)
		must(t, <-done)
		register(t, h, spec{name: "p"}.module(), "")
		must(t, <-done)
		h.WantState("p", recompute.Active)
		r.want(t, "plugin:unloaded p")
	}))
	t.Run("8.2.16 a new config while activating never makes two instances", bubble(func(t *testing.T) {
		h, r, gate := kerneltest.New(t), &trace{}, make(chan struct{})
		type config struct {
			N int `json:"n"`
		}
		m := kernel.Define(kernel.Module{Name: "p"}, config{}, func(k *kernel.Context, c config) error {
			r.add("apply " + string(rune('0'+c.N)))
			cleanup(k, r, "close "+string(rune('0'+c.N)))
			if c.N == 1 {
				<-gate
			}
			return nil
		})
		must(t, h.App.Plugins().Register(m, "", kernel.PluginConfig{Config: map[string]any{"n": 1}}))
		settle()
		go func() { pass(time.Second); close(gate) }()
		bounce(t, h, "p", kernel.WithConfig(map[string]any{"n": 2}))
		h.WantState("p", recompute.Active)
		r.want(t, "apply 1", "close 1", "apply 2")
	}))
	t.Run("8.2.18 a stop during a bounce lets consumers flush first", bubble(func(t *testing.T) {
		h, r, gate := kerneltest.New(t), &trace{}, make(chan struct{})
		first := true
		register(t, h, spec{name: "provider", provides: []string{"s"}, apply: func(k *kernel.Context, _ map[string]any) error {
			service("s").Provide(k, "x")
			slow := first
			first = false
			k.OnDispose("close", func(context.Context) error {
				if slow {
					<-gate
				}
				r.add("provider closes")
				return nil
			})
			return nil
		}}.module(), "")
		register(t, h, spec{name: "consumer", optional: []string{"s"}, apply: func(k *kernel.Context, _ map[string]any) error {
			k.OnDispose("flush", func(context.Context) error {
				_, ok := service("s").Get(k)
				r.add(map[bool]string{true: "consumer flushes", false: "consumer cannot flush"}[ok])
				return nil
			})
			return nil
		}}.module(), "")
		h.Idle()
		go func() { _ = h.App.Plugins().Bounce(background, "provider") }()
		settle()
		stopped := make(chan struct{})
		go func() { h.Stop(); close(stopped) }()
		settle()
		close(gate)
		<-stopped
		r.want(t, "provider closes", "consumer flushes", "provider closes")
	}))
}
