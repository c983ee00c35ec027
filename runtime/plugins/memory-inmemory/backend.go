// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package memoryinmemory

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/aalis-dev/aalis-operator/runtime/contract/memory"
	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
)

var errNoSession = errors.New("sessionId must not be empty")

// backend implements memory.Backend.
type backend struct {
	k        *kernel.Context
	messages *messages
	metadata *metadata
}

func newBackend(k *kernel.Context, cfg Config) *backend {
	return &backend{k: k, messages: newMessages(cfg, k.Logger()), metadata: newMetadata()}
}

// SaveMessage implements memory.Backend. A message with no timestamp gets the present one.
func (b *backend) SaveMessage(_ context.Context, sessionID string, m message.Message) error {
	if sessionID == "" {
		return errNoSession
	}
	m = clone(m)
	if m.Timestamp == 0 {
		m.Timestamp = b.k.Now().UnixMilli()
	}
	b.messages.add(sessionID, &m)
	return nil
}

// History implements memory.Backend.
func (b *backend) History(_ context.Context, sessionID string, limit int) ([]message.Message, error) {
	if limit <= 0 {
		limit = memory.DefaultHistoryLimit
	}
	stored := b.messages.newest(sessionID, limit)
	out := make([]message.Message, len(stored))
	for i, m := range stored {
		out[i] = clone(*m)
	}
	return out, nil
}

// ClearSession implements memory.Backend.
func (b *backend) ClearSession(_ context.Context, sessionID string) error {
	b.messages.clear(sessionID)
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

var _ memory.Backend = (*backend)(nil)
