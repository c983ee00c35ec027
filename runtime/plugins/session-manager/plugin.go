// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package sessionmanager keeps the sessions of a bot: their tree, their status and titles, and what each of them is
// configured to. What is in effect in a session comes from four layers, the higher over the lower: what the session
// decides itself, what its parent decides for its children, the profile of the platform, and the defaults.
//
// The agent and the platforms reach it by the service session-manager. It stores the sessions in the memory backend, in a
// namespace that no clearing touches; it never reads or writes what is said, except to find a title.
package sessionmanager

import (
	"context"
	"time"

	"github.com/aalis-dev/aalis-operator/runtime/contract/agent"
	"github.com/aalis-dev/aalis-operator/runtime/contract/llm"
	"github.com/aalis-dev/aalis-operator/runtime/contract/memory"
	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
	"github.com/aalis-dev/aalis-operator/runtime/contract/session"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
)

// Plugin is the module.
var Plugin = module(timers{after: after, debounce: time.Second, retry: 5 * time.Second})

func module(t timers) kernel.Module {
	return kernel.Define(kernel.Module{
		Name:        "@aalis/plugin-session-manager",
		DisplayName: "Sessions",
		Summary:     "Keeps the sessions of the bot and what each is configured to.",
		Stability:   kernel.Beta,
		Inject: kernel.Inject{
			Required: []string{memory.Service.Name()},
			Optional: []string{agent.Service.Name(), llm.Service.Name()},
		},
		Provides:    []string{session.Service.Name()},
		OnByDefault: true,
	}, Default(), func(k *kernel.Context, cfg Config) error { return apply(k, cfg, t) })
}

func apply(k *kernel.Context, cfg Config, t timers) error {
	if err := cfg.check(); err != nil {
		return err
	}
	m := newManager(k, cfg.settings())
	ctx, cancel := context.WithTimeout(k.Lifetime(), t.retry)
	defer cancel()
	if err := m.load(ctx); err != nil {
		k.Logger().Warn("Could not read sessions, trying again", "error", err)
	}
	kernel.OnReconfigure(k, func(_ context.Context, _, now Config) error {
		if err := now.check(); err != nil {
			return err
		}
		m.settings.Store(now.settings())
		return nil
	})
	k.OnDispose("store sessions", m.flush)
	k.Go("store sessions", func(ctx context.Context) { m.keep(ctx, t) })
	message.Inbound.On(k, m.inbound)
	message.Outbound.On(k, m.outbound)
	agent.TurnAfter.Use(k, m.turnAfter)
	session.Service.Provide(k, m)
	return nil
}

// timers are how time passes: after fires once, unless it is stopped.
type timers struct {
	after           func(d time.Duration) (fired <-chan time.Time, stop func())
	debounce, retry time.Duration
}

func after(d time.Duration) (<-chan time.Time, func()) {
	t := time.NewTimer(d)
	return t.C, func() { t.Stop() }
}
