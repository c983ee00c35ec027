// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package llmollama is the plugin @aalis/plugin-llm-ollama: models that an Ollama server runs.
//
// Each model is an entry of the service llm, "<instance id>/<model id>": those that the config lists (customModels) and
// those that the server has, which come and go as package llmhttp says. What a model can do is asked of the server. Whoever
// needs a model should use llm as an optional service.
//
// Replies come over Ollama's own API, as JSON by lines. Reasoning is taken both from its field and from think tags in the
// text. Pictures are sent as base64; those with an http address are fetched from public addresses only, since chat users
// choose them. A conversation with sounds goes to the server's OpenAI-compatible API instead, in one piece and without
// tools, because the own API takes none.
//
// The host's plugin list refers to Plugin; nothing else here is for others. The package never calls a tool, keeps no
// conversation, reads no file and no environment.
package llmollama

import (
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
	"github.com/aalis-dev/aalis-operator/runtime/llmhttp"
	"github.com/aalis-dev/aalis-operator/runtime/netguard"
)

// ModuleName is the full name of the module.
const ModuleName = "@aalis/plugin-llm-ollama"

// Plugin is the module.
var Plugin = kernel.Define(kernel.Module{
	Name:        ModuleName,
	DisplayName: "Ollama models",
	Summary:     "Chat models that an Ollama server runs.",
	Stability:   kernel.Beta,
	Permissions: []kernel.Permission{kernel.Network},
	// Its models are entries of the service llm that come and go.
	MayProvide: []string{"llm"},
	Reusable:   true,
}, Default(), apply)

func apply(k *kernel.Context, cfg Config) error {
	return applyWith(k, cfg, llmhttp.RealTools(), nil)
}

// applyWith starts the plugin. Which addresses of pictures may be reached is up to the policy; nil is that of the bot.
func applyWith(k *kernel.Context, cfg Config, t llmhttp.Tools, policy func() netguard.Policy) error {
	return llmhttp.Run(k, cfg, Config.server, Config.settings, &backend{now: k.Now, media: newFetcher(k, policy)}, t)
}
