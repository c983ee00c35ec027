// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package budget keeps a bot within the budgets of its declaration. The arithmetic is that of the package runtime/budget;
// what it adds is what a running bot needs: the budgets of the moment, the store, warnings, and the command /usage.
//
// It offers the service budget, of which whoever calls a model asks leave before. It fails closed: with budgets declared and
// what was spent before not read yet, no model is called. It never counts a call that nobody asked leave for.
package budget

import (
	"context"
	"time"

	"github.com/aalis-dev/aalis-operator/runtime/contract/access"
	"github.com/aalis-dev/aalis-operator/runtime/contract/agent"
	"github.com/aalis-dev/aalis-operator/runtime/contract/budget"
	"github.com/aalis-dev/aalis-operator/runtime/contract/commands"
	"github.com/aalis-dev/aalis-operator/runtime/contract/gateway"
	"github.com/aalis-dev/aalis-operator/runtime/contract/memory"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
)

// Plugin is the module.
var Plugin = module(retryAfter)

// retryAfter is the pause between two tries to read what was spent.
const retryAfter = 2 * time.Second

func module(retry time.Duration) kernel.Module {
	return kernel.Define(kernel.Module{
		Name:        "@aalis/plugin-budget",
		DisplayName: "Budgets",
		Summary:     "Keeps the bot within its budgets: reserves what a call may take before it, settles after it.",
		Stability:   kernel.Beta,
		Inject: kernel.Inject{Optional: []string{
			memory.Service.Name(), commands.Service.Name(), access.Service.Name(), gateway.Service.Name(),
		}},
		Provides:    []string{budget.Service.Name()},
		Core:        true,
		OnByDefault: true,
	}, Default(), func(k *kernel.Context, _ Config) error {
		b := newKeeper(k)
		budget.Setting.Watch(k, b.take)
		memory.Service.When(k, func(store memory.Backend) func() { return b.follow(store, retry) })
		commands.Use(k, b.command())
		agent.TurnAfter.Use(k, func(ctx context.Context, d *agent.TurnData, next kernel.Next) error {
			b.warn(ctx, d.Message)
			return next(ctx)
		})
		budget.Service.Provide(k, budget.Keeper(b))
		return nil
	})
}
