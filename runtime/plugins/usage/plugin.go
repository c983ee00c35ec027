// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package usage keeps a book of what the bot's calls of models take, by hour and by day, persona and model, in the memory backend,
// where no clearing touches it. The host serves it to kubectl aalis usage. Unlike the metrics it outlives the process, and needs
// no Prometheus. It never decides anything: budgets have accounts of their own.
package usage

import (
	"context"
	"time"

	"github.com/aalis-dev/aalis-operator/runtime/contract/agent"
	"github.com/aalis-dev/aalis-operator/runtime/contract/memory"
	"github.com/aalis-dev/aalis-operator/runtime/contract/usage"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
)

// Plugin is the module.
var Plugin = module(retryAfter)

// retryAfter is the pause between two tries to read or write the book.
const retryAfter = 2 * time.Second

func module(retry time.Duration) kernel.Module {
	return kernel.Define(kernel.Module{
		Name:        "@aalis/plugin-usage",
		DisplayName: "Usage",
		Summary:     "Keeps a book of the tokens and the cost of the bot, by hour and day.",
		Stability:   kernel.Beta,
		Inject:      kernel.Inject{Optional: []string{memory.Service.Name()}},
		Provides:    []string{usage.Service.Name()},
		OnByDefault: true,
	}, Default(), func(k *kernel.Context, _ Config) error {
		b := newBook(k, retry)
		memory.Service.When(k, b.follow)
		agent.LLMCall.On(k, func(_ context.Context, c agent.CallDone) error {
			b.add(c)
			return nil
		})
		usage.Service.Provide(k, usage.Book(b))
		return nil
	})
}
