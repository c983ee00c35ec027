// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package memoryhistory lets the bot know what was said lately in its other sessions: as the contribution
// memory-history to the prompt, and by the tool recent_messages.
//
// It reads the memory backend and stores nothing. Within the process it remembers which sessions were cleared, so that a
// clearing is not undone by what other sessions still hold. It never shows messages that are archived, nor those of
// another platform unless the config says so.
package memoryhistory

import (
	"context"
	"sync/atomic"

	"github.com/aalis-dev/aalis-operator/runtime/contract/agent"
	"github.com/aalis-dev/aalis-operator/runtime/contract/memory"
	"github.com/aalis-dev/aalis-operator/runtime/contract/tools"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
)

// contribution is the local id of the block in the prompt.
const contribution = "memory-history"

// Plugin is the module.
var Plugin = kernel.Define(kernel.Module{
	Name:        "@aalis/plugin-memory-history",
	DisplayName: "Recent messages",
	Summary:     "Shows recent messages of other sessions.",
	Stability:   kernel.Beta,
	Inject: kernel.Inject{
		Required: []string{memory.Service.Name()},
		Optional: []string{tools.Service.Name()},
	},
	OnByDefault: true,
}, Default(), apply)

func apply(k *kernel.Context, cfg Config) error {
	r := &reader{k: k, cleared: newClearings()}
	r.cfg.Store(&cfg)
	kernel.OnReconfigure(k, func(_ context.Context, before, after Config) error {
		if before.ToolEnabled != after.ToolEnabled {
			return kernel.ErrNeedsBounce
		}
		r.cfg.Store(&after)
		return nil
	})
	if cfg.ToolEnabled {
		tools.Use(k, []tools.Tool{r.tool()}, group())
	}
	memory.Clear.Use(k, func(ctx context.Context, d *memory.ClearData, next kernel.Next) error {
		err := next(ctx)
		if err == nil {
			r.cleared.note(d, k.Now())
		}
		return err
	})
	_, err := agent.Prompt.Contribute(k, contribution, agent.Contribution{Anchor: agent.AnchorTurnContext, Build: r.build})
	return err
}

// reader is the running plugin.
type reader struct {
	k       *kernel.Context
	cfg     atomic.Pointer[Config]
	cleared *clearings
}
