// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package messagearchive

import (
	"regexp"
	"slices"
	"strings"

	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
)

// onePerson are the platforms where nobody but one person speaks in a session, so that naming the sender is noise.
var onePerson = []string{"webui", "cli", "openai"}

// archived gives an incoming message the form in which history shows it.
func archived(m message.Incoming, now int64) message.Message {
	out := message.Message{
		Role: message.RoleUser, Name: m.UserID, Content: content(m), Timestamp: now, Metadata: metadata(m),
	}
	if m.TriggerType == message.TriggerProactive {
		out.Role, out.Kind, out.Name = message.RoleNotice, message.KindCrossSessionDelegation, ""
	}
	return out
}

func content(m message.Incoming) string {
	text := m.Content
	if !slices.Contains(onePerson, m.Platform) {
		text = message.PrefixSender(m.Nickname, m.UserID, text)
	}
	if q := m.ReplyTo; q != nil && q.Content != "" {
		label := message.SenderLabel(q.Nickname, q.UserID)
		if label == "" {
			label = "?"
		}
		text += "\n[引用 " + label + " 的消息: " + q.Content + "]"
	}
	for _, d := range m.Descriptions {
		if d = strings.TrimSpace(d); d != "" {
			text += "\n" + d
		}
	}
	return text
}

// metadata holds what is known of the message; what is not known is left out.
func metadata(m message.Incoming) map[string]any {
	out := make(map[string]any, 8)
	for _, f := range [...]struct{ key, value string }{
		{"userId", m.UserID}, {"nickname", m.Nickname}, {"platform", m.Platform}, {"groupId", m.GroupID},
		{"groupName", m.GroupName}, {"sessionType", string(m.SessionType)}, {"messageId", m.MessageID},
		{"triggerType", string(m.TriggerType)}, {"source", m.Source},
	} {
		if f.value != "" {
			out[f.key] = f.value
		}
	}
	if names := fileNames(m.Attachments); len(names) > 0 {
		out["fileNames"] = names
	}
	if ids := mentions(m.Content); len(ids) > 0 {
		out["mentions"] = ids
	}
	return out
}

func fileNames(attachments []message.Attachment) (names []any) {
	for _, a := range attachments {
		if a.Kind == "file" && a.Name != "" {
			names = append(names, a.Name)
		}
	}
	return names
}

// mention is the tag by which adapters write that somebody was addressed: <at id="X">name</at>, <at self id="X">...
var mention = regexp.MustCompile(`<at(?: self)? id="([^"]+)"`)

// mentions lists the ids that a text addresses, each once, in order. The tag for everybody addresses no id.
func mentions(text string) (ids []any) {
	if !strings.Contains(text, "<at") {
		return nil
	}
	for _, match := range mention.FindAllStringSubmatch(text, -1) {
		if id := match[1]; id != "all" && !slices.Contains(ids, any(id)) {
			ids = append(ids, id)
		}
	}
	return ids
}
