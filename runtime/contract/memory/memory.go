// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package memory is the contract of the memory backend: the conversations and the small named state of a bot.
package memory

import (
	"context"
	"encoding/json"

	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
)

// Service is the key of the service memory.
var Service = kernel.NewService[Backend]("memory")

// DefaultHistoryLimit is the number of messages History gives for a limit of 0.
const DefaultHistoryLimit = 50

// Backend keeps messages by session and metadata by namespace and key. What it returns are copies: callers may
// change them. Its methods may be called concurrently.
type Backend interface {
	// SaveMessage appends a message to a session.
	SaveMessage(ctx context.Context, sessionID string, m message.Message) error
	// History gives the newest messages of a session that are not archived, oldest first; a limit of 0 means
	// DefaultHistoryLimit.
	History(ctx context.Context, sessionID string, limit int) ([]message.Message, error)
	// ClearSession removes all messages of a session.
	ClearSession(ctx context.Context, sessionID string) error
	// Metadata reads one value; ok is false if there is none.
	Metadata(ctx context.Context, namespace, key string) (value json.RawMessage, ok bool, err error)
	// ListMetadata reads a namespace, sorted by key.
	ListMetadata(ctx context.Context, namespace string) ([]Entry, error)
	// CommitMetadata writes a batch: all of it or nothing.
	CommitMetadata(ctx context.Context, ops []Op) error
}

// Entry is one value of a namespace.
type Entry struct {
	Key  string
	Data json.RawMessage
	// UpdatedAt in milliseconds since the epoch.
	UpdatedAt int64
}

// Op writes or, with nil Data, deletes one value.
type Op struct {
	Namespace string
	Key       string
	Data      json.RawMessage
}
