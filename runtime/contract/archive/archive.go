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

// The bounds of FindByMessageID.
const (
	// DefaultFindLimit is the number of messages looked at for a limit of 0 or less.
	DefaultFindLimit = 100
	// MaxFindLimit is the most that is looked at.
	MaxFindLimit = 500
)

// Archive stores messages, in order per session: what is handed to it first is stored first.
type Archive interface {
	// SaveMessage stores a message as it is.
	SaveMessage(ctx context.Context, sessionID string, m message.Message) error
	// SaveMessages stores messages as they are, next to each other: all or none. An assistant message with its tool
	// results is saved so, that a crash never leaves half of the group.
	SaveMessages(ctx context.Context, sessionID string, ms []message.Message) error
	// ArchiveIncoming stores an incoming message in the form in which history shows it, tells
	// inbound:message:archived, and returns what it stored.
	ArchiveIncoming(ctx context.Context, m message.Incoming) (message.Message, error)
	// ArchiveNotice stores what happened in a session (a poke, a recall) as a notice. A blank text stores nothing
	// and ok is false.
	ArchiveNotice(ctx context.Context, n Notice) (m message.Message, ok bool, err error)
	// FindByMessageID gives the newest message, not archived, that came with a platform's message id; it looks at
	// the newest limit messages.
	FindByMessageID(ctx context.Context, sessionID, messageID string, limit int) (m message.Message, ok bool, err error)
}

// Notice is something that happened in a session.
type Notice struct {
	SessionID string
	// Type is the platform's word for it, such as poke or group_recall; it becomes the kind of the message.
	Type    string
	SubType string
	// Text that history shows.
	Text      string
	Platform  string
	UserID    string
	Nickname  string
	GroupID   string
	GroupName string
	MessageID string
	// Data is merged flat into the metadata; it does not replace what the other fields say.
	Data map[string]any
}
