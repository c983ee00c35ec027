// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package promptbudget lets the model look at how full its context window is, by the tool prompt_budget_info. It keeps
// the last token:usage of each session, in process and bounded, and answers from that. It never counts anything itself
// and never changes a prompt.
//
// It is off by default, since every request of a bot that has it carries the tool's definition.
package promptbudget

import (
	"context"

	"github.com/aalis-dev/aalis-operator/runtime/bounded"
	"github.com/aalis-dev/aalis-operator/runtime/contract/agent"
	"github.com/aalis-dev/aalis-operator/runtime/contract/tools"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
)

// Plugin is the module.
var Plugin = kernel.Define(kernel.Module{
	Name:        "@aalis/plugin-prompt-budget",
	DisplayName: "Prompt budget",
	Summary:     "A tool by which the model sees how full its context window is.",
	Stability:   kernel.Beta,
	Inject:      kernel.Inject{Optional: []string{tools.Service.Name()}},
}, Default(), apply)

func apply(k *kernel.Context, _ Config) error {
	b := &book{now: k.Now, last: bounded.New[string, observation](maxSessions, maxAge, k.Now)}
	agent.Usage.On(k, func(_ context.Context, u agent.TokenUsage) error {
		b.note(u)
		return nil
	})
	tools.Use(k, []tools.Tool{b.tool()})
	return nil
}
