// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package persona knows who the bot is. It turns persona cards into the text that opens every prompt: the bot's own one,
// from the setting persona, or one of those in the setting personas, where a session or its platform asks for that. It
// adds to each turn what changes from turn to turn: the time, where and with whom the conversation takes place, and the
// last state. A new card takes effect with the next turn, with no bounce; without a card the bot is Aalis.
//
// Where a card has an output format, it takes the text to send out of the JSON object that the model writes, asks again
// for one that does not fit, and never lets raw JSON through.
//
// The agent reaches it by the service persona. It never speaks to a model, and never remembers who speaks.
package persona

import (
	"context"

	"github.com/aalis-dev/aalis-operator/runtime/contract/agent"
	"github.com/aalis-dev/aalis-operator/runtime/contract/memory"
	"github.com/aalis-dev/aalis-operator/runtime/contract/persona"
	"github.com/aalis-dev/aalis-operator/runtime/contract/session"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
)

// Plugin is the module.
var Plugin = kernel.Define(kernel.Module{
	Name:        "@aalis/plugin-persona",
	DisplayName: "Persona",
	Summary:     "Gives the bot its character.",
	Stability:   kernel.Beta,
	Inject:      kernel.Inject{Optional: []string{session.Service.Name(), memory.Service.Name()}},
	Provides:    []string{persona.Service.Name()},
	OnByDefault: true,
}, Default(), apply)

func apply(k *kernel.Context, cfg Config) error {
	p := newProvider(k)
	if err := p.configure(cfg); err != nil {
		return err
	}
	kernel.OnReconfigure(k, func(_ context.Context, _, after Config) error { return p.configure(after) })
	persona.OthersSetting.Watch(k, p.takeOthers)
	persona.Setting.Watch(k, p.take)
	agent.InputBefore.Use(k, p.beforeInput)
	agent.ReplyBefore.Use(k, p.beforeReply)
	memory.Clear.Use(k, p.states.clear)
	persona.Service.Provide(k, p)
	return nil
}
