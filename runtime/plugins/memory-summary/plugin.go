// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package memorysummary keeps long conversations short: when a session has grown, or fills the context window, or when
// somebody asks for it, the older messages become a summary that stands in the prompt in their place, and are archived.
//
// It acts on the hook agent:turn:after and the events token:usage and session:compress, keeps one record per session in
// the metadata of the memory backend, and adds the contribution memory-summary to the prompt. It never deletes a message,
// and a message that was archived without being summarised is noted in the record and summarised next time.
package memorysummary

import (
	"context"

	"github.com/aalis-dev/aalis-operator/runtime/contract/agent"
	"github.com/aalis-dev/aalis-operator/runtime/contract/archive"
	"github.com/aalis-dev/aalis-operator/runtime/contract/llm"
	"github.com/aalis-dev/aalis-operator/runtime/contract/memory"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
)

// contribution is the local id of the summary in the prompt; the accounting of tokens knows it by this name.
const contribution = "memory-summary"

// Plugin is the module. It is on by default although it calls a model by itself: without it a long conversation forgets
// its beginning.
var Plugin = kernel.Define(kernel.Module{
	Name:        "@aalis/plugin-memory-summary",
	DisplayName: "Conversation summary",
	Summary:     "Summarises the older part of long conversations.",
	Stability:   kernel.Beta,
	Inject: kernel.Inject{
		Required: []string{memory.Service.Name()},
		// A model may come later, or never in a bot that only runs commands: like the agent, this does not wait for it.
		Optional: []string{llm.Service.Name(), agent.Service.Name(), archive.Service.Name()},
	},
	OnByDefault: true,
}, Default(), apply)

func apply(k *kernel.Context, cfg Config) error {
	if err := cfg.check(); err != nil {
		return err
	}
	s := newSummarizer(k, cfg)
	kernel.OnReconfigure(k, func(_ context.Context, _, after Config) error {
		if err := after.check(); err != nil {
			return err
		}
		s.cfg.Store(&after)
		return nil
	})
	agent.TurnAfter.Use(k, s.turnAfter)
	agent.Usage.On(k, s.usage)
	memory.Compress.On(k, s.compress)
	memory.Clear.Use(k, s.clear)
	_, err := agent.Prompt.Contribute(k, contribution, agent.Contribution{Anchor: agent.AnchorContext, Build: s.build})
	return err
}
