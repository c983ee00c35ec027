// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package archive is the contract of the message archive: what is said goes through it into memory.
package archive

import (
	"context"

	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
)

// Service is the key of the service message-archive.
var Service = kernel.NewService[Archive]("message-archive")

// Archive stores messages, in order per session.
type Archive interface {
	// SaveMessage stores a message as it is.
	SaveMessage(ctx context.Context, sessionID string, m message.Message) error
	// ArchiveIncoming stores an incoming message in the form in which history shows it, tells
	// inbound:message:archived, and returns what it stored.
	ArchiveIncoming(ctx context.Context, m message.Incoming) (message.Message, error)
}
