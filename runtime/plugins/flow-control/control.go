// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package flowcontrol

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aalis-dev/aalis-operator/runtime/contract/archive"
	"github.com/aalis-dev/aalis-operator/runtime/contract/flow"
	"github.com/aalis-dev/aalis-operator/runtime/contract/gateway"
	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
)

// control is the service flow-control.
type control struct {
	k        *kernel.Context
	settings atomic.Pointer[settings]
	jitter   func() float64 // from -1 to 1
	wake     chan struct{}  // of room one: the idle waits have changed
	ready    atomic.Bool
	mutes    *mutes

	mu       sync.Mutex
	sessions map[string]*session
	idleAt   time.Time // of the idle trigger of the platform scope; zero when there is no wait
}

func newControl(k *kernel.Context, s *settings, jitter func() float64) *control {
	c := &control{k: k, jitter: jitter, wake: make(chan struct{}, 1), sessions: map[string]*session{}}
	c.mutes = &mutes{k: k}
	c.settings.Store(s)
	return c
}

// handle is in the phase inbound:flow. Every message in scope is counted, also one that goes no further; what goes no
// further is archived, so that it is context when the bot speaks.
func (c *control) handle(ctx context.Context, d *gateway.Inbound, next kernel.Next) error {
	m := d.Message
	cfg, holds := c.settings.Load().at(flow.PlaceOf(m))
	if !holds || m.Source == flow.SourceIdle {
		return next(ctx)
	}
	if c.hold(m, cfg) {
		c.archive(ctx, m)
		return nil
	}
	return next(ctx)
}

// hold counts a message and tells whether the bot holds back.
func (c *control) hold(m message.Incoming, cfg Config) bool {
	now := c.k.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.ensure(m.SessionID, m.Platform, now)
	s.place = flow.PlaceOf(m)
	s.incoming(cfg, m.UserID, now)
	if s.muted(now) {
		return true // the wait for quiet does not begin anew
	}
	c.waitIdle(s, cfg, now)
	return s.cooling(now) || s.rateLimited(cfg, now)
}

// ensure gives the flow of a session, which begins if there is none. The caller holds mu.
func (c *control) ensure(id, platform string, now time.Time) *session {
	s := c.sessions[id]
	if s != nil {
		if platform != "" {
			s.platform = platform
		}
		return s
	}
	if len(c.sessions) >= maxSessions {
		c.forgetQuietest(now)
	}
	s = newSession(platform, c.k.Now)
	c.sessions[id] = s
	return s
}

// forgetQuietest makes room. A mute goes last: forgetting it would have the bot speak.
func (c *control) forgetQuietest(now time.Time) {
	oldest, quietest := "", (*session)(nil)
	for id, s := range c.sessions {
		if quietest == nil || (quietest.muted(now) && !s.muted(now)) ||
			(quietest.muted(now) == s.muted(now) && s.lastActivity().Before(quietest.lastActivity())) {
			oldest, quietest = id, s
		}
	}
	delete(c.sessions, oldest)
}

// sweep forgets sessions that have been quiet for long.
func (c *control) sweep(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, s := range c.sessions {
		if s.forgettable(now) {
			delete(c.sessions, id)
		}
	}
}

func (c *control) archive(ctx context.Context, m message.Incoming) {
	a, ok := archive.Service.Get(c.k)
	if !ok {
		return
	}
	if _, err := a.ArchiveIncoming(ctx, m); err != nil {
		c.k.Logger().Warn("Could not archive a message that the bot held back from", "sessionId", m.SessionID, "error", err)
	}
}

// outbound notes what the bot says in sessions that are known.
func (c *control) outbound(_ context.Context, m message.Outgoing) error {
	if m.Source != message.FromAgent {
		return nil
	}
	now := c.k.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.sessions[m.SessionID]
	if s == nil {
		return nil
	}
	cfg, _ := c.settings.Load().at(s.place)
	s.replied(cfg, now)
	if !s.muted(now) {
		c.waitIdle(s, cfg, now)
	}
	return nil
}

// Snapshot implements flow.Control.
func (c *control) Snapshot(sessionID string) (flow.Snapshot, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.sessions[sessionID]
	if s == nil || s.lastMessage.IsZero() {
		return flow.Snapshot{}, false
	}
	cfg, _ := c.settings.Load().at(s.place)
	return flow.Snapshot{
		MessageCount: s.messageCount, FixedInterval: cfg.FixedInterval, Score: s.score, Threshold: s.threshold(cfg, c.k.Now()),
	}, true
}

// RecordTriggered implements flow.Control.
func (c *control) RecordTriggered(sessionID string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.sessions[sessionID]; s != nil {
		s.triggered(c.k.Now())
	}
}

// SetMuted implements flow.Control.
func (c *control) SetMuted(ctx context.Context, sessionID, platform string, d time.Duration) {
	if until, changed := c.mute(sessionID, platform, d); changed {
		c.mutes.store(ctx, sessionID, platform, until)
	}
}

func (c *control) mute(sessionID, platform string, d time.Duration) (until time.Time, changed bool) {
	now := c.k.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.sessions[sessionID]
	if s == nil {
		if d <= 0 || platform == "" {
			return time.Time{}, false
		}
		s = c.ensure(sessionID, platform, now)
	}
	if d <= 0 {
		s.mutedUntil = time.Time{}
		return time.Time{}, true
	}
	s.mutedUntil, s.messageCount, s.score, s.idleAt = now.Add(d), 0, 0, time.Time{}
	return s.mutedUntil, true
}

// MutedUntil implements flow.Control.
func (c *control) MutedUntil(sessionID string) (time.Time, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.sessions[sessionID]
	if s == nil || !s.muted(c.k.Now()) {
		return time.Time{}, false
	}
	return s.mutedUntil, true
}

// restore takes over a mute of before a restart.
func (c *control) restore(sessionID, platform string, until time.Time) {
	now := c.k.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.ensure(sessionID, platform, now)
	if now.Before(until) && until.After(s.mutedUntil) {
		s.mutedUntil = until
	}
}

var _ flow.Control = (*control)(nil)
