// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package trigger is the contract of what decides which messages the bot answers.
package trigger

import (
	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
)

// Service is the key of the service trigger-policy.
var Service = kernel.NewService[Policy]("trigger-policy")

// Decision is what becomes of a message. Those that answer it are the trigger types of messages.
type Decision string

// The values of Decision.
const (
	// Direct answers it: nothing decides where it was said.
	Direct = Decision(message.TriggerDirect)
	// Immediate answers it: it addresses the bot.
	Immediate = Decision(message.TriggerImmediate)
	// Interval answers it: it is time to say something.
	Interval = Decision(message.TriggerInterval)
	// Swallow does not answer it.
	Swallow Decision = "swallow"
)

// Policy decides. Its methods may be called concurrently and change nothing.
type Policy interface {
	// Decide tells what becomes of a message that flow control has counted.
	Decide(m message.Incoming) Decision
	// BotNames are the names that the bot answers to.
	BotNames() []string
	// MuteKeyword finds the word in a message that mutes the bot.
	MuteKeyword(m message.Incoming) (word string, ok bool)
}
