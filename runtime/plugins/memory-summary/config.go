// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package memorysummary

import "fmt"

// The values of Config.SummaryModelMode.
const (
	modeGlobal = "global"
	modeCustom = "custom"
)

// Config of the plugin. All of it takes effect at once, without a bounce.
type Config struct {
	// Threshold is the number of messages from which a session is summarised.
	Threshold int `json:"threshold" min:"2" max:"10000" label:"Threshold" desc:"From how many messages on a session is summarised after a turn."`
	// KeepRecent is the number of the newest messages that stay as they are.
	KeepRecent int `json:"keepRecent" min:"1" max:"10000" label:"Keep recent" desc:"How many of the newest messages stay as they are. A tool's result is never parted from its call, so it may be a few more."`
	// SummaryTokenRatio is the part of the context window that the summary may take.
	SummaryTokenRatio float64 `json:"summaryTokenRatio" min:"0.001" max:"0.5" label:"Share of the context" desc:"What part of the model's context window the summary may take; 512 tokens at least."`
	// AutoCompressThreshold is the usage of the context window from which a session is summarised.
	AutoCompressThreshold float64 `json:"autoCompressThreshold" min:"0" max:"1" label:"Automatic compression" desc:"From what usage of the context window on a session is summarised at once. 0 turns it off."`
	// SummaryPrompt replaces the built-in instructions.
	SummaryPrompt string `json:"summaryPrompt" type:"textarea" maxLength:"20000" label:"Instructions" desc:"How to summarise, for the model. Empty means the built-in instructions."`
	// SummaryModelMode says which model summarises.
	SummaryModelMode string `json:"summaryModelMode" enum:"global|custom" label:"Model" desc:"Which model summarises. global: the one that the bot answers with. custom: the one chosen below."`
	// SummaryLLM is the model of the mode custom.
	SummaryLLM ModelRef `json:"summaryLLM" type:"llm-ref" label:"Custom model" desc:"The model that summarises, with custom. No other takes its place."`
}

// ModelRef names a chat model.
type ModelRef struct {
	// Plugin is the id of the plugin instance.
	Plugin string `json:"plugin"`
	// ID of the model at its provider.
	ID string `json:"id"`
}

// Default is the config of a bot that sets nothing.
func Default() Config {
	return Config{
		Threshold: 30, KeepRecent: 20, SummaryTokenRatio: 0.05, AutoCompressThreshold: 0.7, SummaryModelMode: modeGlobal,
	}
}

func (c Config) check() error {
	if c.SummaryModelMode == modeCustom && (c.SummaryLLM.Plugin == "" || c.SummaryLLM.ID == "") {
		return fmt.Errorf("config.summaryLLM: must name both plugin and id when summaryModelMode is %q, got plugin %q and id %q",
			modeCustom, c.SummaryLLM.Plugin, c.SummaryLLM.ID)
	}
	return nil
}
