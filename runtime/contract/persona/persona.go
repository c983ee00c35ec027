// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package persona is the contract between the plugin that knows who the bot is and those that speak for it.
package persona

import (
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
)

// Service is the key of the service persona.
var Service = kernel.NewService[Provider]("persona")

// Setting is the top-level config key that carries the persona card of the bot.
var Setting = kernel.NewSetting[Card]("persona")

// Card is a persona card. Its JSON form is that of the kernel config.
type Card struct {
	// Source names where the card came from: a Persona object or a file.
	Source string `json:"source"`
	// Name the bot goes by.
	Name string `json:"name"`
	// Description of the character.
	Description string `json:"description,omitempty"`
	// Traits of the character.
	Traits []string `json:"traits,omitempty"`
	// Prompt that defines the character.
	Prompt string `json:"prompt"`
}

// Provider gives the texts of the persona in effect. Its methods may be called concurrently.
type Provider interface {
	// Card is the card in effect.
	Card() Card
	// SystemPrompt is the text that opens every prompt. It changes only with the card, so that providers can
	// cache what follows it.
	SystemPrompt() string
	// VolatilePrompt is what changes from turn to turn, such as the time. It stands after the history. It is
	// empty when there is nothing to say.
	VolatilePrompt(view View) string
}

// View is what the volatile prompt may tell of the turn.
type View struct {
	SessionID   string
	Platform    string
	SessionType string
	UserID      string
	Nickname    string
	GroupID     string
	GroupName   string
}
