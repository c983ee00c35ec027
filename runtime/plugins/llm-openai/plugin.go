// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package llmopenai is the plugin @aalis/plugin-llm-openai: chat models of OpenAI and of every server that speaks its
// protocol.
//
// Each model is an entry of the service llm, "<instance id>/<model id>": those that the config lists (customModels) and
// those that the server lists, which come and go as package llmhttp says. Whoever needs a model should use llm as an
// optional service, since a server may be down when the bot starts. For the models of OpenAI itself the plugin says how
// they count tokens, through contract/tokens.
//
// The host's plugin list refers to Plugin; nothing else here is for others. The package never calls a tool, keeps no
// conversation and reads no environment.
package llmopenai

import (
	"github.com/aalis-dev/aalis-operator/runtime/contract/tokens"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
	"github.com/aalis-dev/aalis-operator/runtime/llmhttp"
	"github.com/aalis-dev/aalis-operator/runtime/tokenizer"
)

// ModuleName is the full name of the module.
const ModuleName = "@aalis/plugin-llm-openai"

// Plugin is the module.
var Plugin = kernel.Define(kernel.Module{
	Name:        ModuleName,
	DisplayName: "OpenAI-compatible models",
	Summary:     "Chat models of OpenAI and of every server that speaks its protocol.",
	Stability:   kernel.Beta,
	Permissions: []kernel.Permission{kernel.Network, kernel.Secrets},
	// Its models are entries of the service llm that come and go.
	MayProvide: []string{"llm"},
	Reusable:   true,
}, Default(), apply)

func apply(k *kernel.Context, cfg Config) error { return applyWith(k, cfg, llmhttp.RealTools()) }

func applyWith(k *kernel.Context, cfg Config, t llmhttp.Tools) error {
	err := tokens.Contribute(k, tokenizer.NewPool(k.Go, func(err error) {
		k.Logger().Error("Token table was not read, counts stay estimates", "error", err)
	}))
	if err != nil {
		return err
	}
	return llmhttp.Run(k, cfg, Config.server, Config.settings, &backend{}, t)
}
