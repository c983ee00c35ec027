// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package memoryinmemory

import (
	"cmp"
	"slices"
	"strings"

	"github.com/aalis-dev/aalis-operator/runtime/contract/memory"
	"github.com/aalis-dev/aalis-operator/runtime/store"
)

// inRange gives what a range selects, the oldest RangeLimit of it.
func (s *messages) inRange(id string, r memory.Range) (out []*entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	conv := s.used(id)
	if conv == nil {
		return nil
	}
	for _, m := range conv.messages {
		if len(out) == memory.RangeLimit {
			break
		}
		if store.InRange(r, &m.Message) {
			out = append(out, m)
		}
	}
	return out
}

// recentAcross gives the newest messages that a normalized query selects, oldest first.
func (s *messages) recentAcross(q memory.Query) (out []*entry) {
	s.mu.Lock()
	for e := s.recent.Front(); e != nil; e = e.Next() {
		conv := e.Value.(*session)
		for _, m := range conv.messages[conv.archived:] {
			if store.Matches(q, conv.id, &m.Message) {
				out = append(out, m)
			}
		}
	}
	s.mu.Unlock()
	slices.SortFunc(out, func(a, b *entry) int {
		return cmp.Or(cmp.Compare(a.Timestamp, b.Timestamp), cmp.Compare(a.seq, b.seq))
	})
	return out[max(0, len(out)-q.Limit):]
}

// archive archives as many of the oldest live messages as count says for the number of live ones.
func (s *messages) archive(id string, count func(live int) int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, ok := s.sessions[id]
	if !ok {
		return 0
	}
	conv := e.Value.(*session)
	live := len(conv.messages) - conv.archived
	n := min(max(count(live), 0), live)
	conv.archived += n
	return n
}

// replace changes contents. Readers may hold the stored messages, so changed ones are new.
func (s *messages) replace(id, old, replacement string) (changed int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	conv := s.used(id)
	if conv == nil || old == "" {
		return 0
	}
	for i := max(0, len(conv.messages)-memory.UpdateWindow); i < len(conv.messages); i++ {
		m := conv.messages[i]
		if !strings.Contains(m.Content, old) {
			continue
		}
		c := *m
		c.Content = strings.ReplaceAll(m.Content, old, replacement)
		conv.messages[i] = &c
		changed++
	}
	return changed
}

// remove deletes the messages that have one of the timestamps.
func (s *messages) remove(id string, timestamps []int64) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	conv := s.used(id)
	if conv == nil {
		return 0
	}
	gone := make(map[int64]bool, len(timestamps))
	for _, ts := range timestamps {
		gone[ts] = true
	}
	kept := make([]*entry, 0, len(conv.messages))
	archived := 0
	for i, m := range conv.messages {
		if gone[m.Timestamp] {
			continue
		}
		if i < conv.archived {
			archived++
		}
		kept = append(kept, m)
	}
	n := len(conv.messages) - len(kept)
	conv.messages, conv.archived = kept, archived
	if len(kept) == 0 {
		s.drop(id)
	}
	return n
}
