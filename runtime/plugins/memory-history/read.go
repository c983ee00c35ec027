// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package memoryhistory

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aalis-dev/aalis-operator/runtime/contract/agent"
	"github.com/aalis-dev/aalis-operator/runtime/contract/memory"
	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
	"github.com/aalis-dev/aalis-operator/runtime/i18n"
)

const (
	// overscan is how many times the limit is read, so that the cap per session leaves enough.
	overscan = 10
	// sessionUnits is how much of a session's id a line shows, in UTF-16 code units.
	sessionUnits = 24
	// textUnits bounds the text of one line.
	textUnits = 1000
)

// ask is what is asked for: whose view it is, and how much.
type ask struct {
	session, platform string
	limit             int
	// minutes is how old messages may be; 0 means any age.
	minutes int
	// visitor leaves out what others said in private: nobody has checked that this person may read it.
	visitor bool
	userID  string
}

// build gives the block of the prompt.
func (r *reader) build(ctx context.Context, view agent.PromptView) ([]string, error) {
	cfg := r.cfg.Load()
	if !cfg.InjectEnabled || cfg.Scope == scopeOff {
		return nil, nil
	}
	lines, err := r.read(ctx, cfg, ask{
		session: view.SessionID, platform: view.Platform, limit: cfg.Limit, minutes: cfg.MaxAgeMinutes, visitor: true, userID: view.UserID,
	})
	if err != nil || len(lines) == 0 {
		return nil, err
	}
	header := cfg.HeaderText
	if strings.TrimSpace(header) == "" {
		header = i18n.RecentHeader().In(i18n.Of(r.k))
	}
	return []string{header + "\n" + strings.Join(lines, "\n")}, nil
}

// read gives lines, oldest first.
func (r *reader) read(ctx context.Context, cfg *Config, a ask) ([]string, error) {
	b, ok := memory.Service.Get(r.k)
	if !ok {
		return nil, nil
	}
	q := memory.Query{
		Limit:        a.limit,
		Roles:        []message.Role{message.RoleUser, message.RoleAssistant, message.RoleNotice},
		ExcludeKinds: []string{message.KindEventMarker},
		Since:        r.cleared.since(a.session),
	}
	if cfg.Scope != scopeCross {
		if a.platform == "" {
			return nil, nil // an empty platform in a query would mean all of them
		}
		q.Platform = a.platform
	}
	if cfg.ExcludeCurrentSession && a.session != "" {
		q.ExcludeSessions = []string{a.session}
	}
	if cfg.PerSessionLimit > 0 {
		q.Limit = min(a.limit*overscan, memory.CrossSessionMaxLimit)
	}
	now := r.k.Now()
	if a.minutes > 0 {
		q.Since = max(q.Since, now.Add(-time.Duration(a.minutes)*time.Minute).UnixMilli())
	}
	found, err := b.RecentAcrossSessions(ctx, q)
	if err != nil {
		return nil, fmt.Errorf("reading recent messages: %w", err)
	}
	if a.visitor {
		found = open(found, a)
	}
	lines := make([]string, 0, a.limit)
	for _, m := range pick(found, a.limit, cfg.PerSessionLimit) {
		if l := line(m, now); l != "" {
			lines = append(lines, l)
		}
	}
	return lines, nil
}

// person is somebody on a platform.
type person struct{ platform, userID string }

// open leaves out sessions in which others talk to the bot alone. Whose such a session is its users' messages say; one of which
// none is at hand is nobody's.
func open(ms []memory.SessionMessage, a ask) []memory.SessionMessage {
	whose := map[string]person{}
	for _, m := range ms {
		if m.Message.Role == message.RoleUser {
			whose[m.SessionID] = person{textOf(m, "platform"), textOf(m, "userId")}
		}
	}
	self := person{a.platform, a.userID}
	return slices.DeleteFunc(ms, func(m memory.SessionMessage) bool {
		switch message.SessionType(textOf(m, "sessionType")) {
		case message.SessionGroup, message.SessionChannel:
			return false
		default:
			return a.userID == "" || whose[m.SessionID] != self
		}
	})
}

func textOf(m memory.SessionMessage, key string) string {
	s, _ := m.Message.Metadata[key].(string)
	return s
}

// pick chooses from messages, oldest first, the newest limit of them, and of those of one session the newest per. As long
// as all of them fit, the cap of one session is not applied.
func pick(ms []memory.SessionMessage, limit, per int) []memory.SessionMessage {
	if len(ms) <= limit {
		return ms
	}
	out := make([]memory.SessionMessage, 0, limit)
	count := map[string]int{}
	for _, m := range slices.Backward(ms) {
		if len(out) == limit {
			break
		}
		if count[m.SessionID]++; per > 0 && count[m.SessionID] > per {
			continue
		}
		out = append(out, m)
	}
	slices.Reverse(out)
	return out
}

// line writes a message on one line, or nothing if it says nothing. A text of several lines cannot pass for several
// messages.
func line(m memory.SessionMessage, now time.Time) string {
	meta := func(key string) string {
		s, _ := m.Message.Metadata[key].(string)
		return s
	}
	nick, user := meta("nickname"), meta("userId")
	text := m.Message.Content
	if label := message.SenderLabel(nick, user); label != "" {
		text = strings.TrimPrefix(text, "["+label+"]: ")
	}
	if text = oneLine(text); text == "" {
		return ""
	}
	where := meta("platform")
	if where == "" {
		where = "?"
	}
	where += "/" + i18n.Cut(oneLine(m.SessionID), sessionUnits)
	if g := firstOf(meta("groupName"), meta("groupId")); g != "" {
		where += "@" + oneLine(g)
	}
	who := roleName(m.Message.Role)
	if m.Message.Role != message.RoleAssistant {
		if n := firstOf(nick, user); n != "" {
			who += "/" + oneLine(n)
		}
	}
	return "[" + when(m.Message.Timestamp, now) + "][" + where + "][" + who + "] " + i18n.Cut(text, textUnits)
}

// when writes a time in the zone of now, with the year only if it is another.
func when(ms int64, now time.Time) string {
	t := time.UnixMilli(ms).In(now.Location())
	if t.Year() == now.Year() {
		return t.Format("1/2 15:04")
	}
	return t.Format("2006/1/2 15:04")
}

func roleName(r message.Role) string {
	switch r {
	case message.RoleUser:
		return "User"
	case message.RoleAssistant:
		return "Assistant"
	default:
		return "Notice"
	}
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

func firstOf(values ...string) string {
	for _, v := range values {
		if strings.TrimSpace(v) != "" {
			return v
		}
	}
	return ""
}
