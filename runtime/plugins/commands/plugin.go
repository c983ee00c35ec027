// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package commands lets people give a bot commands, such as /help. It is the registry in which plugins declare commands,
// it reads and runs them, and it takes messages that are commands out of the way to the agent, in the phase
// inbound:command of the gateway. A message that begins like a command and is none is a message like any other.
//
// Several plugins may declare the same name: the last one runs, and what it asks for by way of permission is the strictest
// of all declarations of the name and of the names above it, so that a later one only ever tightens. Commands run under
// the identity of the message, or of the actor that a system trigger set. While there is no guard, only what is public,
// without risk and without confirmation runs.
//
// It brings /help, /status, /restart, /shutdown and /clear. It never stores a command's text, and never decides who may
// do what: that is the guard's business.
package commands

import (
	"context"

	"github.com/aalis-dev/aalis-operator/runtime/contract/access"
	"github.com/aalis-dev/aalis-operator/runtime/contract/commands"
	"github.com/aalis-dev/aalis-operator/runtime/contract/gateway"
	"github.com/aalis-dev/aalis-operator/runtime/contract/memory"
	"github.com/aalis-dev/aalis-operator/runtime/contract/tools"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
)

// Plugin is the module.
var Plugin = kernel.Define(kernel.Module{
	Name:        "@aalis/plugin-commands",
	DisplayName: "Commands",
	Summary:     "Runs the slash commands that people give a bot, with help and access control.",
	Stability:   kernel.Beta,
	Inject: kernel.Inject{
		Required: []string{gateway.Service.Name()},
		Optional: []string{memory.Service.Name(), tools.Service.Name(), access.Service.Name()},
	},
	Provides:    []string{commands.Service.Name()},
	OnByDefault: true,
}, Default(), apply)

func apply(k *kernel.Context, cfg Config) error {
	r := newRegistry(k, cfg.CommandPrefix)
	for _, c := range builtins(k, r) {
		if _, err := r.Register(k, c); err != nil {
			return err
		}
	}
	kernel.OnReconfigure(k, func(_ context.Context, _, after Config) error {
		r.setPrefix(after.CommandPrefix)
		return nil
	})
	gateway.Command.Use(k, (&phase{k: k, registry: r}).handle)
	memory.Clear.Use(k, (&attachments{dir: k.DataDir()}).clear)
	commands.Service.Provide(k, r)
	return nil
}
