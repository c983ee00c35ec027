// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package toolsearch spares the model long lists of tools. When a request would carry more than a few, the model gets
// the tool search_tools instead, which finds the others by keywords, and those that it has found or used before.
//
// It sits in the hook agent:llm:before and keeps, in process and bounded, which tools each session has found, since the
// messages that show it may be trimmed away. Clearing the memory of a session forgets that.
//
// It only decides what a model sees. It never decides what may be called: that is the registry's business and the
// guard's.
package toolsearch

import (
	"context"
	"sync/atomic"

	"github.com/aalis-dev/aalis-operator/runtime/contract/agent"
	"github.com/aalis-dev/aalis-operator/runtime/contract/memory"
	"github.com/aalis-dev/aalis-operator/runtime/contract/tools"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
)

// Plugin is the module.
var Plugin = kernel.Define(kernel.Module{
	Name:        "@aalis/plugin-tool-search",
	DisplayName: "Tool search",
	Summary:     "Gives models a search for tools when there are many.",
	Stability:   kernel.Beta,
	Inject:      kernel.Inject{Optional: []string{tools.Service.Name()}},
	OnByDefault: true,
}, Default(), apply)

func apply(k *kernel.Context, cfg Config) error {
	s := &searcher{k: k, found: newDiscoveries(), warned: newWarned()}
	s.cfg.Store(&cfg)
	kernel.OnReconfigure(k, func(_ context.Context, before, after Config) error {
		if before.Enabled != after.Enabled {
			return kernel.ErrNeedsBounce
		}
		s.cfg.Store(&after)
		return nil
	})
	if !cfg.Enabled {
		return nil
	}
	tools.Use(k, []tools.Tool{s.tool()})
	agent.LLMBefore.Use(k, s.narrow)
	memory.Clear.Use(k, func(ctx context.Context, d *memory.ClearData, next kernel.Next) error {
		s.found.forget(d)
		return next(ctx)
	})
	return nil
}

// searcher is the running plugin.
type searcher struct {
	k      *kernel.Context
	cfg    atomic.Pointer[Config]
	found  *discoveries
	warned *warned
}
