// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kernel

import (
	"slices"
	"time"

	"github.com/aalis-dev/aalis-operator/runtime/recompute"
)

// PluginStatus is what there is to know about one plugin instance.
type PluginStatus struct {
	// ID is the instance id, Module its module's full name, DisplayName the module's name for people.
	ID, Module, DisplayName string
	State                   recompute.State
	// Error is why the plugin is in error; empty in every other state.
	Error string
	// Message is why a pending plugin waits, in the planner's words.
	Message string
	// Missing lists the required services that a pending plugin waits for.
	Missing []string
	// Provides, MayProvide, Required and Optional are the declared services; Required has those that the config asks for
	// too.
	Provides, MayProvide, Required, Optional []string
	Core, Reusable                           bool
	// Since is when the plugin entered its state.
	Since time.Time
}

// RecomputeInfo describes one recompute: the rounds it took from a reason until nothing changed.
type RecomputeInfo struct {
	Reason recompute.Reason
	// Rounds is the number of rounds that changed something.
	Rounds int
	// At is when it ended.
	At time.Time
	// Activated and Retired list instance ids in the order in which it happened.
	Activated, Retired []string
	// Count numbers the recomputes of an App from 1.
	Count uint64
}

// Observer is told what the manager does, for metrics and acknowledgement. Calls come one at a time, in order, with no lock
// held; a slow observer delays the manager.
type Observer interface {
	// Recomputed is called after every recompute.
	Recomputed(info RecomputeInfo)
	// PluginChanged is called after a plugin's state, error or message has changed.
	PluginChanged(status PluginStatus)
}

// entry is one registered plugin instance. Its fields are guarded by the manager's lock.
type entry struct {
	id     string
	module Module
	cfg    PluginConfig   // as given
	config map[string]any // completed by defaults
	// declared is what the module and the config declare, for the planner: replaced by declare and never modified.
	declared recompute.Entry

	state   recompute.State
	err     string
	message string
	missing []string
	since   time.Time
	// ctx is set from activation until the teardown of that context has ended, whatever the state.
	ctx *Context
	// bound lists what the dependencies resolved to at activation, if the module wants to be bounced when that changes.
	bound []recompute.Provider
}

// declare works out what the entry declares. It is called when the module or the config has changed.
func (e *entry) declare() {
	required := slices.Clone(e.module.Inject.Required)
	for _, s := range e.cfg.Requires {
		if !slices.Contains(required, s) {
			required = append(required, s)
		}
	}
	e.declared = recompute.Entry{
		ID: e.id, Provides: slices.Clone(e.module.Provides), MayProvide: slices.Clone(e.module.MayProvide),
		Required: required, Optional: slices.Clone(e.module.Inject.Optional),
		BounceOnDepChange: e.module.RequiresBounceOnDepChange,
	}
}

// uses reports whether the module looks at any of these services.
func (e *entry) uses(services []string) bool {
	return slices.ContainsFunc(services, func(s string) bool {
		return slices.Contains(e.declared.Required, s) || slices.Contains(e.declared.Optional, s)
	})
}

// plan gives the entry as the planner sees it now.
func (e *entry) plan() recompute.Entry {
	out := e.declared
	out.State, out.Bound = e.state, e.bound
	return out
}

func (e *entry) status() PluginStatus {
	return PluginStatus{
		ID: e.id, Module: e.module.Name, DisplayName: e.module.DisplayName, State: e.state, Error: e.err,
		Message: e.message, Missing: slices.Clone(e.missing), Provides: slices.Clone(e.declared.Provides),
		MayProvide: slices.Clone(e.declared.MayProvide), Required: slices.Clone(e.declared.Required),
		Optional: slices.Clone(e.declared.Optional),
		Core:     e.module.Core, Reusable: e.module.Reusable, Since: e.since,
	}
}
