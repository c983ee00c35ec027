// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package flowcontrol keeps the bot from talking too much where many people talk. It counts every message of the
// conversations in its scopes, how lively they are, and how often the bot has spoken; while the bot is muted, has just
// spoken or has spoken too often, a message goes no further than the archive. It can also have the bot begin to talk where it
// has been quiet for long.
//
// It is the phase inbound:flow, and the service flow-control, by which trigger-policy decides whether a message is answered.
// It stores mutes in the memory backend; all else begins anew with the process.
package flowcontrol

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/aalis-dev/aalis-operator/runtime/contract/archive"
	"github.com/aalis-dev/aalis-operator/runtime/contract/flow"
	"github.com/aalis-dev/aalis-operator/runtime/contract/gateway"
	"github.com/aalis-dev/aalis-operator/runtime/contract/memory"
	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
)

// Plugin is the module.
var Plugin = module(after, func() float64 { return 2*rand.Float64() - 1 }) //nolint:gosec // it only spreads timers

// loadTimeout bounds how long reading the mutes may take.
const loadTimeout = 10 * time.Second

func module(t timer, jitter func() float64) kernel.Module {
	return kernel.Define(kernel.Module{
		Name:        "@aalis/plugin-flow-control",
		DisplayName: "Flow control",
		Summary:     "Keeps the bot from talking too much where many people talk.",
		Stability:   kernel.Beta,
		Inject: kernel.Inject{
			Required: []string{gateway.Service.Name()},
			Optional: []string{archive.Service.Name(), memory.Service.Name()},
		},
		Provides:    []string{flow.Service.Name()},
		OnByDefault: true,
	}, Default(), func(k *kernel.Context, cfg Config) error {
		s, err := cfg.settings()
		if err != nil {
			return err
		}
		run(k, newControl(k, s, jitter), t)
		return nil
	})
}

func run(k *kernel.Context, c *control, t timer) {
	kernel.OnReconfigure(k, func(_ context.Context, _, now Config) error {
		s, err := now.settings()
		if err != nil {
			return err
		}
		c.settings.Store(s)
		c.poke()
		return nil
	})
	memory.Service.When(k, func(b memory.Backend) func() {
		ctx, cancel := context.WithTimeout(k.Lifetime(), loadTimeout)
		defer cancel()
		if err := c.mutes.load(ctx, b, k.Now(), c.restore); err != nil {
			k.Logger().Warn("Could not read the mutes of before", "error", err)
		}
		return nil
	})
	gateway.Flow.Use(k, c.handle)
	message.Outbound.On(k, c.outbound)
	kernel.EventReady.On(k, func(context.Context, struct{}) error {
		c.ready.Store(true)
		c.poke()
		return nil
	})
	flow.Service.Provide(k, c)
	k.Go("idle triggers", func(ctx context.Context) { c.run(ctx, t) })
}

func after(d time.Duration) (<-chan time.Time, func()) {
	t := time.NewTimer(d)
	return t.C, func() { t.Stop() }
}
