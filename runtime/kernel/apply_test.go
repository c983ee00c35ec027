// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kernel_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/aalis-dev/aalis-operator/runtime/kernel"
	"github.com/aalis-dev/aalis-operator/runtime/kerneltest"
	"github.com/aalis-dev/aalis-operator/runtime/recompute"
)

type limits struct {
	Limit int     `json:"limit" min:"1"`
	Ratio float64 `json:"ratio"`
}

// traced is a reusable module that notes its life; with takeOver it takes new configs over in place unless that fails.
func traced(r *trace, name string, takeOver func(before, after limits) error) kernel.Module {
	return kernel.Define(kernel.Module{Name: name, Reusable: true}, limits{Limit: 1, Ratio: 2}, func(k *kernel.Context, c limits) error {
		r.add(fmt.Sprintf("start %s %d", k.ID(), c.Limit))
		k.OnDispose("stop", func(context.Context) error { r.add("stop " + k.ID()); return nil })
		if takeOver != nil {
			kernel.OnReconfigure(k, func(_ context.Context, before, after limits) error {
				r.add(fmt.Sprintf("change %s %d to %d", k.ID(), before.Limit, after.Limit))
				return takeOver(before, after)
			})
		}
		return nil
	})
}

func limit(n int) kernel.PluginConfig { return kernel.PluginConfig{Config: map[string]any{"limit": n}} }

