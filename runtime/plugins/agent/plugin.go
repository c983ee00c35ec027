// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package agent is the conversation orchestrator. For each message that the gateway hands over it makes one turn: it
// stores the message, builds the prompt from persona, rules, history and what other plugins contribute (agent:prompt),
// asks the model and streams its reply, stores it, and sends it out. The hooks agent:* let other plugins look at and
// change each step.
//
// A session has one turn at a time per source of messages (a lane): a new message of the same lane aborts the turn that
// is running, lanes run in parallel. Whatever happens, a turn ends with the end of its stream and with agent:turn:after,
// and its sender gets a reply or is told why there is none.
//
// The gateway and other plugins reach it by the service agent. It never speaks to a network, a disk or a platform itself.
package agent

import (
	"context"

	"github.com/aalis-dev/aalis-operator/runtime/contract/agent"
	"github.com/aalis-dev/aalis-operator/runtime/contract/archive"
	"github.com/aalis-dev/aalis-operator/runtime/contract/commands"
	"github.com/aalis-dev/aalis-operator/runtime/contract/llm"
	"github.com/aalis-dev/aalis-operator/runtime/contract/memory"
	"github.com/aalis-dev/aalis-operator/runtime/contract/persona"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
)

// Plugin is the module.
var Plugin = kernel.Define(kernel.Module{
	Name:        "@aalis/plugin-agent",
	DisplayName: "Agent",
	Summary:     "Answers messages: prompt, history, model, reply.",
	Stability:   kernel.Beta,
	Inject: kernel.Inject{Optional: []string{
		llm.Service.Name(), memory.Service.Name(), persona.Service.Name(), archive.Service.Name(),
		"platform", "media", "storage",
	}},
	Provides:    []string{agent.Service.Name()},
	OnByDefault: true,
}, Default(), apply)

func apply(k *kernel.Context, cfg Config) error {
	if err := cfg.check(); err != nil {
		return err
	}
	a := newConductor(k, cfg)
	agent.ModelSetting.Watch(k, a.takeModel)
	a.prefer(llm.Ref{}, cfg.defaultModel())
	kernel.EventServicePreferenceChanged.On(k, a.preferenceChanged)
	kernel.OnReconfigure(k, func(_ context.Context, before, after Config) error {
		if err := after.check(); err != nil {
			return err
		}
		a.cfg.Store(&after)
		a.prefer(before.defaultModel(), after.defaultModel())
		return nil
	})
	agent.UsageRequest.On(k, a.measure)
	commands.Use(k, a.commands()...)
	k.OnDrain("turns", a.lanes.drain)
	k.OnDispose("turns", a.stop)
	agent.Service.Provide(k, a)
	return nil
}
