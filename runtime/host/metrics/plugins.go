// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/aalis-dev/aalis-operator/runtime/kernel"
)

// lister is the part of the kernel's manager that is needed here.
type lister interface {
	Status() []kernel.PluginStatus
}

// pluginCollector shows the state of every plugin when it is asked.
type pluginCollector struct {
	desc    *prometheus.Desc
	manager atomic.Pointer[lister]
}

func newPluginCollector(f factory) *pluginCollector {
	c := &pluginCollector{desc: f.desc("plugin_state",
		"Always 1; the label state says what the plugin does: Pending, Activating, Active, Disabled, Disposed, Error.", "plugin", "state")}
	f.reg.MustRegister(c)
	return c
}

func (c *pluginCollector) follow(l lister) { c.manager.Store(&l) }

// Describe implements prometheus.Collector.
func (c *pluginCollector) Describe(out chan<- *prometheus.Desc) { out <- c.desc }

// Collect implements prometheus.Collector.
func (c *pluginCollector) Collect(out chan<- prometheus.Metric) {
	l := c.manager.Load()
	if l == nil {
		return
	}
	seen := map[string]bool{}
	for _, p := range (*l).Status() {
		if len(seen) == maxPlugins {
			break
		}
		id := cut(p.ID)
		if seen[id] {
			continue
		}
		seen[id] = true
		out <- prometheus.MustNewConstMetric(c.desc, prometheus.GaugeValue, 1, id, cut(string(p.State)))
	}
}

var _ prometheus.Collector = (*pluginCollector)(nil)
