// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
	"github.com/aalis-dev/aalis-operator/runtime/contract/persona"
)

// proactiveFrom begins the source of a task that was handed over; the session that did it follows.
const proactiveFrom = "proactive:from:"

// buildMessages makes the list that the prompt starts from. All that stands before and in the history is the same in the
// next turn, so that providers can cache it; what changes follows the history.
func (t *turn) buildMessages(ctx context.Context) []message.Message {
	now := t.a.k.Now()
	history := t.history(ctx, now)
	list := make([]message.Message, 0, len(history)+8)
	list = append(list, system(injectorPersona, t.systemPrompt()))
	list = append(list, history...)
	if t.msg.TriggerType == message.TriggerProactive {
		return append(list, t.delegation())
	}
	text := t.currentText(now)
	if carriesAttachment.MatchString(text) {
		list = append(list, system(injectorOther, attachmentNote))
	}
	if volatile := t.volatilePrompt(); volatile != "" {
		list = append(list, system(injectorVolatile, volatile))
	}
	if t.needsFocus() {
		list = append(list, system(injectorFocus, focusGuidance))
	}
	return append(list, message.Message{
		Role: message.RoleUser, Content: text, Name: t.msg.UserID, Timestamp: now.UnixMilli(), Images: images(t.msg),
	})
}

func system(injector, content string) message.Message {
	return message.Message{
		Role: message.RoleSystem, Content: content, Metadata: map[string]any{message.MetaInjector: injector},
	}
}

// systemPrompt joins who the bot is, how it must behave, and how input is to be read.
func (t *turn) systemPrompt() string {
	parts := make([]string, 0, 3)
	if t.persona != nil {
		if s := t.persona.SystemPrompt(t.personaOpts); s != "" {
			parts = append(parts, s)
		}
	}
	if t.cfg.SystemPrompt != "" {
		parts = append(parts, t.cfg.SystemPrompt)
	}
	return strings.Join(append(parts, inputConvention), "\n\n")
}

func (t *turn) volatilePrompt() string {
	if t.persona == nil {
		return ""
	}
	m := t.msg
	return t.persona.VolatilePrompt(persona.View{
		SessionID: m.SessionID, Platform: m.Platform, SessionType: string(m.SessionType), UserID: m.UserID,
		Nickname: m.Nickname, GroupID: m.GroupID, GroupName: m.GroupName,
		SenderRole: m.SenderRole, SenderTitle: m.SenderTitle, SelfRole: m.SelfRole, SelfTitle: m.SelfTitle,
	}, t.personaOpts)
}

// needsFocus tells whether somebody addressed the bot in a group. A message that does not say why it is answered does not
// count.
func (t *turn) needsFocus() bool {
	return t.msg.SessionType == message.SessionGroup &&
		(t.msg.TriggerType == message.TriggerDirect || t.msg.TriggerType == message.TriggerImmediate)
}

// currentText is the message as the model sees it: in the form in which it was stored, so that it reads the same when it
// comes back as history.
func (t *turn) currentText(now time.Time) string {
	if a := t.archived; a != nil {
		return labelled(timeLabel(time.UnixMilli(a.Timestamp), now), a.Content)
	}
	return labelled(timeLabel(now, now), message.PrefixSender(t.msg.Nickname, t.msg.UserID, t.msg.Content))
}

// delegation is what a turn answers that no user asked for.
func (t *turn) delegation() message.Message {
	from, _ := strings.CutPrefix(t.msg.Source, proactiveFrom)
	if from == t.msg.Source {
		from = ""
	}
	lines := []string{delegationTag}
	if from != "" {
		lines = append(lines, delegationFrom+from)
	}
	lines = append(lines, delegationTask+t.msg.Content, delegationNotice)
	if from != "" {
		lines = append(lines, fmt.Sprintf(delegationHint, from))
	}
	m := system(injectorDelegation, strings.Join(lines, "\n"))
	if from != "" {
		m.Metadata["sourceSessionId"] = from
	}
	return m
}

func images(m message.Incoming) (data []string) {
	for _, a := range m.Attachments {
		if a.Kind == message.AttachmentImage && a.Data != "" {
			data = append(data, a.Data)
		}
	}
	return data
}
