// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package memorytest

import (
	"fmt"
	"strings"
	"sync"

	"github.com/aalis-dev/aalis-operator/runtime/contract/memory"
	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
)

func (s *suite) recent(q memory.Query) string {
	s.Helper()
	found, err := s.b.RecentAcrossSessions(s.Context(), q)
	s.must(err)
	out := make([]string, len(found))
	for i, f := range found {
		out[i] = f.SessionID + ":" + f.Message.Content
	}
	return strings.Join(out, " ")
}

func (s *suite) across() {
	on := func(m message.Message, platform, kind string, role message.Role) message.Message {
		m.Kind = kind
		if role != "" {
			m.Role = role
		}
		if platform != "" {
			m.Metadata = map[string]any{"platform": platform}
		}
		return m
	}
	s.save("a", user("old", 5), on(user("1", 10), "p", "", ""), on(user("4", 40), "q", "", ""))
	s.save("b", on(user("2", 20), "p", "event-marker", message.RoleSystem), on(user("3", 30), "p", "poke", message.RoleNotice),
		on(user("5", 40), "", "", message.RoleAssistant), on(user("6", 60), "p", "x", ""))
	_, err := s.b.ArchiveOldest(s.Context(), "a", 1)
	s.must(err)
	all := []message.Role{message.RoleUser, message.RoleAssistant, message.RoleNotice, message.RoleSystem}
	for _, tc := range []struct {
		q    memory.Query
		want string
	}{
		{memory.Query{Limit: 10}, "a:1 a:4 b:5 b:6"},
		{memory.Query{Limit: 2}, "b:5 b:6"},
		{memory.Query{Limit: 10, Roles: all}, "a:1 b:2 b:3 a:4 b:5 b:6"},
		{memory.Query{Limit: 3, Roles: all}, "a:4 b:5 b:6"},
		{memory.Query{Limit: 10, Roles: all, Kinds: []string{"poke", "x"}}, "b:3 b:6"},
		{memory.Query{Limit: 10, Roles: all, ExcludeKinds: []string{"event-marker", "x"}}, "a:1 b:3 a:4 b:5"},
		{memory.Query{Limit: 10, Since: 40}, "a:4 b:5 b:6"},
		{memory.Query{Limit: 10, Platform: "p"}, "a:1 b:6"},
		{memory.Query{Limit: 1, Platform: "q"}, "a:4"},
		{memory.Query{Limit: 10, ExcludeSessions: []string{"b", "c"}}, "a:1 a:4"},
	} {
		s.want(fmt.Sprintf("%+v", tc.q), s.recent(tc.q), tc.want)
	}
}

func (s *suite) clamps() {
	ms := make([]message.Message, memory.CrossSessionMaxLimit+10)
	for i := range ms {
		ms[i] = user("x", int64(i+1))
	}
	s.must(s.b.SaveMessages(s.Context(), "s", ms))
	for _, tc := range []struct{ limit, want int }{{0, 1}, {-5, 1}, {7, 7}, {1 << 30, memory.CrossSessionMaxLimit}} {
		found, err := s.b.RecentAcrossSessions(s.Context(), memory.Query{Limit: tc.limit})
		s.must(err)
		s.want(fmt.Sprintf("limit %d", tc.limit), len(found), tc.want)
		if n := len(found); n > 0 && found[n-1].Message.Timestamp != int64(len(ms)) {
			s.Errorf("limit %d: the newest is %d", tc.limit, found[n-1].Message.Timestamp)
		}
	}
}

func (s *suite) apart() {
	s.say("s", "mine")
	s.commit(put("n", "k", "1"), put(memory.NamespaceAuthority, "k", "1"))
	mine := s.b
	s.b = s.other
	s.want("the other's history", s.live("s", 0)+s.full("s", 0), "")
	s.want("the other's metadata", s.keys("n")+s.keys(memory.NamespaceAuthority), "")
	s.want("the other's recent", s.recent(memory.Query{Limit: 10}), "")
	s.say("s", "theirs")
	s.commit(put("n", "k", "2"))
	s.must(s.b.ClearSession(s.Context(), "s"))
	s.must(s.b.ClearAll(s.Context()))
	s.want("cleared", s.full("s", 0)+s.keys("n"), "")
	s.b = mine
	s.want("my history", s.live("s", 0)+s.recent(memory.Query{Limit: 10}), "mines:mine")
	s.want("my metadata", s.keys("n")+s.keys(memory.NamespaceAuthority), "k=1k=1")
}

func (s *suite) concurrent() {
	const writers, each = 8, 20
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			own := fmt.Sprintf("own%d", w)
			for i := range each {
				text := fmt.Sprintf("%d.%d", w, i)
				for _, session := range []string{own, "shared"} {
					if err := s.b.SaveMessage(s.Context(), session, user(text, 1)); err != nil {
						s.Error(err)
					}
				}
				if _, err := s.b.History(s.Context(), "shared", 10); err != nil {
					s.Error(err)
				}
				if err := s.b.CommitMetadata(s.Context(), []memory.Op{put("n", own, fmt.Sprint(i))}); err != nil {
					s.Error(err)
				}
				if _, err := s.b.ArchiveOldest(s.Context(), own, 1); err != nil {
					s.Error(err)
				}
			}
		})
	}
	wg.Wait()
	ms, err := s.b.FullHistory(s.Context(), "shared", 1000)
	s.must(err)
	s.want("messages", len(ms), writers*each)
	next := make([]int, writers)
	for _, m := range ms {
		var w, i int
		if _, err := fmt.Sscanf(m.Content, "%d.%d", &w, &i); err != nil || i != next[w] {
			s.Fatalf("got %q, want message %d of writer %d", m.Content, next[w], w)
		}
		next[w]++
	}
	for w := range writers {
		own := fmt.Sprintf("own%d", w)
		s.want(own, s.live(own, 0), "")
		s.want(own, len(strings.Fields(s.full(own, 0))), each)
	}
}

func (s *suite) noSession() {
	if err := s.b.SaveMessage(s.Context(), "", user("x", 1)); err == nil || !strings.Contains(err.Error(), "sessionId") {
		s.Errorf("a message without a session: %v", err)
	}
	s.want("nothing", s.recent(memory.Query{Limit: 10}), "")
}
