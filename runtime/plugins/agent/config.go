// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"errors"
	"time"

	"github.com/aalis-dev/aalis-operator/runtime/contract/llm"
)

// Config of the plugin. All of it takes effect with the next turn, without a bounce.
type Config struct {
	// DefaultLLM is the chat model that answers when the bot's declaration names none. While it is not registered, the
	// best of the others answers.
	DefaultLLM ModelRef `json:"defaultLLM" type:"llm-ref" label:"Default model" desc:"The chat model that answers when the bot itself names none. It is also put first among the providers of the service llm, for every plugin that uses it. While it is missing, the next one in order answers."`
	// SystemPrompt is added behind the persona.
	SystemPrompt string `json:"systemPrompt" type:"textarea" label:"Rules of behaviour" desc:"How the agent must behave. Who it is comes from the persona; this text follows it as instructions, or stands alone when there is no persona."`
	// HistoryLimit is the number of stored messages in a prompt.
	HistoryLimit int `json:"historyLimit" label:"History" min:"0" max:"1000" desc:"How many of the latest messages of the conversation the model sees. 0 means none."`
	// PromptBuildTimeoutMs bounds each contribution to the prompt, in milliseconds.
	PromptBuildTimeoutMs int `json:"promptBuildTimeoutMs" label:"Prompt build timeout (ms)" min:"0" max:"600000" desc:"How long one contribution to the prompt (agent:prompt) may take to build, in milliseconds. One that takes longer is left out of this turn, and the others go on, so that a search that hangs does not hold up every call of the model. 0 means no limit."`
}

// ModelRef names a model by the plugin instance that provides it and by its id there. Both are given, or neither.
type ModelRef struct {
	// Plugin is the id of the plugin instance.
	Plugin string `json:"plugin"`
	// ID of the model at its provider.
	ID string `json:"id"`
}

// Default is the config of a bot that sets nothing.
func Default() Config { return Config{HistoryLimit: 50, PromptBuildTimeoutMs: 10000} }

// check reports what the schema cannot tell.
func (c Config) check() error {
	switch r := c.DefaultLLM; {
	case r.Plugin == "" && r.ID != "":
		return errors.New("config.defaultLLM.plugin: must be set, because config.defaultLLM.id is")
	case r.Plugin != "" && r.ID == "":
		return errors.New("config.defaultLLM.id: must be set, because config.defaultLLM.plugin is")
	default:
		return nil
	}
}

func (c Config) defaultModel() llm.Ref {
	return llm.Ref{Provider: c.DefaultLLM.Plugin, ID: c.DefaultLLM.ID}
}

func (c Config) buildTimeout() time.Duration {
	return time.Duration(c.PromptBuildTimeoutMs) * time.Millisecond
}
