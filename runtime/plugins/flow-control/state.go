// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package flowcontrol

import (
	"slices"
	"time"

	"github.com/aalis-dev/aalis-operator/runtime/bounded"
	"github.com/aalis-dev/aalis-operator/runtime/scope"
)

const (
	// maxSessions bounds the sessions whose flow is kept. Beyond that the one that has been quiet for longest is forgotten.
	maxSessions = 10_000
	// maxUsers bounds the people of a session whose messages are counted.
	maxUsers = 1000
	// forgetAfter is the quiet after which a session in which nothing is pending is forgotten.
	forgetAfter = 30 * 24 * time.Hour
)

// session is the flow of one session. Its owner guards it.
type session struct {
	platform string
	place    scope.Place

	messageCount  int
	score         float64
	lastMessage   time.Time
	lastTriggered time.Time
	lastReply     time.Time
	cooldownUntil time.Time
	mutedUntil    time.Time
	users         *bounded.Map[string, int]
	replies       []time.Time // the newest, as many as the limit asks for

	backoff float64
	idleAt  time.Time // zero when there is no wait
}

func newSession(platform string, now func() time.Time) *session {
	return &session{platform: platform, backoff: 1, users: bounded.New[string, int](maxUsers, 0, now)}
}

// incoming counts a message.
func (s *session) incoming(c Config, userID string, now time.Time) {
	if !s.lastMessage.IsZero() {
		s.score = decayed(s.score, now.Sub(s.lastMessage), c.ScoreDecayMinutes)
	}
	count := 0
	if userID != "" {
		count = s.users.Update(userID, func(n int, _ bool) int { return n + 1 })
	}
	s.lastMessage = now
	s.messageCount++
	s.score += increment(c.FixedInterval, count)
}

// triggered begins anew, since the bot is about to answer.
func (s *session) triggered(now time.Time) {
	s.messageCount, s.score, s.backoff, s.lastTriggered = 0, 0, 1, now
}

// replied notes that the bot has spoken. It does not count as being triggered.
func (s *session) replied(c Config, now time.Time) {
	if c.CooldownSeconds > 0 {
		s.cooldownUntil = now.Add(seconds(c.CooldownSeconds))
	}
	s.backoff, s.lastReply = 1, now
	s.prune(c, now)
	if limited(c) {
		s.replies = append(s.replies, now)
		if extra := len(s.replies) - c.RateLimitMaxReplies; extra > 0 {
			s.replies = slices.Delete(s.replies, 0, extra)
		}
	}
}

// prune forgets replies outside of the window.
func (s *session) prune(c Config, now time.Time) {
	if !limited(c) {
		s.replies = nil
		return
	}
	from := now.Add(-seconds(c.RateLimitWindow))
	s.replies = slices.DeleteFunc(s.replies, func(at time.Time) bool { return !at.After(from) })
}

func limited(c Config) bool { return c.RateLimitWindow > 0 && c.RateLimitMaxReplies > 0 }

// rateLimited tells whether the bot has spoken as often as it may.
func (s *session) rateLimited(c Config, now time.Time) bool {
	if !limited(c) {
		return false
	}
	from, n := now.Add(-seconds(c.RateLimitWindow)), 0
	for _, at := range s.replies {
		if at.After(from) {
			n++
		}
	}
	return n >= c.RateLimitMaxReplies
}

func (s *session) threshold(c Config, now time.Time) float64 {
	return threshold(c.ActivityScoreLower, c.ActivityScoreUpper, !s.lastTriggered.IsZero(), now.Sub(s.lastTriggered), c.ActivityDecayMinutes)
}

func (s *session) muted(now time.Time) bool   { return now.Before(s.mutedUntil) }
func (s *session) cooling(now time.Time) bool { return now.Before(s.cooldownUntil) }

// lastActivity is when somebody, the bot included, last spoke.
func (s *session) lastActivity() time.Time {
	if s.lastReply.After(s.lastMessage) {
		return s.lastReply
	}
	return s.lastMessage
}

// forgettable tells whether nothing would be lost with the session.
func (s *session) forgettable(now time.Time) bool {
	return !s.muted(now) && !s.cooling(now) && s.idleAt.IsZero() && now.Sub(s.lastActivity()) > forgetAfter
}

func seconds(n float64) time.Duration { return time.Duration(n * float64(time.Second)) }
