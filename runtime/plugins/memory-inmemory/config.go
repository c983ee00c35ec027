// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package memoryinmemory

// Config of the plugin. All of it takes effect at once, without a bounce.
type Config struct {
	// MaxMessagesPerSession bounds one conversation.
	MaxMessagesPerSession int `json:"maxMessagesPerSession" label:"Messages per session" min:"1" max:"1000000" desc:"How many messages of one session are kept. When it is full, each new message drops the oldest one."`
	// MaxSessions bounds the number of conversations.
	MaxSessions int `json:"maxSessions" label:"Sessions" min:"1" max:"1000000" desc:"How many sessions are kept. When it is full, a new session drops the one that was not used for the longest time."`
}

// Default is the config of a bot that sets nothing.
func Default() Config { return Config{MaxMessagesPerSession: 10000, MaxSessions: 10000} }
