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
	// MemoryTokenBudget is what the system messages behind the first may take, in tokens.
	MemoryTokenBudget int `json:"memoryTokenBudget" label:"Reserve for long-term memory" min:"0" max:"10000000" desc:"How many tokens are kept for what is injected into the prompt as system messages, such as long-term memory. If they need more when the prompt must be trimmed, they are shortened in proportion; they are removed only as the last resort."`
	// HistoryLimit is the number of stored messages in a prompt.
	HistoryLimit int `json:"historyLimit" label:"History" min:"0" max:"1000" desc:"How many of the latest messages of the conversation the model sees. 0 means none."`
	// MaxToolIterations is how often in one turn the model may ask for tools.
	MaxToolIterations int `json:"maxToolIterations" label:"Tool iterations" min:"0" max:"1000" desc:"How many times in one turn the model may call tools and be asked again with their results. 0 means that its calls are never made."`
	// PromptBuildTimeoutMs bounds each contribution to the prompt, in milliseconds.
	PromptBuildTimeoutMs int `json:"promptBuildTimeoutMs" label:"Prompt build timeout (ms)" min:"0" max:"600000" desc:"How long one contribution to the prompt (agent:prompt) may take to build, in milliseconds. One that takes longer is left out of this turn, and the others go on, so that a search that hangs does not hold up every call of the model. 0 means no limit."`
	// ToolResultMaxRatio bounds the result of one tool, as a share of the context window.
	ToolResultMaxRatio float64 `json:"toolResultMaxRatio" label:"Largest tool result" min:"0.001" max:"1" desc:"The largest share of the context window (0 to 1) that the result of one tool call may take; a longer one is cut. 0.15 is 15 %."`
	// TrimThresholdRatio is the share of the context window that a prompt may fill before it is trimmed.
	TrimThresholdRatio float64 `json:"trimThresholdRatio" label:"Trim threshold" min:"0.01" max:"1" desc:"A prompt is trimmed for one call, never in the store, when its estimated tokens exceed the context window times this ratio, less the reply's reserve and 512; at least 1024 are always left. 1 uses the whole window; less trims earlier. When old messages are summarised is a setting of @aalis/plugin-memory-summary."`
}

// ModelRef names a model by the plugin instance that provides it and by its id there. Both are given, or neither.
type ModelRef struct {
	// Plugin is the id of the plugin instance.
	Plugin string `json:"plugin"`
	// ID of the model at its provider.
	ID string `json:"id"`
}

// Default is the config of a bot that sets nothing.
func Default() Config {
	return Config{
		MemoryTokenBudget: 4096, HistoryLimit: 50, MaxToolIterations: 30, PromptBuildTimeoutMs: 10000,
		ToolResultMaxRatio: 0.15, TrimThresholdRatio: 1,
	}
}

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

// The numbers of the budget of a prompt, in tokens.
const (
	assumedMaxTokens = 4096 // of a reply, for models that do not say
	safetyMargin     = 512
	smallestBudget   = 1024
)

// window is what a model has room for, in tokens.
type window struct{ context, maxTokens, budget int }

// windowOf shares out the context window of a model.
func (c Config) windowOf(info llm.Info) window {
	w := window{context: max(info.ContextLength, 0), maxTokens: info.MaxOutputTokens}
	if w.maxTokens <= 0 {
		w.maxTokens = assumedMaxTokens
	}
	w.budget = max(smallestBudget, int(float64(w.context)*c.TrimThresholdRatio)-w.maxTokens-safetyMargin)
	return w
}

// unitsPerToken converts tokens to the UTF-16 code units of plain text.
const unitsPerToken = 3.5

// toolResultUnits is how long the result of a tool may be. A model that does not tell its window has the smallest.
func (c Config) toolResultUnits(w window) int {
	size := w.context
	if size == 0 {
		size = w.budget
	}
	return int(float64(size) * c.ToolResultMaxRatio * unitsPerToken)
}

func (c Config) buildTimeout() time.Duration {
	return time.Duration(c.PromptBuildTimeoutMs) * time.Millisecond
}
