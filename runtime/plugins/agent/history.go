// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"slices"
	"time"

	"github.com/aalis-dev/aalis-operator/runtime/contract/memory"
	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
)

// history gives the stored messages of the session as the model is to see them, oldest first, without the message that
// this turn answers. When memory fails the turn goes on without.
func (t *turn) history(ctx context.Context, now time.Time) []message.Message {
	limit := t.cfg.HistoryLimit
	backend, ok := memory.Service.Get(t.a.k)
	if !ok || limit == 0 {
		return nil
	}
	stored, err := backend.History(ctx, t.msg.SessionID, limit)
	if err != nil {
		t.log().Warn("Failed to load history", "error", err)
		return nil
	}
	said := slices.DeleteFunc(stored, func(m message.Message) bool { return m.IsControl() || saysNothing(m) })
	list, dropped := wholeToolGroups(said)
	if dropped > 0 {
		t.log().Warn("Left incomplete tool calls out of history", "messages", dropped)
	}
	out := list[:0]
	for _, m := range list {
		if t.archived != nil && isSame(m, *t.archived) {
			continue
		}
		if m.Role == message.RoleUser && m.Timestamp != 0 && m.Content != "" {
			m.Content = labelled(timeLabel(time.UnixMilli(m.Timestamp), now), m.Content)
		}
		out = append(out, m)
	}
	return out
}

// saysNothing tells whether a stored message holds nothing that a model could be shown; some vendors refuse such a one.
func saysNothing(m message.Message) bool {
	return m.Content == "" && m.Role != message.RoleTool && len(m.ToolCalls) == 0 && len(m.Images) == 0 && len(m.Audios) == 0
}

func isSame(a, b message.Message) bool {
	return a.Role == b.Role && a.Timestamp == b.Timestamp && a.Name == b.Name && a.Content == b.Content
}

// wholeToolGroups drops the tool calls that lack a result and the results that lack their call, because models refuse
// both. An assistant message that calls tools is kept only if the tool messages that follow it answer each of its calls
// once.
func wholeToolGroups(list []message.Message) (out []message.Message, dropped int) {
	out = make([]message.Message, 0, len(list))
	for i := 0; i < len(list); {
		m := list[i]
		switch {
		case m.Role == message.RoleTool:
			dropped++
			i++
		case m.Role == message.RoleAssistant && len(m.ToolCalls) > 0:
			group, whole := toolGroup(list[i:])
			if whole {
				out = append(out, list[i:i+group]...)
			} else {
				dropped += group
			}
			i += group
		default:
			out = append(out, m)
			i++
		}
	}
	return out, dropped
}

// toolGroup measures the group that begins with a call of tools: it ends at the first message that is no result of these
// calls, or a second result of one.
func toolGroup(list []message.Message) (length int, whole bool) {
	open := make(map[string]bool, len(list[0].ToolCalls))
	for _, c := range list[0].ToolCalls {
		open[c.ID] = true
	}
	alike := len(open) < len(list[0].ToolCalls) || open[""] // no result can tell which of them it answers
	length = 1
	for length < len(list) && list[length].Role == message.RoleTool && open[list[length].ToolCallID] {
		delete(open, list[length].ToolCallID)
		length++
	}
	return length, len(open) == 0 && !alike
}
