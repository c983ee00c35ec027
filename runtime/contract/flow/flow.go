// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package flow is the contract of flow control: how lively a conversation is, and whether the bot holds back in it.
package flow

import (
	"context"
	"time"

	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
	"github.com/aalis-dev/aalis-operator/runtime/scope"
)

// Service is the key of the service flow-control.
var Service = kernel.NewService[Control]("flow-control")

// SourceIdle is the source of a message by which the bot begins to talk in a quiet conversation.
const SourceIdle = "idle-trigger"

// Snapshot is how lively a session is at a moment.
type Snapshot struct {
	// MessageCount since the bot was last triggered.
	MessageCount int
	// FixedInterval is the number of messages that triggers the bot by itself.
	FixedInterval int
	// Score grows with each message and is compared with Threshold.
	Score, Threshold float64
}

// Control keeps the flow of every session. Its methods may be called concurrently.
type Control interface {
	// Snapshot tells how lively a session is; ok is false for one of which no message has been counted.
	Snapshot(sessionID string) (s Snapshot, ok bool)
	// RecordTriggered tells that the bot is about to answer in a session, not because it was asked directly.
	RecordTriggered(sessionID string)
	// SetMuted keeps the bot from speaking in a session for a time; 0 or less ends that. The platform may be empty for a
	// session that is known.
	SetMuted(ctx context.Context, sessionID, platform string, d time.Duration)
	// MutedUntil tells until when the bot is muted in a session.
	MutedUntil(sessionID string) (until time.Time, ok bool)
	// RescheduleIdle begins the wait for quiet in a session anew.
	RescheduleIdle(sessionID string)
}

// PlaceOf is where a message was said, as scopes name it.
func PlaceOf(m message.Incoming) scope.Place {
	p := scope.Place{Platform: m.Platform, SessionType: string(m.SessionType)}
	switch m.SessionType {
	case message.SessionGroup:
		p.Target = m.GroupID
	case message.SessionPrivate:
		p.Target = m.UserID
	case message.SessionChannel:
	}
	return p
}
