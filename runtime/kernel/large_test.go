// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kernel_test

import (
	"fmt"
	"testing"

	"github.com/aalis-dev/aalis-operator/runtime/kernel"
	"github.com/aalis-dev/aalis-operator/runtime/kerneltest"
	"github.com/aalis-dev/aalis-operator/runtime/recompute"
)

// TestTenThousandPlugins runs as many plugins as nobody has, in several shapes: they start, lose what holds them together,
// get it back, take a config, and stop.
func TestTenThousandPlugins(t *testing.T) {
	const n = 10000
	id := func(i int) string { return fmt.Sprintf("p%05d", i) }
	shapes := map[string]struct {
		requires func(i int) []string
		without  int // how many are active without the first
	}{
		"independent": {func(int) []string { return nil }, n - 1},
		"chain": {func(i int) []string {
			if i == 0 {
				return nil
			}
			return []string{"s" + id(i-1)}
		}, 0},
		"star": {func(i int) []string {
			if i == 0 {
				return nil
			}
			return []string{"s" + id(0)}
		}, 0},
	}
	for name, shape := range shapes {
		t.Run(name, func(t *testing.T) {
			var modules []kernel.Module
			plugins := map[string]kernel.PluginConfig{}
			for i := range n {
				s := spec{name: id(i), provides: []string{"s" + id(i)}, requires: shape.requires(i)}
				modules = append(modules, s.module())
				plugins[s.name] = kernel.PluginConfig{}
			}
			h := kerneltest.New(t, kerneltest.WithModules(modules...), kerneltest.WithOptions(func(o *kernel.Options) {
				o.Config.Plugins, o.Logger = plugins, nil
			}))
			active := func(want int) {
				t.Helper()
				h.Idle()
				must(t, wantActive(h.App, want))
				if info := h.App.LastRecompute(); info.Rounds >= recompute.MaxRounds {
					t.Errorf("took %d rounds", info.Rounds)
				}
			}
			active(n)
			disable(t, h, id(0))
			active(shape.without)
			must(t, h.App.Plugins().Enable(id(0)))
			active(n)
			h.Apply(func(c *kernel.Config) {
				for i := n / 2; i < n; i++ {
					delete(c.Plugins, id(i))
				}
			})
			active(n / 2)
			h.Stop()
			if s := h.App.Stats(); s != (kernel.Stats{}) {
				t.Errorf("after the stop there is %+v", s)
			}
		})
	}
	t.Run("ring", func(t *testing.T) {
		h := kerneltest.New(t, kerneltest.WithOptions(func(o *kernel.Options) { o.Logger = nil }))
		for i := range n {
			register(t, h, spec{name: id(i), provides: []string{"s" + id(i)}, requires: []string{"s" + id((i+1)%n)}}.module(), "")
		}
		h.WantState(id(n/2), recompute.Pending)
		off := service("s"+id(0)).Provide(h.Root(), "breaks it")
		h.WantState(id(n/2), recompute.Active)
		off() // p00000 provides it by now
		h.WantState(id(n/2), recompute.Active)
	})
}
