// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package llmdeepseek

import (
	"strings"

	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
)

// tagSystem marks what is a system message and had to become the user's. Models know it: exact.
const tagSystem = "[系统提示]"

// injectorDelegation names the one system message that stays what it is wherever it stands.
const injectorDelegation = "cross-session-delegation"

// placeSystem keeps system messages where they stand. The server puts all of them to the front, away from what they are
// about; so those behind the first message that is none become the user's, with a tag unless they bring one. A list of
// system messages only stays as it is, and so does one that has been through here. The input is not changed.
func placeSystem(in []message.Message) []message.Message {
	first := 0
	for first < len(in) && in[first].Role == message.RoleSystem {
		first++
	}
	if first == len(in) {
		return in
	}
	out := make([]message.Message, len(in))
	copy(out, in)
	for i := first; i < len(out); i++ {
		m := &out[i]
		if m.Role != message.RoleSystem || m.Injector() == injectorDelegation || strings.TrimSpace(m.Content) == "" {
			continue
		}
		m.Role = message.RoleUser
		if !strings.HasPrefix(m.Content, "[") {
			m.Content = tagSystem + "\n" + m.Content
		}
	}
	return out
}
