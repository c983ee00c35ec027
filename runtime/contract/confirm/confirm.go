// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package confirm is the contract of the plugin that asks people in a conversation to confirm an operation.
package confirm

import (
	"context"

	"github.com/aalis-dev/aalis-operator/runtime/contract/access"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
)

// Service is the key of the service session-confirm.
var Service = kernel.NewService[Coordinator]("session-confirm")

// Deliver shows a text to the people of the session in which an operation was asked for.
type Deliver func(ctx context.Context, r access.Request, text string) error

// Coordinator makes channels by which a platform asks for confirmations.
type Coordinator interface {
	// CreateChannel makes a channel that asks by deliver.
	CreateChannel(deliver Deliver) Channel
}

// Channel asks for confirmations, one at a time in each session, in the order in which they came.
type Channel interface {
	// Handle asks and waits. It is an access.ConfirmHandler.
	Handle(ctx context.Context, r access.ConfirmRequest) (access.ConfirmAnswer, error)
	// Feed takes a message as the answer to what is being asked in a session, and tells whether it was one: there is a
	// question and it was put to this very person. A message that was taken must go nowhere else.
	Feed(sessionID, platform, userID, text string) (taken bool)
	// Dispose refuses all that is being asked or waits.
	Dispose()
}
