// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package gateway is the message router. It takes every message that a platform received through the inbound phases
// (confirm, command, flow, trigger, dispatch), of which the last hands it to the agent, and takes what is to be said
// through the outbound pipeline to the platforms.
//
// The number of messages in work at a time is bounded (Config.MaxConcurrent). A message beyond the bound, or one that
// comes while the plugin drains, is refused with a system notice to its sender; none is lost silently.
//
// Platforms and the host reach it by the event inbound:message and the service gateway. It never decides whether or
// what to answer: that is the business of the phases' handlers and of the agent.
package gateway

import (
	"context"

	"github.com/aalis-dev/aalis-operator/runtime/contract/agent"
	"github.com/aalis-dev/aalis-operator/runtime/contract/gateway"
	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
)

// Plugin is the module.
var Plugin = kernel.Define(kernel.Module{
	Name:        "@aalis/plugin-gateway",
	DisplayName: "Gateway",
	Summary:     "Routes messages between platforms and the agent.",
	Stability:   kernel.Beta,
	Inject:      kernel.Inject{Optional: []string{agent.Service.Name()}},
	Provides:    []string{gateway.Service.Name()},
	OnByDefault: true,
}, Default(), apply)

func apply(k *kernel.Context, cfg Config) error {
	g := newGateway(k, cfg)
	k.Go("telemetry", g.telemetry.run)
	k.OnDrain("messages", g.intake.drain)
	kernel.OnReconfigure(k, func(_ context.Context, _, after Config) error {
		g.intake.setLimit(after.MaxConcurrent)
		return nil
	})
	agent.InputBefore.Use(k, agentReached)
	message.Inbound.On(k, g.receive)
	gateway.Service.Provide(k, g)
	return nil
}
