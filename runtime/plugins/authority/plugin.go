// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package authority decides who may run which tool or command, and has what needs it confirmed. The rules are those of the
// package runtime/policy; what it adds is what a running bot needs: the policy of the moment, levels that owners give in
// chat, grants that people give by confirming, and a record of what was decided.
//
// It puts a guard into the registries of tools and of commands, and offers the service authority. It fails closed: while
// what was set in chat has not been read, only what is harmless runs; without anybody who asks people, nothing that must be
// confirmed runs. It never takes an identity from anything but the message.
package authority

import (
	"context"
	"time"

	"github.com/aalis-dev/aalis-operator/runtime/contract/access"
	"github.com/aalis-dev/aalis-operator/runtime/contract/commands"
	"github.com/aalis-dev/aalis-operator/runtime/contract/memory"
	"github.com/aalis-dev/aalis-operator/runtime/contract/tools"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
	"github.com/aalis-dev/aalis-operator/runtime/kernelconfig"
	"github.com/aalis-dev/aalis-operator/runtime/policy"
)

// Plugin is the module.
var Plugin = module(retryAfter)

// retryAfter is the pause between two tries to read what was set in chat.
const retryAfter = 2 * time.Second

func module(retry time.Duration) kernel.Module {
	return kernel.Define(kernel.Module{
		Name:        "@aalis/plugin-authority",
		DisplayName: "Authority",
		Summary:     "Decides who may do what, by the AuthorityPolicies of the bot.",
		Stability:   kernel.Beta,
		Inject: kernel.Inject{
			Optional: []string{memory.Service.Name(), tools.Service.Name(), commands.Service.Name()},
		},
		Provides:    []string{access.Service.Name()},
		Core:        true,
		OnByDefault: true,
	}, Default(), func(k *kernel.Context, _ Config) error {
		apply(k, retry)
		return nil
	})
}

func apply(k *kernel.Context, retry time.Duration) {
	a := newAuthority(k)
	access.Setting.Watch(k, a.take)
	memory.Service.When(k, func(b memory.Backend) func() { return a.follow(b, retry) })
	tools.Service.When(k, func(r tools.Registry) func() { return r.SetGuard(a.guard) })
	commands.Service.When(k, func(r commands.Registry) func() { return r.SetGuard(a.guard) })
	commands.Use(k, a.commands()...)
	access.Service.Provide(k, a)
}

// take puts a policy into force. It never bounces anything. Grants of people who lose rank end with it.
func (a *authority) take(_ context.Context, declared kernelconfig.Authority, present bool) {
	var opts []policy.Option
	if console, _, err := access.ConsoleSetting.Get(a.k); err == nil && console {
		opts = append(opts, policy.ConsoleOwner())
	}
	was := a.declared.Swap(&declared)
	var of *kernelconfig.Authority
	if present {
		of = &declared
	}
	now := policy.New(of, opts...)
	a.mu.Lock()
	defer a.mu.Unlock()
	before := a.rules
	a.rules = now
	if was != nil && !sameApprovals(was.PreApproved, declared.PreApproved) {
		a.takenAt = a.k.Now()
	}
	a.grants.keep(func(id policy.Identity) bool {
		return before == nil || !below(now.Standing(id, a.levels), before.Standing(id, a.levels))
	})
}

// below tells whether somebody stands lower than before.
func below(now, before policy.Standing) bool {
	switch {
	case now.Owner:
		return false
	case before.Owner:
		return true
	}
	return now.Level < before.Level
}
