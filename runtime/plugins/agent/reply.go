// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/aalis-dev/aalis-operator/runtime/contract/agent"
	"github.com/aalis-dev/aalis-operator/runtime/contract/archive"
	"github.com/aalis-dev/aalis-operator/runtime/contract/llm"
	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
)

// reply ends a turn whose model has answered: last is what the assistant said before, by the history.
func (t *turn) reply(ctx context.Context, info llm.Info, r llm.Response, last string) error {
	data := agent.ReplyData{
		Content: r.Content, SessionID: t.msg.SessionID, Platform: t.msg.Platform, UserID: t.msg.UserID,
		TriggerType: triggerOf(t.msg),
	}
	if _, err := agent.ReplyBefore.Run(ctx, t.a.k, &data, nil); err != nil {
		return fmt.Errorf("before the reply: %w", err)
	}
	if ctx.Err() != nil { // the last moment at which an abort leaves nothing behind
		return context.Cause(ctx)
	}
	if t.repeats(data.Content, last) {
		t.log().Warn("Dropped reply that repeats the last one")
		data.Content = ""
	}
	t.endStream(ctx)
	if strings.TrimSpace(data.Content) == "" {
		t.log().Debug("Left a blank reply unsent")
		t.finish(ctx, agent.Silent, "")
		return nil
	}
	stored := data.ArchiveContent
	if stored == "" {
		stored = r.Content
	}
	modelInfo := t.modelInfo(info)
	t.save(ctx, stored, r.ReasoningContent, modelInfo)
	t.deliver(ctx, data.Content, r.Content, modelInfo)
	t.finish(ctx, agent.Replied, data.Content)
	return nil
}

// repeats tells whether a reply is noise because the same was said just before. In a private conversation somebody who
// asks waits for an answer, and the same question may well have the same answer.
func (t *turn) repeats(content, last string) bool {
	if content == "" || content != last {
		return false
	}
	trigger := triggerOf(t.msg)
	asked := trigger == message.TriggerDirect || trigger == message.TriggerImmediate
	public := t.msg.SessionType == message.SessionGroup || t.msg.SessionType == message.SessionChannel
	return public || !asked
}

// lastAssistant is what the assistant said last.
func lastAssistant(list []message.Message) string {
	for _, m := range slices.Backward(list) {
		if m.Role == message.RoleAssistant {
			return m.Content
		}
	}
	return ""
}

// save stores the reply. A reply that cannot be stored is sent nevertheless.
func (t *turn) save(ctx context.Context, content, reasoning string, info *message.ModelInfo) {
	a, ok := archive.Service.Get(t.a.k)
	if !ok {
		return
	}
	ctx, cancel := settle(ctx)
	defer cancel()
	err := a.SaveMessage(ctx, t.msg.SessionID, message.Message{
		Role: message.RoleAssistant, Content: content, ReasoningContent: reasoning,
		Timestamp: t.a.k.Now().UnixMilli(), Segments: t.segments, Metadata: t.replyMetadata(info),
	})
	if err != nil {
		t.log().Warn("Failed to save reply", "error", err)
	}
}

func (t *turn) replyMetadata(info *message.ModelInfo) map[string]any {
	out := map[string]any{"senderType": "assistant", "modelInfo": infoMetadata(info)}
	for _, f := range [...]struct{ key, value string }{
		{"platform", t.msg.Platform}, {"groupId", t.msg.GroupID}, {"groupName", t.msg.GroupName},
		{"sessionType", string(t.msg.SessionType)},
	} {
		if f.value != "" {
			out[f.key] = f.value
		}
	}
	return out
}

// reasoningBreak stands between the reasoning of one call and that of the next.
const reasoningBreak = "\n\n---\n\n"

// deliver sends the reply. Segments are what clients show, so if a hook replaced the model's words they must not bring
// them back.
func (t *turn) deliver(ctx context.Context, content, said string, info *message.ModelInfo) {
	segments := t.segments
	if content != said {
		segments = slices.DeleteFunc(slices.Clone(segments), func(s message.Segment) bool {
			return s.Type == message.SegmentText
		})
		segments = append(segments, message.Segment{Type: message.SegmentText, Content: content})
	}
	var reasoning []string
	for _, s := range t.segments {
		if s.Type == message.SegmentReasoningText {
			reasoning = append(reasoning, s.Content)
		}
	}
	t.replied = true
	ctx, cancel := settle(ctx)
	defer cancel()
	t.a.send(ctx, message.Outgoing{
		Content: content, SessionID: t.msg.SessionID, Platform: t.msg.Platform, TurnID: t.msg.TurnID,
		ReasoningContent: strings.Join(reasoning, reasoningBreak), Segments: segments,
		Source: message.FromAgent, ModelInfo: info,
	})
}
