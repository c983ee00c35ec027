// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kernel_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/aalis-dev/aalis-operator/runtime/kernel"
	"github.com/aalis-dev/aalis-operator/runtime/kerneltest"
	"github.com/aalis-dev/aalis-operator/runtime/recompute"
)

func TestManager(t *testing.T) {
	background := context.Background()
	t.Run("8.3.1 register, active, unload, cleaned", bubble(func(t *testing.T) {
		h, r := kerneltest.New(t), &trace{}
		record(h.Root(), r, kernel.EventPluginLoaded, kernel.EventPluginUnloaded)
		register(t, h, spec{name: "p", cleanup: func() { r.add("cleaned") }}.module(), "")
		h.WantState("p", recompute.Active)
		unload(t, h, "p")
		r.want(t, "plugin:loaded p", "cleaned", "plugin:unloaded p")
		for what, err := range map[string]error{
			"unload":  h.App.Plugins().Unload(background, "p"),
			"enable":  h.App.Plugins().Enable("p"),
			"disable": h.App.Plugins().Disable(background, "p"),
			"bounce":  h.App.Plugins().Bounce(background, "p"),
		} {
			if !errors.Is(err, kernel.ErrUnknownPlugin) {
				t.Errorf("%s of an unknown plugin: %v", what, err)
			}
		}
	}))
	t.Run("8.3.2 a consumer registered first waits", bubble(func(t *testing.T) {
		h := kerneltest.New(t)
		register(t, h, spec{name: "c", requires: []string{"s"}}.module(), "")
		h.WantState("c", recompute.Pending)
		if p := h.Plugin("c"); p.Message != "waiting for service s" || !slices.Equal(p.Missing, []string{"s"}) {
			t.Errorf("status %+v", p)
		}
		register(t, h, spec{name: "p", provides: []string{"s"}}.module(), "")
		h.WantState("c", recompute.Active)
		if p := h.Plugin("c"); p.Message != "" || p.Missing != nil {
			t.Errorf("status %+v", p)
		}
	}))
	t.Run("8.3.3 disable and enable", bubble(func(t *testing.T) {
		h, r := kerneltest.New(t), &trace{}
		register(t, h, spec{name: "p", cleanup: func() { r.add("cleaned") }}.module(), "")
		h.Idle()
		disable(t, h, "p")
		disable(t, h, "p")
		h.WantState("p", recompute.Disabled)
		r.want(t, "cleaned")
		if err := h.App.Plugins().Bounce(background, "p"); !errors.Is(err, kernel.ErrPluginDisabled) {
			t.Errorf("bounce of a disabled plugin: %v", err)
		}
		must(t, h.App.Plugins().Enable("p"))
		must(t, h.App.Plugins().Enable("p"))
		h.WantState("p", recompute.Active)
	}))
	t.Run("8.3.4 a core plugin cannot be disabled", bubble(func(t *testing.T) {
		h := kerneltest.New(t)
		core := spec{name: "p", core: true}.module()
		register(t, h, core, "")
		h.Idle()
		if err := h.App.Plugins().Disable(background, "p"); !errors.Is(err, kernel.ErrCorePlugin) {
			t.Errorf("got %v", err)
		}
		h.WantState("p", recompute.Active)
		core.Name = "q"
		if err := h.App.Plugins().Register(core, "", kernel.PluginConfig{Disabled: true}); !errors.Is(err, kernel.ErrCorePlugin) {
			t.Errorf("got %v", err)
		}
	}))
	t.Run("8.3.5 a failing apply is contained", bubble(func(t *testing.T) {
		h := kerneltest.New(t)
		for name, apply := range map[string]func(k *kernel.Context, _ map[string]any) error{
			"fails":  func(k *kernel.Context, _ map[string]any) error { llm.Provide(k, "x"); return errors.New("no key") },
			"panics": func(k *kernel.Context, _ map[string]any) error { llm.Provide(k, "x"); panic("no key") },
		} {
			register(t, h, spec{name: name, apply: apply}.module(), "")
			h.WantState(name, recompute.Error)
			if got := h.Plugin(name).Error; !strings.Contains(got, "no key") || strings.Contains(got, "goroutine") {
				t.Errorf("error %q", got)
			}
			wantLog(t, h, "ERROR", "Plugin failed to start", "scope=\"aalis:"+name+"\"", "no key")
		}
		register(t, h, spec{name: "fine"}.module(), "")
		h.WantState("fine", recompute.Active)
		if _, ok := llm.Get(h.Root()); ok {
			t.Error("a service was left behind")
		}
		wantLog(t, h, "panic: no key", "stack=", "manager_test.go")
	}))
	t.Run("8.3.6 instances of a reusable module are independent", bubble(func(t *testing.T) {
		h := kerneltest.New(t)
		m := spec{name: "@aalis/p", reusable: true, provides: []string{"s"}}.module()
		for _, id := range []string{"@aalis/p", "@aalis/p:one", "@aalis/p:two"} {
			register(t, h, m, id)
		}
		h.Idle()
		unload(t, h, "@aalis/p:one")
		h.WantState("@aalis/p:two", recompute.Active)
		if got := len(service("s").Entries(h.Root())); got != 2 {
			t.Errorf("%d entries", got)
		}
		if got := h.Plugin("@aalis/p:two").Module; got != "@aalis/p" {
			t.Errorf("module %s", got)
		}
	}))
	t.Run("8.3.7 a suffix needs a reusable module", bubble(func(t *testing.T) {
		h := kerneltest.New(t)
		m := spec{name: "p"}.module()
		for id, want := range map[string]string{
			"p:one": "not reusable", "q": "must begin with the module's name", "p:": "suffix must be non-empty",
			"p:a/b": "must be letters", "p :x": "must begin and end", "root": "reserved",
		} {
			wantError(t, h.App.Plugins().Register(m, id, kernel.PluginConfig{}), want)
		}
		wantError(t, h.App.Plugins().Register(kernel.Module{Name: "p"}, "", kernel.PluginConfig{}), "apply must be set")
		wantError(t, h.App.Plugins().Register(m, "", kernel.PluginConfig{Config: map[string]any{"x": 1}}), "config: x")
		if got := h.App.Plugins().Status(); len(got) != 0 {
			t.Errorf("status %v", got)
		}
	}))
	t.Run("8.3.8 declared services must be registered by the plugin itself", bubble(func(t *testing.T) {
		h := kerneltest.New(t)
		service("s").Provide(h.Root(), "of the host")
		register(t, h, spec{name: "p", provides: []string{"s", "t"}, apply: func(*kernel.Context, map[string]any) error { return nil }}.module(), "")
		h.WantState("p", recompute.Error)
		if got := h.Plugin("p").Error; got != "declared services were not registered: [s t]" {
			t.Errorf("error %q", got)
		}
	}))
	t.Run("8.3.8 a child's services count, undeclared ones are warned of", bubble(func(t *testing.T) {
		h := kerneltest.New(t)
		part := spec{name: "part", provides: []string{"s", "extra"}}.module()
		register(t, h, spec{name: "p", provides: []string{"s"}, apply: func(k *kernel.Context, _ map[string]any) error {
			_, err := k.UseModule(part, nil)
			return err
		}}.module(), "")
		h.WantState("p", recompute.Active)
		wantLog(t, h, "WARN", "does not declare", "[extra]")
	}))
	t.Run("8.3.8 services that may come and go are neither required of the plugin nor warned of", bubble(func(t *testing.T) {
		h := kerneltest.New(t)
		m := spec{name: "p", apply: func(k *kernel.Context, _ map[string]any) error {
			service("declared").Provide(k, "x")
			service("surprise").Provide(k, "x")
			return nil
		}}.module()
		m.MayProvide = []string{"declared", "model"}
		register(t, h, m, "")
		h.WantState("p", recompute.Active)
		wantLog(t, h, "does not declare", `services="[surprise]"`)
		register(t, h, spec{name: "c", requires: []string{"model"}}.module(), "")
		h.Idle()
		if got := h.Plugin("c").Message; got != "waiting for service model (p may provide it and does not at present)" {
			t.Errorf("message %q", got)
		}
		if got := h.Plugin("p").MayProvide; len(got) != 2 {
			t.Errorf("the status has %v", got)
		}
	}))
	t.Run("8.3.9 a bounce evicts those who asked for it of a service that may come and go", bubble(func(t *testing.T) {
		h, r := kerneltest.New(t), &trace{}
		m := spec{name: "p", cleanup: func() { r.add("p") }}.module()
		m.MayProvide = []string{"model"}
		register(t, h, m, "")
		register(t, h, spec{name: "c", optional: []string{"model"}, bounce: true, cleanup: func() { r.add("c") }}.module(), "")
		h.Idle()
		bounce(t, h, "p")
		h.WantState("c", recompute.Active)
		r.want(t, "c", "p")
	}))
	t.Run("8.3.9 an optional consumer is not bounced with its provider unless it asks to be", bubble(func(t *testing.T) {
		h, r := kerneltest.New(t), &trace{}
		register(t, h, spec{name: "p", provides: []string{"s"}}.module(), "")
		for _, bounce := range []bool{false, true} {
			name := fmt.Sprint("c-", bounce)
			register(t, h, spec{
				name: name, optional: []string{"s"}, bounce: bounce,
				apply:   func(k *kernel.Context, _ map[string]any) error { r.add(name + " applied"); return nil },
				cleanup: func() { r.add(name + " cleaned") },
			}.module(), "")
		}
		h.Idle()
		r.want(t, "c-false applied", "c-true applied")
		before, _ := service("s").Get(h.Root())
		bounce(t, h, "p")
		h.Idle()
		r.want(t, "c-true cleaned", "c-true applied")
		if after, ok := service("s").Get(h.Root()); !ok || after != before {
			t.Errorf("service %q, %v", after, ok)
		}
	}))
	t.Run("8.3.9 an optional consumer that asks for it is retired when the service goes for good", bubble(func(t *testing.T) {
		h, r := kerneltest.New(t), &trace{}
		off := service("s").Provide(h.Root(), "x")
		register(t, h, spec{name: "c", optional: []string{"s"}, bounce: true, cleanup: func() { r.add("cleaned") }}.module(), "")
		h.WantState("c", recompute.Active)
		off()
		h.WantState("c", recompute.Active)
		r.want(t, "cleaned")
	}))
	t.Run("8.3.9 a replaced provider is noticed", bubble(func(t *testing.T) {
		h, r := kerneltest.New(t), &trace{}
		off := service("s").Provide(h.Root(), "old")
		register(t, h, spec{name: "c", requires: []string{"s"}, bounce: true, cleanup: func() { r.add("cleaned") }}.module(), "")
		h.WantState("c", recompute.Active)
		service("s").Provide(h.Root(), "new", kernel.WithEntryID("root/new"))
		h.Idle()
		r.want(t)
		off()
		h.WantState("c", recompute.Active)
		r.want(t, "cleaned")
	}))
	t.Run("8.3.10 a new config disposes of the old instance first", bubble(func(t *testing.T) {
		h, r := kerneltest.New(t), &trace{}
		type config struct {
			Name string `json:"name"`
		}
		m := kernel.Define(kernel.Module{Name: "p"}, config{Name: "default"}, func(k *kernel.Context, c config) error {
			r.add("apply " + c.Name)
			cleanup(k, r, "clean "+c.Name)
			return nil
		})
		register(t, h, m, "")
		h.Idle()
		bounce(t, h, "p", kernel.WithConfig(map[string]any{"name": "new"}))
		h.Idle()
		r.want(t, "apply default", "clean default", "apply new")
		wantError(t, h.App.Plugins().Bounce(background, "p", kernel.WithConfig(map[string]any{"name": 1})), "config: name")
		wantError(t, h.App.Plugins().Bounce(background, "p", kernel.WithModule(spec{name: "q"}.module())), "module must be p")
		wantError(t, h.App.Plugins().Bounce(background, "p", kernel.WithModule(kernel.Module{Name: "p"})), "apply must be set")
		r.want(t)
		m.Apply = func(*kernel.Context, map[string]any) error { r.add("another version"); return nil }
		bounce(t, h, "p", kernel.WithModule(m))
		h.Idle()
		r.want(t, "clean new", "another version")
	}))
	t.Run("8.3.11 a stop cleans consumers before their providers, each once", bubble(func(t *testing.T) {
		h, r := kerneltest.New(t), &trace{}
		var during bool
		cleaned := func(name string) func() {
			return func() { r.add(name); during = h.App.Plugins().IsShuttingDown() }
		}
		register(t, h, spec{name: "c2", requires: []string{"t"}, cleanup: cleaned("c2")}.module(), "")
		register(t, h, spec{name: "c1", requires: []string{"s"}, provides: []string{"t"}, cleanup: cleaned("c1")}.module(), "")
		register(t, h, spec{name: "p", provides: []string{"s"}, cleanup: cleaned("p")}.module(), "")
		h.WantState("c2", recompute.Active)
		record(h.Root(), r, kernel.EventPluginUnloaded)
		h.Stop()
		r.want(t, "c2", "c1", "p")
		if !during || !h.App.Plugins().IsShuttingDown() {
			t.Error("not shutting down")
		}
		h.WantState("p", recompute.Disposed)
		for what, err := range map[string]error{
			"enable":  h.App.Plugins().Enable("p"),
			"disable": h.App.Plugins().Disable(background, "p"),
			"bounce":  h.App.Plugins().Bounce(background, "p"),
		} {
			if !errors.Is(err, kernel.ErrPluginDisposed) {
				t.Errorf("%s: %v", what, err)
			}
		}
		if err := h.App.Plugins().Register(spec{name: "q"}.module(), "", kernel.PluginConfig{}); !errors.Is(err, kernel.ErrShuttingDown) {
			t.Errorf("register: %v", err)
		}
		must(t, h.App.Plugins().Unload(background, "p"))
	}))
	t.Run("8.3.12 a listener's failure is not the plugin's", bubble(func(t *testing.T) {
		h := kerneltest.New(t)
		kernel.EventPluginLoaded.On(h.Root(), func(context.Context, string) error { panic("bystander") })
		register(t, h, spec{name: "p"}.module(), "")
		h.WantState("p", recompute.Active)
	}))
	t.Run("8.3.13 without its provider a consumer is cleaned and waits", bubble(func(t *testing.T) {
		h, r := kerneltest.New(t), &trace{}
		register(t, h, spec{name: "p", provides: []string{"s"}}.module(), "")
		register(t, h, spec{name: "c", requires: []string{"s"}, cleanup: func() { r.add("cleaned") }}.module(), "")
		h.Idle()
		unload(t, h, "p")
		h.WantState("c", recompute.Pending)
		r.want(t, "cleaned")
	}))
	t.Run("8.3.14 a plugin registered from another's apply starts", bubble(func(t *testing.T) {
		h := kerneltest.New(t)
		register(t, h, spec{name: "outer", apply: func(*kernel.Context, map[string]any) error {
			return h.App.Plugins().Register(spec{name: "inner"}.module(), "", kernel.PluginConfig{})
		}}.module(), "")
		h.WantState("outer", recompute.Active)
		h.WantState("inner", recompute.Active)
	}))
	t.Run("8.3.15 management calls wait for cleanups, as long as their context lasts", bubble(func(t *testing.T) {
		h, r := kerneltest.New(t), &trace{}
		slow := func(k *kernel.Context, _ map[string]any) error {
			k.OnDispose("slow", func(context.Context) error { pass(time.Second); r.add("cleaned"); return nil })
			return nil
		}
		register(t, h, spec{name: "p", apply: slow}.module(), "")
		h.Idle()
		bounce(t, h, "p")
		r.want(t, "cleaned")
		h.Idle()
		impatient, cancel := context.WithTimeout(background, time.Millisecond)
		defer cancel()
		if err := h.App.Plugins().Bounce(impatient, "p"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		if err := h.App.Plugins().Idle(impatient); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		h.WantState("p", recompute.Active)
		unload(t, h, "p")
		r.want(t, "cleaned", "cleaned")
	}))
	t.Run("8.3.16 a chain of 24 loses its root in one recompute", bubble(func(t *testing.T) {
		h, r := kerneltest.New(t), &trace{}
		const length = 24
		for i := range length {
			s := spec{name: fmt.Sprintf("p%02d", i), provides: []string{fmt.Sprintf("s%d", i)}}
			if i > 0 {
				s.requires = []string{fmt.Sprintf("s%d", i-1)}
			}
			s.cleanup = func() { r.add(s.name) }
			register(t, h, s.module(), "")
		}
		h.WantState("p23", recompute.Active)
		unload(t, h, "p00")
		h.Idle()
		for _, p := range h.App.Plugins().Status() {
			if p.State != recompute.Pending {
				t.Errorf("%s is %s", p.ID, p.State)
			}
		}
		order := r.take()[1:]
		want := sorted(order)
		slices.Reverse(want)
		if diff := cmp.Diff(want, order); diff != "" {
			t.Errorf("teardown order:\n%s", diff)
		}
		if len(h.Logs.Find("does not come to rest")) > 0 {
			t.Error("warned of rounds")
		}
	}))
	t.Run("8.3.17 a registration during a recompute returns at once", bubble(func(t *testing.T) {
		h, gate := kerneltest.New(t), make(chan struct{})
		register(t, h, spec{name: "slow", apply: func(*kernel.Context, map[string]any) error { <-gate; return nil }}.module(), "")
		settle()
		register(t, h, spec{name: "p"}.module(), "")
		if got := h.Plugin("p").State; got != recompute.Pending {
			t.Errorf("state %s", got)
		}
		close(gate)
		h.WantState("p", recompute.Active)
	}))
	t.Run("a recompute that does not come to rest is given up and its cause put into error", bubble(func(t *testing.T) {
		h := kerneltest.New(t)
		off := service("s").Provide(h.Root(), "x")
		register(t, h, spec{
			name: "restless", requires: []string{"s"},
			apply:   func(*kernel.Context, map[string]any) error { off(); return nil },
			cleanup: func() { off = service("s").Provide(h.Root(), "x") },
		}.module(), "")
		register(t, h, spec{name: "quiet"}.module(), "")
		h.WantState("restless", recompute.Error)
		h.WantState("quiet", recompute.Active)
		if got := h.Plugin("restless").Error; got != "does not come to rest: started 10 times in one recompute" {
			t.Errorf("error %q", got)
		}
		wantLog(t, h, "WARN", "does not come to rest", "rounds=\"20\"", "plugins=\"[restless]\"")
	}))
	t.Run("a cycle waits and says so, a self-dependency too", bubble(func(t *testing.T) {
		h := kerneltest.New(t)
		register(t, h, spec{name: "a", requires: []string{"t"}, provides: []string{"s"}}.module(), "")
		register(t, h, spec{name: "b", requires: []string{"s"}, provides: []string{"t"}}.module(), "")
		register(t, h, spec{name: "c", requires: []string{"u"}, provides: []string{"u"}}.module(), "")
		h.WantState("a", recompute.Pending)
		h.WantState("b", recompute.Pending)
		h.WantState("c", recompute.Pending)
		if got := h.Plugin("a").Message; got != "in a dependency cycle: a -> b -> a" {
			t.Errorf("message %q", got)
		}
		service("s").Provide(h.Root(), "breaks it")
		h.WantState("a", recompute.Active)
		h.WantState("b", recompute.Active)
	}))
	t.Run("the manager may be called from apply and from a cleanup", bubble(func(t *testing.T) {
		h := kerneltest.New(t)
		m := h.App.Plugins()
		register(t, h, spec{name: "victim"}.module(), "")
		register(t, h, spec{name: "suicidal", apply: func(*kernel.Context, map[string]any) error {
			return errors.Join(m.Disable(background, "victim"), m.Disable(background, "suicidal"))
		}}.module(), "")
		h.WantState("suicidal", recompute.Disabled)
		h.WantState("victim", recompute.Disabled)
		register(t, h, spec{name: "p", cleanup: func() {
			_ = m.Enable("victim")
			_ = m.Unload(background, "p")
		}}.module(), "")
		h.Idle()
		bounce(t, h, "p")
		h.WantState("victim", recompute.Active)
		if _, ok := m.Plugin("p"); ok {
			t.Error("p is still registered")
		}
	}))
	t.Run("a plugin whose id a living context has ends in error", bubble(func(t *testing.T) {
		h := kerneltest.New(t)
		k := fork(t, h.Root(), "p")
		register(t, h, spec{name: "p"}.module(), "")
		h.WantState("p", recompute.Error)
		dispose(t, k)
		bounce(t, h, "p")
		h.WantState("p", recompute.Active)
	}))
}

type observer struct{ r *trace }

func (o observer) Recomputed(i kernel.RecomputeInfo) {
	o.r.add(fmt.Sprintf("recompute %d %s %v %v", i.Rounds, i.Reason.Kind, i.Activated, i.Retired))
}

func (o observer) PluginChanged(p kernel.PluginStatus) {
	o.r.add(strings.TrimSpace(fmt.Sprintf("%s %s %s%s", p.ID, p.State, p.Message, p.Error)))
	if p.State == recompute.Error {
		panic("bad observer")
	}
}

func TestObserver(t *testing.T) {
	t.Run("is told of every change in order", bubble(func(t *testing.T) {
		r := &trace{}
		h := kerneltest.New(t, kerneltest.WithOptions(func(o *kernel.Options) { o.Observer = observer{r} }))
		h.Idle()
		r.take()
		register(t, h, spec{name: "c", requires: []string{"s"}}.module(), "")
		h.Idle()
		r.want(t, "c Pending", "c Pending waiting for service s", "recompute 0 plugin-state-changed [] []")
		register(t, h, spec{name: "p", provides: []string{"s"}}.module(), "")
		h.Idle()
		r.want(t, "p Pending", "p Activating", "p Active", "c Activating", "c Active",
			"recompute 1 plugin-state-changed [p c] []")
		disable(t, h, "p")
		h.Idle()
		r.want(t, "p Disabled", "c Pending", "c Pending waiting for service s (provided by p, which is disabled)",
			"recompute 1 plugin-state-changed [] [c]")
		register(t, h, spec{name: "e", apply: func(*kernel.Context, map[string]any) error { return errors.New("broken") }}.module(), "")
		h.Idle()
		r.want(t, "e Pending", "e Activating", "e Error broken", "recompute 0 plugin-state-changed [] []")
		wantLog(t, h, "Observer failed", "bad observer")
		h.Stop()
		info := h.App.LastRecompute()
		if info.Reason.Kind != recompute.Shutdown || info.Count == 0 || !info.At.Equal(h.Clock.Now()) {
			t.Errorf("last recompute %+v", info)
		}
	}))
}
