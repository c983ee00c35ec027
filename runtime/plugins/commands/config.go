// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package commands

// Config of the plugin. All of it takes effect at once, without a bounce.
type Config struct {
	// CommandPrefix begins every command; empty takes every message whose first word is a command.
	CommandPrefix string `json:"commandPrefix" label:"Prefix" maxLength:"16" pattern:"^\\S*$" desc:"What a command begins with. Empty takes every message whose first word is the name of a command."`
}

// Default is the config of a bot that sets nothing.
func Default() Config { return Config{CommandPrefix: "/"} }
