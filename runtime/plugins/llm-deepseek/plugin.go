// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package llmdeepseek is the plugin @aalis/plugin-llm-deepseek: chat models of DeepSeek.
//
// Each model is an entry of the service llm, "<instance id>/<model id>": those that the config lists (customModels) and
// those that the server lists, which come and go as package llmhttp says. Whoever needs a model should use llm as an
// optional service.
//
// Three things set these models apart. They think or do not think by a switch of the request, which is always sent, and
// want their own reasoning back. Their server puts all system messages to the front, so that those from the middle of a
// conversation are sent as the user's. And now and then it fails to read a tool call that the model wrote, which then
// stands in the text as markup: it is taken out and read here.
//
// The host's plugin list refers to Plugin; nothing else here is for others. The package never calls a tool, keeps no
// conversation and reads no environment. Pictures are left out: these models do not see.
package llmdeepseek

import (
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
	"github.com/aalis-dev/aalis-operator/runtime/llmhttp"
)

// ModuleName is the full name of the module.
const ModuleName = "@aalis/plugin-llm-deepseek"

// Plugin is the module.
var Plugin = kernel.Define(kernel.Module{
	Name:        ModuleName,
	DisplayName: "DeepSeek models",
	Summary:     "Chat models of DeepSeek, with thinking.",
	Stability:   kernel.Beta,
	Permissions: []kernel.Permission{kernel.Network, kernel.Secrets},
	// Its models are entries of the service llm that come and go.
	MayProvide: []string{"llm"},
	Reusable:   true,
}, Default(), apply)

func apply(k *kernel.Context, cfg Config) error { return applyWith(k, cfg, llmhttp.RealTools()) }

func applyWith(k *kernel.Context, cfg Config, t llmhttp.Tools) error {
	return llmhttp.Run(k, cfg, Config.server, Config.settings, &backend{now: k.Now}, t)
}
