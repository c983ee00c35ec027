// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package memoryhistory

// The values of Config.Scope.
const (
	scopeSame  = "same-platform"
	scopeCross = "cross-platform"
	scopeOff   = "off" // of older configs: nothing is injected
)

// Config of the plugin. All of it takes effect at once; only switching the tool restarts the plugin.
type Config struct {
	// InjectEnabled adds recent messages to the prompt.
	InjectEnabled bool `json:"injectEnabled" label:"In the prompt" desc:"Show the model recent messages of other sessions in each turn."`
	// Scope says from where.
	Scope string `json:"scope" enum:"same-platform|cross-platform|off" label:"Scope" desc:"From where messages are shown. off, of older configs, shows none in the prompt."`
	// Limit is the number of messages.
	Limit int `json:"limit" min:"1" max:"500" label:"Messages" desc:"How many messages are shown at most."`
	// MaxAgeMinutes is how old they may be.
	MaxAgeMinutes int `json:"maxAgeMinutes" min:"0" max:"525600" label:"Age" desc:"How old messages may be, in minutes. 0 means any age."`
	// PerSessionLimit is the number of messages of one session.
	PerSessionLimit int `json:"perSessionLimit" min:"0" max:"500" label:"Messages per session" desc:"How many messages of one session are shown at most when there are more than fit. 0 turns that off."`
	// ExcludeCurrentSession leaves out the session itself, whose history the model has already.
	ExcludeCurrentSession bool `json:"excludeCurrentSession" label:"Leave out this session" desc:"Leave out messages of the session itself, which the model has anyway."`
	// HeaderText stands before the messages.
	HeaderText string `json:"headerText" type:"textarea" maxLength:"2000" label:"Header" desc:"What stands before the messages in the prompt. Empty means the built-in text."`
	// ToolEnabled offers the tool.
	ToolEnabled bool `json:"toolEnabled" label:"Tool" desc:"Offer the tool recent_messages to models."`
}

// Default is the config of a bot that sets nothing.
func Default() Config {
	return Config{
		InjectEnabled: true, Scope: scopeSame, Limit: 30, MaxAgeMinutes: 180, PerSessionLimit: 5,
		ExcludeCurrentSession: true, ToolEnabled: true,
	}
}
