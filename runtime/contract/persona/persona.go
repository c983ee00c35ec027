// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package persona is the contract between the plugin that knows who the bot is and those that speak for it.
package persona

import (
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
)

// Service is the key of the service persona.
var Service = kernel.NewService[Provider]("persona")

// The top-level config keys that carry persona cards: the one that the bot speaks as, and further ones that a session
// or a platform may choose by their source.
var (
	Setting       = kernel.NewSetting[Card]("persona")
	OthersSetting = kernel.NewSetting[[]Card]("personas")
)

// Options choose the card and how it is spoken as, for one call. The zero value is the bot's own card as it says.
// They come from the config that is in effect for a session.
type Options struct {
	// Persona is the source of the card; empty or unknown is the bot's own card.
	Persona string
	// DisableOutputFormat asks for plain text although the card has an output format.
	DisableOutputFormat bool
	// ClientSideJSONRendering overrides the card's own choice when it is not nil.
	ClientSideJSONRendering *bool
}

// Provider gives the texts of the persona in effect. Its methods may be called concurrently, and what they return are
// copies.
type Provider interface {
	// Names are the sources of all cards that can be chosen, sorted, the bot's own one included.
	Names() []string
	// Card is the card in effect.
	Card(o Options) Card
	// NickNames are the further names that people call the bot by. Card.Name is not among them.
	NickNames(o Options) []string
	// SystemPrompt is the text that opens every prompt. It changes only with the card and the options, so that
	// providers can cache what follows it.
	SystemPrompt(o Options) string
	// VolatilePrompt is what changes from turn to turn, such as the time. It stands after the history. It is
	// empty when there is nothing to say.
	VolatilePrompt(view View, o Options) string
	// OutputFormat is the form that replies must have, or nil when they are plain text: the card has none, or the
	// options turn it off.
	OutputFormat(o Options) *OutputFormat
	// State is what the last structured reply of a session said besides the text; nil if nothing is kept.
	State(sessionID string) map[string]any
	// TellsTime tells whether VolatilePrompt holds the present time, so that others need not add it.
	TellsTime() bool
}

// View is what the volatile prompt may tell of the turn. It is handed over with each call and never kept, so that
// one conversation never learns who speaks in another.
type View struct {
	SessionID   string
	Platform    string
	SessionType string
	UserID      string
	Nickname    string
	GroupID     string
	GroupName   string
	// SenderRole and SenderTitle of the speaker in the group, and SelfRole and SelfTitle of the bot; roles are
	// owner, admin and member.
	SenderRole, SenderTitle string
	SelfRole, SelfTitle     string
	// SelfID and SelfNickname are the bot's own account on the platform.
	SelfID, SelfNickname string
}
