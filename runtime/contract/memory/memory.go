// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package memory is the contract of the memory backend: the conversations and the small named state of a bot. Every
// plugin that remembers something calls it by the service memory; it holds no storage of its own.
package memory

import (
	"context"
	"encoding/json"

	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
)

// Service is the key of the service memory.
var Service = kernel.NewService[Backend]("memory")

// The limits of the queries.
const (
	// DefaultHistoryLimit is the number of messages History gives for a limit of 0.
	DefaultHistoryLimit = 50
	// DefaultFullHistoryLimit is the number of messages FullHistory gives for a limit of 0.
	DefaultFullHistoryLimit = 200
	// RangeLimit is the most that MessagesInRange gives.
	RangeLimit = 500
	// CrossSessionMaxLimit is the most that RecentAcrossSessions gives.
	CrossSessionMaxLimit = 1000
	// UpdateWindow is the number of the newest messages that UpdateMessageContent looks at.
	UpdateWindow = 100
	// MaxDataBytes bounds one value of metadata.
	MaxDataBytes = 1 << 20
)

// Backend keeps messages by session and metadata by namespace and key. What it returns are copies: callers may
// change them. Its methods may be called concurrently. A change whose method returned nil is kept; one whose method
// returned an error was not made, or (when the connection to the store broke) may have been made whole, never half.
//
// The messages of a session are in the order of saving, whatever their timestamps say.
type Backend interface {
	Messages
	Metadata
	// ClearAll removes all messages and the metadata of every namespace but the state namespaces.
	ClearAll(ctx context.Context) error
}

// Messages is the part of a Backend that keeps conversations.
type Messages interface {
	// SaveMessage appends a message to a session. A timestamp of 0 becomes the present time.
	SaveMessage(ctx context.Context, sessionID string, m message.Message) error
	// SaveMessages appends messages to a session: all of them, next to each other, or none.
	SaveMessages(ctx context.Context, sessionID string, ms []message.Message) error
	// History gives the newest messages of a session that are not archived, oldest first; a limit of 0 or less means
	// DefaultHistoryLimit.
	History(ctx context.Context, sessionID string, limit int) ([]message.Message, error)
	// FullHistory is History with the archived ones; a limit of 0 or less means DefaultFullHistoryLimit.
	FullHistory(ctx context.Context, sessionID string, limit int) ([]message.Message, error)
	// MessagesInRange gives the oldest RangeLimit messages of a session in a range of time, archived ones included,
	// oldest first.
	MessagesInRange(ctx context.Context, sessionID string, r Range) ([]message.Message, error)
	// RecentAcrossSessions gives the newest messages of all sessions that are not archived, oldest first by timestamp.
	RecentAcrossSessions(ctx context.Context, q Query) ([]SessionMessage, error)
	// TrimHistory archives all but the newest keepRecent messages that are not archived, and gives how many it
	// archived. What a call of it archives does not depend on messages saved meanwhile being seen half.
	TrimHistory(ctx context.Context, sessionID string, keepRecent int) (archived int, err error)
	// ArchiveOldest archives the oldest n messages that are not archived, and gives how many it archived. Unlike
	// TrimHistory it never touches messages that were saved after the caller counted.
	ArchiveOldest(ctx context.Context, sessionID string, n int) (archived int, err error)
	// UpdateMessageContent replaces every occurrence of old in the contents of the newest UpdateWindow messages of a
	// session, archived ones included, and gives the number of messages changed. An empty old changes nothing.
	UpdateMessageContent(ctx context.Context, sessionID, old, replacement string) (changed int, err error)
	// DeleteByTimestamps removes the messages of a session that have one of the timestamps, archived ones included,
	// and gives their number.
	DeleteByTimestamps(ctx context.Context, sessionID string, timestamps []int64) (deleted int, err error)
	// ClearSession removes all messages of a session, archived ones included.
	ClearSession(ctx context.Context, sessionID string) error
}

// Metadata is the part of a Backend that keeps named values.
type Metadata interface {
	// Metadata reads one value; ok is false if there is none.
	Metadata(ctx context.Context, namespace, key string) (value json.RawMessage, ok bool, err error)
	// ListMetadata reads a namespace, sorted by key.
	ListMetadata(ctx context.Context, namespace string) ([]Entry, error)
	// CommitMetadata writes a batch: all of it or nothing, and no reader sees half of it. Of two writes to one place
	// the later one in the batch wins.
	CommitMetadata(ctx context.Context, ops []Op) error
}

// Range selects messages of a session by time, both ends included, in milliseconds since the epoch.
type Range struct {
	From, To int64
	// Roles to give; none means all.
	Roles []message.Role
	// ExcludeKinds are left out. A message with no kind is never left out.
	ExcludeKinds []string
}

// Query selects messages across sessions.
type Query struct {
	// Limit is clamped to 1..CrossSessionMaxLimit.
	Limit int
	// Roles to give; none means user and assistant.
	Roles []message.Role
	// Kinds to give; none means all, those with no kind included.
	Kinds []string
	// ExcludeKinds are left out. A message with no kind is never left out.
	ExcludeKinds []string
	// ExcludeSessions are left out.
	ExcludeSessions []string
	// Since is the oldest timestamp to give, in milliseconds; 0 means any.
	Since int64
	// Platform that the metadata of a message must name; "" means any.
	Platform string
}

// SessionMessage is a message and where it was said.
type SessionMessage struct {
	SessionID string
	Message   message.Message
}

// Entry is one value of a namespace.
type Entry struct {
	Key  string
	Data json.RawMessage
	// UpdatedAt in milliseconds since the epoch. It grows with each write of the value.
	UpdatedAt int64
}

// Op writes or, with nil Data, deletes one value. Deleting what is not there is no error.
type Op struct {
	Namespace string
	Key       string
	// Data is JSON of at most MaxDataBytes.
	Data json.RawMessage
}

// Put is the Op that writes a value.
func Put(namespace, key string, value any) (Op, error) {
	data, err := json.Marshal(value)
	return Op{Namespace: namespace, Key: key, Data: data}, err
}