func TestApply(t *testing.T) {
	background := context.Background()
	same := func(t *testing.T, got, want kernel.ApplyReport) {
		t.Helper()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("report (-want +got):\n%s", diff)
		}
	}
	t.Run("touches only what changed and reports it", bubble(func(t *testing.T) {
		r := &trace{}
		h := kerneltest.New(t, kerneltest.WithModules(traced(r, "p", nil)), kerneltest.WithOptions(func(o *kernel.Options) {
			o.Config.Plugins = map[string]kernel.PluginConfig{
				"p:changed": limit(1), "p:gone": limit(1), "p:off": limit(1), "p:on": {Disabled: true}, "p:same": limit(1),
			}
			o.Config.Preferences = map[string][]string{"llm": {"a"}, "kept": {"x"}}
		}))
		r.take()
		report := h.Apply(func(c *kernel.Config) {
			c.Plugins["p:changed"] = limit(2)
			c.Plugins["p:new"] = limit(3)
			c.Plugins["p:off"] = kernel.PluginConfig{Config: map[string]any{"limit": 9}, Disabled: true}
			c.Plugins["p:on"] = limit(4)
			c.Plugins["p:same"] = kernel.PluginConfig{Module: "p", Config: map[string]any{"limit": 1.0, "ratio": 2}}
			delete(c.Plugins, "p:gone")
			c.Preferences = map[string][]string{"kept": {"x"}, "tools": {"b"}}
			c.Settings["persona"] = []byte("{}")
		})
		same(t, report, kernel.ApplyReport{
			Settings: []string{"persona"}, Preferences: []string{"llm", "tools"}, Registered: []string{"p:new"},
			Unloaded: []string{"p:gone"}, Bounced: []string{"p:changed"}, Enabled: []string{"p:on"}, Disabled: []string{"p:off"},
		})
		if !report.Changed() {
			t.Error("reported as unchanged")
		}
		if diff := cmp.Diff([]string{
			"start p:changed 2", "start p:new 3", "start p:on 4", "stop p:changed", "stop p:gone", "stop p:off",
		}, sorted(r.take())); diff != "" {
			t.Errorf("steps:\n%s", diff)
		}
		if got := h.Root().Preferred("tools"); len(got) != 1 || h.Root().Preferred("llm") != nil {
			t.Errorf("preferences: tools %v, llm %v", got, h.Root().Preferred("llm"))
		}
		must(t, h.App.Plugins().Enable("p:off"))
		h.Idle()
		r.want(t, "start p:off 9")
		same(t, h.Apply(func(*kernel.Config) {}), kernel.ApplyReport{Enabled: []string{"p:off"}})
		if h.Apply(func(*kernel.Config) {}).Changed() {
			t.Error("an equal config changed something")
		}
	}))
	t.Run("is rejected whole", bubble(func(t *testing.T) {
		r := &trace{}
		h := kerneltest.New(t, kerneltest.WithPlugin(traced(r, "p", nil), "", nil), kerneltest.WithSetting("persona", card{"owl"}))
		r.take()
		before := h.App.LastRecompute().Count
		cfg := h.App.Config()
		cfg.Settings["persona"] = []byte("{}")
		cfg.Plugins["p"] = limit(0)
		_, err := h.App.Apply(background, cfg)
		wantError(t, err, "applying a config", "plugins[p].config.limit", "at least 1")
		if v, _, _ := persona.Get(h.Root()); v.Name != "owl" || h.App.LastRecompute().Count != before {
			t.Error("something changed")
		}
		r.want(t)
	}))
	t.Run("lets plugins take a config over in place", bubble(func(t *testing.T) {
		r := &trace{}
		takeOver := func(_, after limits) error {
			switch after.Limit {
			case 3:
				return kernel.ErrNeedsBounce
			case 4:
				return errors.New("odd")
			case 5:
				panic("odder")
			}
			return nil
		}
		h := kerneltest.New(t, kerneltest.WithPlugin(traced(r, "p", takeOver), "", nil))
		r.want(t, "start p 1")
		to := func(n int) kernel.ApplyReport {
			return h.Apply(func(c *kernel.Config) { c.Plugins["p"] = limit(n) })
		}
		same(t, to(2), kernel.ApplyReport{Reconfigured: []string{"p"}})
		r.want(t, "change p 1 to 2")
		for _, n := range []int{3, 4, 5} {
			same(t, to(n), kernel.ApplyReport{Bounced: []string{"p"}})
			r.want(t, fmt.Sprintf("change p %d to %d", n-1, n), "stop p", fmt.Sprintf("start p %d", n))
		}
		wantLog(t, h, "WARN", "is bounced", "odd")
		wantLog(t, h, "WARN", "is bounced", "odder", "stack=")
		same(t, to(6), kernel.ApplyReport{Reconfigured: []string{"p"}})
		bounce(t, h, "p")
		h.Idle()
		r.want(t, "change p 5 to 6", "stop p", "start p 6")
	}))
	t.Run("a plugin in error is retried only when its own config changes", bubble(func(t *testing.T) {
		r := &trace{}
		m := kernel.Define(kernel.Module{Name: "p"}, limits{Limit: 1}, func(_ *kernel.Context, c limits) error {
			r.add(fmt.Sprint("try ", c.Limit))
			if c.Limit == 1 {
				return errors.New("too low")
			}
			return nil
		})
		h := kerneltest.New(t, kerneltest.WithPlugin(m, "", nil))
		h.WantState("p", recompute.Error)
		h.Apply(set("persona", "{}"))
		r.want(t, "try 1")
		same(t, h.Apply(func(c *kernel.Config) { c.Plugins["p"] = limit(2) }), kernel.ApplyReport{Bounced: []string{"p"}})
		h.WantState("p", recompute.Active)
		r.want(t, "try 2")
	}))
	t.Run("requirements from the config come and go without a bounce", bubble(func(t *testing.T) {
		r := &trace{}
		h := kerneltest.New(t, kerneltest.WithPlugin(traced(r, "p", nil), "", nil))
		r.want(t, "start p 1")
		key := kernel.NewService[struct{}]("secret:llm/api-key")
		require := func(names ...string) kernel.ApplyReport {
			return h.Apply(func(c *kernel.Config) { c.Plugins["p"] = kernel.PluginConfig{Requires: names} })
		}
		same(t, require("secret:llm/api-key"), kernel.ApplyReport{Reconfigured: []string{"p"}})
		h.WantState("p", recompute.Pending)
		if got := h.Plugin("p"); got.Message != "waiting for secret:llm/api-key" {
			t.Errorf("message %q", got.Message)
		}
		key.Provide(h.Root(), struct{}{})
		h.WantState("p", recompute.Active)
		r.want(t, "stop p", "start p 1")
		require()
		r.want(t)
	}))
	t.Run("runtime changes stay until the config changes them", bubble(func(t *testing.T) {
		r := &trace{}
		h := kerneltest.New(t, kerneltest.WithPlugin(traced(r, "p", nil), "", nil))
		declared := h.App.Config()
		disable(t, h, "p")
		h.Root().Prefer("llm", "chosen")
		r.take()
		declared.Settings["persona"] = []byte("{}")
		report, err := h.App.Apply(background, declared)
		must(t, err)
		same(t, report, kernel.ApplyReport{Settings: []string{"persona"}})
		declared.Plugins["p"] = limit(2)
		_, err = h.App.Apply(background, declared)
		must(t, err)
		h.WantState("p", recompute.Disabled)
		if got := h.Root().Preferred("llm"); len(got) != 1 || got[0] != "chosen" {
			t.Errorf("preference %v", got)
		}
		must(t, h.App.Plugins().Enable("p"))
		h.Idle()
		r.want(t, "start p 2")
	}))
	t.Run("comes one at a time, after start and before stop", bubble(func(t *testing.T) {
		h := kerneltest.New(t, kerneltest.Unstarted())
		_, err := h.App.Apply(background, h.App.Config())
		if !errors.Is(err, kernel.ErrNotStarted) {
			t.Errorf("before start: %v", err)
		}
		h.Start()
		gate := make(chan struct{})
		persona.Watch(h.Root(), func(_ ctxt, v card, _ bool) {
			if v.Name == "slow" {
				<-gate
			}
		})
		done := make(chan struct{})
		go func() { h.Apply(set("persona", `{"name":"slow"}`)); close(done) }()
		settle()
		impatient, cancel := context.WithTimeout(background, time.Second)
		defer cancel()
		if _, err := h.App.Apply(impatient, h.App.Config()); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("meanwhile: %v", err)
		}
		close(gate)
		<-done
		h.Stop()
		if _, err := h.App.Apply(background, h.App.Config()); !errors.Is(err, kernel.ErrStopped) {
			t.Errorf("after stop: %v", err)
		}
	}))
	t.Run("waits for plugins as long as its context lasts", bubble(func(t *testing.T) {
		gate := make(chan struct{})
		slow := spec{name: "slow", apply: func(*kernel.Context, map[string]any) error { <-gate; return nil }}.module()
		h := kerneltest.New(t, kerneltest.WithModules(slow))
		cfg := h.App.Config()
		cfg.Plugins["slow"] = kernel.PluginConfig{}
		ctx, cancel := context.WithTimeout(background, time.Second)
		defer cancel()
		report, err := h.App.Apply(ctx, cfg)
		wantError(t, err, "waiting for plugins", "deadline")
		same(t, report, kernel.ApplyReport{Registered: []string{"slow"}})
		close(gate)
		h.WantState("slow", recompute.Active)
	}))
	t.Run("an instance registered at run time is compared with what it has", bubble(func(t *testing.T) {
		r := &trace{}
		m := traced(r, "p", nil)
		h := kerneltest.New(t, kerneltest.WithModules(m))
		must(t, h.App.Plugins().Register(m, "", limit(5)))
		h.Idle()
		r.want(t, "start p 5")
		same(t, h.Apply(func(c *kernel.Config) { c.Plugins["p"] = limit(5) }), kernel.ApplyReport{})
		h.Apply(func(c *kernel.Config) { delete(c.Plugins, "p") })
		r.want(t, "stop p")
		must(t, h.App.Plugins().Register(m, "", limit(5)))
		h.Idle()
		same(t, h.Apply(func(c *kernel.Config) { c.Plugins["p"] = kernel.PluginConfig{} }), kernel.ApplyReport{Bounced: []string{"p"}})
		r.want(t, "start p 5", "stop p", "start p 1")
	}))
	t.Run("an instance that the config disables and a person enabled sees new configs too", bubble(func(t *testing.T) {
		r := &trace{}
		h := kerneltest.New(t, kerneltest.WithModules(traced(r, "p", nil)), kerneltest.WithOptions(func(o *kernel.Options) {
			o.Config.Plugins = map[string]kernel.PluginConfig{"p": {Disabled: true}}
		}))
		must(t, h.App.Plugins().Enable("p"))
		h.WantState("p", recompute.Active)
		cfg := h.App.Config()
		cfg.Plugins["p"] = kernel.PluginConfig{Disabled: true, Config: map[string]any{"limit": 9}}
		_, err := h.App.Apply(background, cfg)
		must(t, err)
		h.WantState("p", recompute.Active)
		r.want(t, "start p 1", "stop p", "start p 9")
		if h.App.Config().Plugins["p"].Disabled {
			t.Error("the config in effect says that p is disabled")
		}
	}))
}
