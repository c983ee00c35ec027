// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package triggerpolicy

import (
	"context"
	"fmt"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/aalis-dev/aalis-operator/runtime/contract/archive"
	"github.com/aalis-dev/aalis-operator/runtime/contract/flow"
	"github.com/aalis-dev/aalis-operator/runtime/contract/gateway"
	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
	"github.com/aalis-dev/aalis-operator/runtime/contract/persona"
	"github.com/aalis-dev/aalis-operator/runtime/contract/trigger"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
)

// noticePoke is the notice of a poke. Its text is written by the adapter and holds the name of who pokes.
const noticePoke = "poke"

// onebotMention is how OneBot writes a mention in its own words.
var onebotMention = regexp.MustCompile(`\[CQ:at,qq=\d+[,\]]`)

// policy is the service trigger-policy.
type policy struct {
	k        *kernel.Context
	settings atomic.Pointer[settings]
}

// handle is in the phase inbound:trigger. What is not answered is archived, once.
func (p *policy) handle(ctx context.Context, d *gateway.Inbound, next kernel.Next) error {
	m := d.Message
	if m.Source == flow.SourceIdle {
		return next(ctx)
	}
	rules, decides := p.settings.Load().at(flow.PlaceOf(m))
	if !decides {
		return next(ctx)
	}
	if word, ok := holds(m.Content, rules.muteWords); ok {
		p.mute(ctx, m, rules, word)
		return nil
	}
	switch decision := p.safely(m, rules); decision {
	case trigger.Swallow:
		p.archive(ctx, m)
		return nil
	case trigger.Immediate, trigger.Interval:
		if c, ok := flow.Service.Get(p.k); ok {
			c.RecordTriggered(m.SessionID)
		}
		d.Message.TriggerType = message.TriggerType(decision)
	case trigger.Direct:
	}
	return next(ctx)
}

// safely decides; a failure lets the message pass, since silence would look like a bot that is broken.
func (p *policy) safely(m message.Incoming, r rules) (d trigger.Decision) {
	defer func() {
		if v := recover(); v != nil {
			p.k.Logger().Error("Could not decide about a message, so it is answered", "sessionId", m.SessionID,
				"panic", fmt.Sprint(v), "stack", string(debug.Stack()))
			d = trigger.Direct
		}
	}()
	return p.decide(m, r)
}

// Decide implements trigger.Policy.
func (p *policy) Decide(m message.Incoming) trigger.Decision {
	rules, decides := p.settings.Load().at(flow.PlaceOf(m))
	if !decides {
		return trigger.Direct
	}
	return p.decide(m, rules)
}

func (p *policy) decide(m message.Incoming, r rules) trigger.Decision {
	switch {
	case m.NoticeType == noticePoke && r.poke:
		return trigger.Immediate
	case m.NoticeType == noticePoke:
		// Not looked at for mentions and names: they are those of who pokes.
	case r.at && mentions(m.Content):
		return trigger.Immediate
	default:
		if _, ok := holds(m.Content, p.names(r)); ok {
			return trigger.Immediate
		}
	}
	return p.interval(m.SessionID, r)
}

// interval decides by how many messages there were and how lively the conversation is. Without flow control it is not known,
// and the message passes.
func (p *policy) interval(sessionID string, r rules) trigger.Decision {
	c, ok := flow.Service.Get(p.k)
	if !ok {
		return trigger.Interval
	}
	s, ok := c.Snapshot(sessionID)
	if !ok {
		return trigger.Interval
	}
	fixed, dynamic := s.MessageCount >= s.FixedInterval, s.Score >= s.Threshold
	if (r.mode != modeDynamic && fixed) || (r.mode != modeFixed && dynamic) {
		return trigger.Interval
	}
	return trigger.Swallow
}

// BotNames implements trigger.Policy.
func (p *policy) BotNames() []string { return p.names(p.settings.Load().base) }

// names are those of the config and of the bot's own persona, each once.
func (p *policy) names(r rules) []string {
	out := slices.Clone(r.names)
	if provider, ok := persona.Service.Get(p.k); ok {
		out = append(out, provider.Card(persona.Options{}).Name)
		out = append(out, provider.NickNames(persona.Options{})...)
	}
	var unique []string
	for _, n := range out {
		if n = strings.TrimSpace(n); n != "" && !slices.Contains(unique, n) {
			unique = append(unique, n)
		}
	}
	return unique
}

// MuteKeyword implements trigger.Policy. Mute words are those of the config alone.
func (p *policy) MuteKeyword(m message.Incoming) (word string, ok bool) {
	rules, decides := p.settings.Load().at(flow.PlaceOf(m))
	if !decides {
		return "", false
	}
	return holds(m.Content, rules.muteWords)
}

// mute has the bot keep still for a while.
func (p *policy) mute(ctx context.Context, m message.Incoming, r rules, word string) {
	p.k.Logger().Info("Muted the bot by a word", "sessionId", m.SessionID, "word", word, "for", r.muteLength)
	if c, ok := flow.Service.Get(p.k); ok {
		c.SetMuted(ctx, m.SessionID, m.Platform, r.muteLength)
		c.RescheduleIdle(m.SessionID)
	}
	p.archive(ctx, m)
}

func (p *policy) archive(ctx context.Context, m message.Incoming) {
	a, ok := archive.Service.Get(p.k)
	if !ok {
		return
	}
	if _, err := a.ArchiveIncoming(ctx, m); err != nil {
		p.k.Logger().Warn("Could not archive a message that is not answered", "sessionId", m.SessionID, "error", err)
	}
}

// mentions tells whether a text mentions the bot: by the adapter's tag, or by any mention in OneBot's own words. A plain
// @name is none.
func mentions(text string) bool { return message.MentionsSelf(text) || onebotMention.MatchString(text) }

// holds finds the first of some words that is part of a text.
func holds(text string, words []string) (string, bool) {
	for _, w := range words {
		if w != "" && strings.Contains(text, w) {
			return w, true
		}
	}
	return "", false
}

var _ trigger.Policy = (*policy)(nil)
