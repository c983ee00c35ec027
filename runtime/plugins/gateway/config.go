// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

// Config of the plugin. All of it takes effect at once, without a bounce.
type Config struct {
	// MaxConcurrent is the number of messages being processed at a time, over all sessions of the bot.
	MaxConcurrent int `json:"maxConcurrent" label:"Messages at a time" min:"1" max:"100000" desc:"How many messages the bot processes at the same time, over all sessions. A message beyond that is refused, and its sender is told so."`
}

// Default is the config of a bot that sets nothing.
func Default() Config { return Config{MaxConcurrent: 1024} }
