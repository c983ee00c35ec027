// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package messagearchive

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"

	"github.com/aalis-dev/aalis-operator/runtime/contract/archive"
	"github.com/aalis-dev/aalis-operator/runtime/contract/memory"
	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
	"github.com/aalis-dev/aalis-operator/runtime/i18n"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
)

// maxTelling bounds the emissions of inbound:message:archived that are under way at a time. Beyond it, archiving waits.
const maxTelling = 256

var errNoMemory = errors.New("no memory backend is registered")

// store implements archive.Archive.
type store struct {
	k       *kernel.Context
	queues  *queues
	telling chan struct{}
	debug   atomic.Bool
}

func newStore(k *kernel.Context, cfg Config) *store {
	s := &store{k: k, queues: newQueues(), telling: make(chan struct{}, maxTelling)}
	s.debug.Store(cfg.DebugLogs)
	return s
}

// SaveMessage implements archive.Archive.
func (s *store) SaveMessage(ctx context.Context, sessionID string, m message.Message) error {
	return s.SaveMessages(ctx, sessionID, []message.Message{m})
}

// SaveMessages implements archive.Archive.
func (s *store) SaveMessages(ctx context.Context, sessionID string, ms []message.Message) error {
	if len(ms) == 0 {
		return nil
	}
	if err := s.save(ctx, sessionID, func() []message.Message { return ms }); err != nil {
		return fmt.Errorf("saving messages of session %q: %w", sessionID, err)
	}
	return nil
}

// ArchiveIncoming implements archive.Archive.
func (s *store) ArchiveIncoming(ctx context.Context, m message.Incoming) (message.Message, error) {
	m = clone(m)
	var stored message.Message
	err := s.save(ctx, m.SessionID, func() []message.Message {
		stored = archived(m, s.k.Now().UnixMilli())
		return []message.Message{stored}
	})
	if err != nil {
		return message.Message{}, fmt.Errorf("archiving a message of session %q: %w", m.SessionID, err)
	}
	s.tell(ctx, message.Archived{SessionID: m.SessionID, Incoming: m, Message: stored})
	return stored, nil
}

// save stores what give returns when it is this call's turn; so timestamps follow the order of storing.
func (s *store) save(ctx context.Context, sessionID string, give func() []message.Message) error {
	if err := s.queues.enter(ctx, sessionID); err != nil {
		return err
	}
	defer s.queues.leave(sessionID)
	backend, ok := memory.Service.Get(s.k)
	if !ok {
		return errNoMemory
	}
	ms := give()
	if err := backend.SaveMessages(ctx, sessionID, ms); err != nil {
		return err
	}
	if s.debug.Load() && s.k.Logger().Enabled(ctx, slog.LevelDebug) {
		for _, m := range ms {
			s.k.Logger().Debug("Stored Message", "sessionId", sessionID, "role", m.Role, "kind", m.Kind,
				"units", i18n.Units(m.Content))
		}
	}
	return nil
}

// tell emits inbound:message:archived without waiting for its listeners.
func (s *store) tell(ctx context.Context, a message.Archived) {
	select {
	case s.telling <- struct{}{}:
	case <-ctx.Done():
		s.k.Logger().Warn("Dropped the event of an archived Message because its listeners are slow", "sessionId", a.SessionID)
		return
	}
	s.k.Go("tell-archived", func(ctx context.Context) {
		defer func() { <-s.telling }()
		message.InboundArchived.Emit(ctx, s.k, a)
	})
}

// clone copies a message so that its listeners and its sender cannot change it for each other.
func clone(m message.Incoming) message.Incoming {
	m.Attachments = slices.Clone(m.Attachments)
	if m.ReplyTo != nil {
		quote := *m.ReplyTo
		m.ReplyTo = &quote
	}
	if m.Actor != nil {
		actor := *m.Actor
		m.Actor = &actor
	}
	return m
}

var _ archive.Archive = (*store)(nil)
