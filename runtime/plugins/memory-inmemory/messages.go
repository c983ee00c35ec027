// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package memoryinmemory

import (
	"container/list"
	"log/slog"
	"slices"
	"sync"

	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
)

// messages keeps the conversations. Stored messages are never modified, so that readers copy them without the lock.
type messages struct {
	log *slog.Logger

	mu       sync.Mutex
	limits   Config
	sessions map[string]*list.Element // of *session
	recent   *list.List               // most recently used first
	seq      uint64
}

// session is one conversation, in the order in which its messages were saved. The first archived ones are archived.
type session struct {
	id       string
	messages []*entry
	archived int
}

// entry is a stored message; seq tells what was saved first across sessions.
type entry struct {
	message.Message
	session string
	seq     uint64
}

func newMessages(limits Config, log *slog.Logger) *messages {
	return &messages{log: log, limits: limits, sessions: map[string]*list.Element{}, recent: list.New()}
}

func (s *messages) add(id string, ms ...message.Message) {
	s.mu.Lock()
	e, ok := s.sessions[id]
	if ok {
		s.recent.MoveToFront(e)
	} else {
		e = s.recent.PushFront(&session{id: id})
		s.sessions[id] = e
	}
	conv := e.Value.(*session)
	for _, m := range ms {
		s.seq++
		conv.messages = append(conv.messages, &entry{Message: m, session: id, seq: s.seq})
	}
	conv.trim(s.limits.MaxMessagesPerSession)
	dropped := s.evict()
	s.mu.Unlock()
	s.report(dropped)
}

// newest gives the last messages of a session, oldest first. The result is the caller's, what it points to is not.
func (s *messages) newest(id string, limit int, archived bool) []*entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	conv := s.used(id)
	if conv == nil {
		return nil
	}
	all := conv.messages
	if !archived {
		all = all[conv.archived:]
	}
	return slices.Clone(all[max(0, len(all)-limit):])
}

// used finds a session and notes that it was used. The lock is held.
func (s *messages) used(id string) *session {
	e, ok := s.sessions[id]
	if !ok {
		return nil
	}
	s.recent.MoveToFront(e)
	return e.Value.(*session)
}

func (s *messages) clear(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop(id)
}

// drop removes a session. The lock is held.
func (s *messages) drop(id string) {
	if e, ok := s.sessions[id]; ok {
		s.recent.Remove(e)
		delete(s.sessions, id)
	}
}

func (s *messages) clearAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.sessions)
	s.recent.Init()
}

// setLimits takes over new limits and drops what is beyond them.
func (s *messages) setLimits(limits Config) {
	s.mu.Lock()
	s.limits = limits
	for e := s.recent.Front(); e != nil; e = e.Next() {
		e.Value.(*session).trim(limits.MaxMessagesPerSession)
	}
	dropped := s.evict()
	s.mu.Unlock()
	s.report(dropped)
}

// trim drops the oldest messages beyond a limit.
func (c *session) trim(limit int) {
	if n := len(c.messages) - limit; n > 0 {
		clear(c.messages[:n])
		c.messages = c.messages[n:]
		c.archived = max(0, c.archived-n)
	}
}

// evict drops the sessions beyond the limit and gives their ids. The lock is held.
func (s *messages) evict() (dropped []string) {
	for len(s.sessions) > s.limits.MaxSessions {
		oldest := s.recent.Back()
		id := s.recent.Remove(oldest).(*session).id
		delete(s.sessions, id)
		dropped = append(dropped, id)
	}
	return dropped
}

func (s *messages) report(dropped []string) {
	for _, id := range dropped {
		s.log.Info("Dropped least recently used Session because there are too many", "sessionId", id)
	}
}
