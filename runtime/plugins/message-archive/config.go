// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package messagearchive

// Config of the plugin. All of it takes effect at once, without a bounce.
type Config struct {
	// DebugLogs turns on a log line for each stored message.
	DebugLogs bool `json:"debugLogs" label:"Debug logs" desc:"Log each stored message at level debug: its session, role, kind and length, never its text."`
}

// Default is the config of a bot that sets nothing.
func Default() Config { return Config{DebugLogs: true} }
