// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package llm

import (
	"strings"
	"unicode/utf8"

	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
)

// The tags under which messages that are no plain speech reach a model. They stand in stored history: exact.
const (
	tagDelegation = "[跨会话委派]"
	tagNotice     = "[系统通知]"
)

// Prepare makes a list of messages fit for any provider; each provider calls it first. Roles outside the standard
// four become system, notices and delegations get their tag once, and text that is not valid UTF-8 is repaired.
// The input is not changed.
func Prepare(in []message.Message) []message.Message {
	out := make([]message.Message, len(in))
	for i, m := range in {
		m.Content = prefixed(m)
		m.Role = standardRole(m.Role)
		if !utf8.ValidString(m.Content) {
			m.Content = strings.ToValidUTF8(m.Content, "\uFFFD")
		}
		out[i] = m
	}
	return out
}

func standardRole(r message.Role) message.Role {
	switch r {
	case message.RoleSystem, message.RoleUser, message.RoleAssistant, message.RoleTool:
		return r
	default:
		return message.RoleSystem
	}
}

func prefixed(m message.Message) string {
	tag := ""
	switch {
	case m.Kind == message.KindCrossSessionDelegation:
		tag = tagDelegation
	case m.Role == message.RoleNotice:
		tag = tagNotice
	}
	if tag == "" || m.Content == "" || strings.HasPrefix(m.Content, tag) {
		return m.Content
	}
	return tag + " " + m.Content
}
