// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package memoryinmemory

import (
	"context"
	"encoding/json"

	"github.com/aalis-dev/aalis-operator/runtime/contract/memory"
	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
	"github.com/aalis-dev/aalis-operator/runtime/store"
)

// backend implements memory.Backend.
type backend struct {
	k        *kernel.Context
	messages *messages
	metadata *metadata
}

func newBackend(k *kernel.Context, cfg Config) *backend {
	return &backend{k: k, messages: newMessages(cfg, k.Logger()), metadata: newMetadata()}
}

// SaveMessage implements memory.Backend.
func (b *backend) SaveMessage(ctx context.Context, sessionID string, m message.Message) error {
	return b.SaveMessages(ctx, sessionID, []message.Message{m})
}

// SaveMessages implements memory.Backend.
func (b *backend) SaveMessages(_ context.Context, sessionID string, ms []message.Message) error {
	ms, err := store.Prepare(sessionID, ms, b.k.Now().UnixMilli())
	if err != nil || len(ms) == 0 {
		return err
	}
	b.messages.add(sessionID, ms...)
	return nil
}

// History implements memory.Backend.
func (b *backend) History(_ context.Context, sessionID string, limit int) ([]message.Message, error) {
	return copies(b.messages.newest(sessionID, store.Limit(limit, memory.DefaultHistoryLimit), false)), nil
}

// FullHistory implements memory.Backend.
func (b *backend) FullHistory(_ context.Context, sessionID string, limit int) ([]message.Message, error) {
	return copies(b.messages.newest(sessionID, store.Limit(limit, memory.DefaultFullHistoryLimit), true)), nil
}

// MessagesInRange implements memory.Backend.
func (b *backend) MessagesInRange(_ context.Context, sessionID string, r memory.Range) ([]message.Message, error) {
	return copies(b.messages.inRange(sessionID, r)), nil
}

// RecentAcrossSessions implements memory.Backend.
func (b *backend) RecentAcrossSessions(_ context.Context, q memory.Query) ([]memory.SessionMessage, error) {
	found := b.messages.recentAcross(store.Normalize(q))
	out := make([]memory.SessionMessage, len(found))
	for i, f := range found {
		out[i] = memory.SessionMessage{SessionID: f.session, Message: store.Clone(f.Message)}
	}
	return out, nil
}

// TrimHistory implements memory.Backend.
func (b *backend) TrimHistory(_ context.Context, sessionID string, keepRecent int) (int, error) {
	return b.messages.archive(sessionID, func(live int) int { return live - max(keepRecent, 0) }), nil
}

// ArchiveOldest implements memory.Backend.
func (b *backend) ArchiveOldest(_ context.Context, sessionID string, n int) (int, error) {
	return b.messages.archive(sessionID, func(int) int { return n }), nil
}

// UpdateMessageContent implements memory.Backend.
func (b *backend) UpdateMessageContent(_ context.Context, sessionID, old, replacement string) (int, error) {
	return b.messages.replace(sessionID, old, replacement), nil
}

// DeleteByTimestamps implements memory.Backend.
func (b *backend) DeleteByTimestamps(_ context.Context, sessionID string, timestamps []int64) (int, error) {
	return b.messages.remove(sessionID, timestamps), nil
}

// ClearSession implements memory.Backend.
func (b *backend) ClearSession(_ context.Context, sessionID string) error {
	b.messages.clear(sessionID)
	return nil
}

// ClearAll implements memory.Backend.
func (b *backend) ClearAll(context.Context) error {
	b.messages.clearAll()
	b.metadata.clear()
	return nil
}

// Metadata implements memory.Backend.
func (b *backend) Metadata(_ context.Context, namespace, key string) (json.RawMessage, bool, error) {
	v, ok := b.metadata.get(namespace, key)
	return v, ok, nil
}

// ListMetadata implements memory.Backend.
func (b *backend) ListMetadata(_ context.Context, namespace string) ([]memory.Entry, error) {
	return b.metadata.list(namespace), nil
}

// CommitMetadata implements memory.Backend.
func (b *backend) CommitMetadata(_ context.Context, ops []memory.Op) error {
	return b.metadata.commit(ops, b.k.Now().UnixMilli())
}

func copies(stored []*entry) []message.Message {
	out := make([]message.Message, len(stored))
	for i, m := range stored {
		out[i] = store.Clone(m.Message)
	}
	return out
}

var _ memory.Backend = (*backend)(nil)
