// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package tools is the registry of what models may call. Plugins register tools and groups with it by the service
// tools, the agent asks it for the definitions and has it execute calls, and the plugin that knows the bot's people
// installs the guard.
//
// Every call is checked in this order: the tool exists, it belongs to a group of the call, the arguments are there and
// known, the guard agrees. While there is no guard, only what is public, without risk and without confirmation runs. A
// failure of any kind is a result for the model, never an error of the turn.
//
// It does not know what tools do, bounds neither the time nor the length of a call (the agent does) and never takes an
// identity from anywhere but the call's context.
package tools

import (
	"github.com/aalis-dev/aalis-operator/runtime/contract/tools"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
)

// Plugin is the module.
var Plugin = kernel.Define(kernel.Module{
	Name:        "@aalis/plugin-tools",
	DisplayName: "Tools",
	Summary:     "Registry of the tools that models may call, with argument checks and access control.",
	Stability:   kernel.Beta,
	Provides:    []string{tools.Service.Name()},
	OnByDefault: true,
}, Default(), apply)

func apply(k *kernel.Context, _ Config) error {
	tools.Service.Provide(k, newRegistry(k))
	return nil
}
