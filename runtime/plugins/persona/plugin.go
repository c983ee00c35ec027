// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package persona knows who the bot is. It turns the persona card of the bot, from the setting persona, into the text
// that opens every prompt, and adds to each turn what changes from turn to turn: the time, and where and with whom the
// conversation takes place. A new card takes effect with the next turn, with no bounce; without a card the bot is Aalis.
//
// The agent reaches it by the service persona. It never speaks to a model and never looks at what is said.
package persona

import (
	"context"

	"github.com/aalis-dev/aalis-operator/runtime/contract/persona"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
)

// Plugin is the module.
var Plugin = kernel.Define(kernel.Module{
	Name:        "@aalis/plugin-persona",
	DisplayName: "Persona",
	Summary:     "Gives the bot its character.",
	Stability:   kernel.Beta,
	Provides:    []string{persona.Service.Name()},
	OnByDefault: true,
}, Default(), apply)

func apply(k *kernel.Context, cfg Config) error {
	p := newProvider(k)
	if err := p.configure(cfg); err != nil {
		return err
	}
	kernel.OnReconfigure(k, func(_ context.Context, _, after Config) error { return p.configure(after) })
	persona.Setting.Watch(k, p.take)
	persona.Service.Provide(k, p)
	return nil
}
