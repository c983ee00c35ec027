// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package triggerpolicy decides which messages of a conversation of many the bot answers: those that address it, by a
// mention, a name or a poke, and now and then another, as flow control says how lively it is. Words of the config mute the
// bot for a while. What is not answered goes to the archive.
//
// It is the phase inbound:trigger and offers the service trigger-policy.
package triggerpolicy

import (
	"context"

	"github.com/aalis-dev/aalis-operator/runtime/contract/archive"
	"github.com/aalis-dev/aalis-operator/runtime/contract/flow"
	"github.com/aalis-dev/aalis-operator/runtime/contract/gateway"
	"github.com/aalis-dev/aalis-operator/runtime/contract/persona"
	"github.com/aalis-dev/aalis-operator/runtime/contract/trigger"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
)

// Plugin is the module.
var Plugin = kernel.Define(kernel.Module{
	Name:        "@aalis/plugin-trigger-policy",
	DisplayName: "Trigger policy",
	Summary:     "Decides which messages of a group the bot answers.",
	Stability:   kernel.Beta,
	Inject: kernel.Inject{
		Required: []string{gateway.Service.Name()},
		Optional: []string{flow.Service.Name(), persona.Service.Name(), archive.Service.Name()},
	},
	Provides:    []string{trigger.Service.Name()},
	OnByDefault: true,
}, Default(), apply)

func apply(k *kernel.Context, cfg Config) error {
	s, err := cfg.settings()
	if err != nil {
		return err
	}
	p := &policy{k: k}
	p.settings.Store(s)
	kernel.OnReconfigure(k, func(_ context.Context, _, now Config) error {
		s, err := now.settings()
		if err != nil {
			return err
		}
		p.settings.Store(s)
		return nil
	})
	gateway.Trigger.Use(k, p.handle)
	trigger.Service.Provide(k, p)
	return nil
}
