// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package flowcontrol

import (
	"context"
	"time"

	"github.com/aalis-dev/aalis-operator/runtime/contract/flow"
	"github.com/aalis-dev/aalis-operator/runtime/contract/gateway"
	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
	"github.com/aalis-dev/aalis-operator/runtime/i18n"
)

const (
	// sweepEvery is how often quiet sessions are looked for.
	sweepEvery = 24 * time.Hour
	// recheck is the wait when nothing can be begun with now: no session, or none that may be spoken in.
	recheck = time.Minute
)

// timer fires once after a time, unless it is stopped.
type timer func(d time.Duration) (fired <-chan time.Time, stop func())

// RescheduleIdle implements flow.Control.
func (c *control) RescheduleIdle(sessionID string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.sessions[sessionID]
	if s == nil || s.muted(c.k.Now()) {
		return
	}
	cfg, _ := c.settings.Load().at(s.place)
	c.waitIdle(s, cfg, c.k.Now())
}

// waitIdle begins the wait for quiet in a session anew. The caller holds mu.
func (c *control) waitIdle(s *session, cfg Config, now time.Time) {
	if c.settings.Load().base.IdleTriggerScope != idleSession {
		s.idleAt = time.Time{}
		return
	}
	s.idleAt = now.Add(idleDelay(cfg, s.backoff, c.jitter()))
	c.poke()
}

func (c *control) poke() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// idle is what the bot begins to talk about by itself, and where.
type idle struct {
	session, platform, prompt string
}

// due takes what is due at a moment, and says when to look again.
func (c *control) due(now time.Time) (begin []idle, again time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	base := c.settings.Load().base
	again = now.Add(sweepEvery)
	switch base.IdleTriggerScope {
	case idleSession:
		for id, s := range c.sessions {
			if s.idleAt.IsZero() {
				continue
			}
			if !now.Before(s.idleAt) {
				cfg, _ := c.settings.Load().at(s.place)
				if cfg.IdleTriggerStyle == styleExponential {
					s.backoff = min(s.backoff*2, backoffLimit)
				}
				begin = append(begin, c.beginIn(id, s, cfg))
				s.idleAt = now.Add(idleDelay(cfg, s.backoff, c.jitter()))
			}
			again = earlier(again, s.idleAt)
		}
	case idlePlatform:
		if c.ready.Load() {
			begin, again = c.duePlatform(base, now)
		}
	}
	return begin, again
}

// duePlatform is due for the one idle trigger that all sessions share. It goes by the global config alone.
func (c *control) duePlatform(base Config, now time.Time) (begin []idle, again time.Time) {
	quiet := max(time.Duration(base.IdleTriggerMinutes*float64(time.Minute)), minIdle)
	if c.idleAt.IsZero() {
		c.idleAt = now
		if base.IdleTriggerStrategy == strategyFixed {
			c.idleAt = now.Add(quiet)
		}
	}
	at := c.idleAt
	if base.IdleTriggerStrategy != strategyFixed {
		at = later(at, c.lastActivity().Add(quiet))
	}
	if now.Before(at) {
		return nil, at
	}
	id, s := c.quietest(base, now)
	if s == nil {
		c.idleAt = now.Add(recheck)
		return nil, c.idleAt
	}
	c.idleAt = now.Add(quiet)
	return []idle{c.beginIn(id, s, base)}, c.idleAt
}

func (c *control) lastActivity() (last time.Time) {
	for _, s := range c.sessions {
		last = later(last, s.lastActivity())
	}
	return last
}

// quietest is the session that has been quiet for longest among those in which the bot may speak.
func (c *control) quietest(base Config, now time.Time) (id string, quietest *session) {
	for key, s := range c.sessions {
		if s.lastActivity().IsZero() || s.muted(now) || s.cooling(now) || s.rateLimited(base, now) {
			continue
		}
		if quietest == nil || s.lastActivity().Before(quietest.lastActivity()) ||
			(s.lastActivity().Equal(quietest.lastActivity()) && key < id) {
			id, quietest = key, s
		}
	}
	return id, quietest
}

func (c *control) beginIn(id string, s *session, cfg Config) idle {
	prompt := cfg.IdleTriggerPrompt
	if prompt == "" {
		prompt = i18n.FlowIdlePrompt.In(i18n.Of(c.k))
	}
	return idle{session: id, platform: s.platform, prompt: prompt}
}

// run begins conversations when they are due, and forgets those that have been quiet for long, until ctx ends.
func (c *control) run(ctx context.Context, after timer) {
	swept := c.k.Now()
	for {
		now := c.k.Now()
		begin, again := c.due(now)
		for _, b := range begin {
			c.k.Go("idle trigger", func(ctx context.Context) { c.begin(ctx, b) })
		}
		if now.Sub(swept) >= sweepEvery {
			c.sweep(now)
			swept = now
		}
		fired, stop := after(max(again.Sub(now), time.Second))
		select {
		case <-ctx.Done():
			stop()
			return
		case <-c.wake:
		case <-fired:
		}
		stop()
	}
}

// begin has the agent speak in a quiet session.
func (c *control) begin(ctx context.Context, b idle) {
	g, ok := gateway.Service.Get(c.k)
	if !ok {
		c.k.Logger().Warn("Could not begin a conversation: there is no gateway", "sessionId", b.session)
		return
	}
	c.k.Logger().Info("Began to talk in a quiet session", "sessionId", b.session, "platform", b.platform)
	g.IngressMessage(ctx, message.Incoming{
		Content: b.prompt, SessionID: b.session, Platform: b.platform, Source: flow.SourceIdle, TriggerType: message.TriggerIdle,
	})
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
