// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package memorytest is the conformance suite of memory backends: each backend's tests run it, so that a bot behaves the
// same on all of them. It is linked into tests only.
package memorytest

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/aalis-dev/aalis-operator/runtime/contract/memory"
	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
)

// Open makes the empty backends of two bots that share whatever store the backend keeps them in. What it makes ends
// with the test.
type Open func(t *testing.T) (one, other memory.Backend)

// Run checks everything that the contract says.
func Run(t *testing.T, open Open) {
	t.Helper()
	for _, tc := range []struct {
		name string
		run  func(*suite)
	}{
		{"8.8.1 append, tail and default limits", (*suite).history},
		{"8.8.1 timestamp filled in", (*suite).timestamp},
		{"8.8.1 clear one session only", (*suite).clearSession},
		{"8.8.1 trim moves to the archive", (*suite).trim},
		{"8.8.1 range by time and role", (*suite).inRange},
		{"8.8.1 replace content", (*suite).update},
		{"8.8.1 delete by timestamps", (*suite).remove},
		{"8.8.1 copies", (*suite).copies},
		{"8.8.1 metadata", (*suite).metadata},
		{"8.8.1 a bad batch changes nothing", (*suite).badBatch},
		{"8.8.1 no half of a batch is seen", (*suite).atomic},
		{"8.8.1 clear all but state", (*suite).clearAll},
		{"8.8.2 order in one millisecond", (*suite).ties},
		{"groups are saved whole", (*suite).groups},
		{"across sessions", (*suite).across},
		{"across sessions is clamped", (*suite).clamps},
		{"unicode", (*suite).unicode},
		{"bots are apart", (*suite).apart},
		{"concurrent use", (*suite).concurrent},
		{"no session", (*suite).noSession},
	} {
		t.Run(tc.name, func(t *testing.T) {
			one, other := open(t)
			tc.run(&suite{T: t, b: one, other: other})
		})
	}
}

// suite is one test.
type suite struct {
	*testing.T
	b, other memory.Backend
}

func (s *suite) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

func (s *suite) save(session string, ms ...message.Message) {
	s.Helper()
	for _, m := range ms {
		s.must(s.b.SaveMessage(s.Context(), session, m))
	}
}

func user(text string, ts int64) message.Message {
	return message.Message{Role: message.RoleUser, Content: text, Timestamp: ts}
}

func (s *suite) say(session string, texts ...string) {
	s.Helper()
	for i, text := range texts {
		s.save(session, user(text, int64(1000+i)))
	}
}

func contents(ms []message.Message) string {
	out := make([]string, len(ms))
	for i, m := range ms {
		out[i] = m.Content
	}
	return strings.Join(out, " ")
}

func (s *suite) live(session string, limit int) string {
	s.Helper()
	ms, err := s.b.History(s.Context(), session, limit)
	s.must(err)
	return contents(ms)
}

func (s *suite) full(session string, limit int) string {
	s.Helper()
	ms, err := s.b.FullHistory(s.Context(), session, limit)
	s.must(err)
	return contents(ms)
}

func (s *suite) want(what string, got, want any) {
	s.Helper()
	if !reflect.DeepEqual(want, got) {
		s.Errorf("%s: got %v, want %v", what, got, want)
	}
}

func numbers(from, to int) []string {
	out := make([]string, 0, to-from)
	for i := from; i < to; i++ {
		out = append(out, fmt.Sprint(i))
	}
	return out
}

func put(namespace, key, data string) memory.Op {
	return memory.Op{Namespace: namespace, Key: key, Data: json.RawMessage(data)}
}

func (s *suite) commit(ops ...memory.Op) {
	s.Helper()
	s.must(s.b.CommitMetadata(s.Context(), ops))
}

func (s *suite) value(namespace, key string) string {
	s.Helper()
	v, ok, err := s.b.Metadata(s.Context(), namespace, key)
	s.must(err)
	if !ok {
		return ""
	}
	return string(v)
}
