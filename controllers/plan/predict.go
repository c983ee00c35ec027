// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"slices"

	"github.com/aalis-dev/aalis-operator/runtime/catalog"
	"github.com/aalis-dev/aalis-operator/runtime/kernelconfig"
	"github.com/aalis-dev/aalis-operator/runtime/recompute"
)

// rootServices are the services that every kernel provides itself.
var rootServices = []string{"app", "plugins"}

// Prediction is what a kernel will do with a config.
type Prediction struct {
	// Plugins are the predicted states, in the order of the config.
	Plugins []Plugin
	// Activated lists the plugins that will run, in the order in which they start.
	Activated []string
	// Cycles lists the dependency cycles that keep plugins from starting.
	Cycles [][]string
}

// Plugin is the predicted state of one plugin.
type Plugin struct {
	// ID of the instance.
	ID string
	// State it will be in: Active, Pending, Disabled, or Error for a module that the image does not ship.
	State recompute.State
	// Message says what a pending plugin waits for, in the kernel's own words.
	Message string
	// Missing lists the services it waits for.
	Missing []string
}

// Predict says where a kernel that starts with the config will end if every plugin that can start does, and provides what
// its module declares. Every mounted Secret key counts as present but those listed in missing.
func Predict(config kernelconfig.Config, cat catalog.Catalog, missing ...kernelconfig.SecretKey) Prediction {
	entries := make([]recompute.Entry, 0, len(config.Plugins))
	for _, p := range config.Plugins {
		entries = append(entries, entryOf(p, cat))
	}
	var available []recompute.Provider
	for _, s := range rootServices {
		available = append(available, recompute.Provider{Service: s})
	}
	for _, k := range config.MountedSecrets() {
		if !slices.Contains(missing, k) {
			available = append(available, recompute.Provider{Service: kernelconfig.Secret{Name: k.Name, Key: k.Key}.Service()})
		}
	}
	end := recompute.Predict(entries, available, recompute.Reason{Kind: recompute.PluginStateChanged})
	waits := make(map[string]recompute.Wait, len(end.Waits))
	for _, w := range end.Waits {
		waits[w.ID] = w
	}
	out := Prediction{Activated: end.Activated, Cycles: end.Cycles}
	for _, e := range entries {
		p := Plugin{ID: e.ID, State: end.States[e.ID], Message: waits[e.ID].Message, Missing: waits[e.ID].Missing}
		if p.State == recompute.Error {
			p.Message = "the runtime image does not ship this module"
		}
		out.Plugins = append(out.Plugins, p)
	}
	return out
}

// entryOf makes the planner's entry of a plugin as the kernel does: each Secret key that fills its config is a service that
// it requires.
func entryOf(p kernelconfig.Plugin, cat catalog.Catalog) recompute.Entry {
	e := recompute.Entry{ID: p.ID, State: recompute.Pending}
	m, ok := cat.Lookup(p.Module)
	switch {
	case p.Disabled:
		e.State = recompute.Disabled
	case !ok:
		e.State = recompute.Error
	}
	e.Provides, e.Optional, e.BounceOnDepChange = m.Provides, m.Optional, m.RequiresBounceOnDepChange
	e.Required = slices.Clone(m.Required)
	for _, s := range p.Secrets {
		if !slices.Contains(e.Required, s.Service()) {
			e.Required = append(e.Required, s.Service())
		}
	}
	return e
}
