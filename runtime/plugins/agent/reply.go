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
	"github.com/aalis-dev/aalis-operator/runtime/i18n"
)

// formatReminder is what the model is told when its reply is refused without a reason.
const formatReminder = `[系统提示] 你上一条回复不符合要求的输出格式。请严格按照要求的格式重新输出完整回复，不要附加任何其他文字。`

// reply ends a turn whose model has answered: last is what the assistant said before, by the history.
func (t *turn) reply(ctx context.Context, r llm.Response, last string) error {
	data := agent.ReplyData{
		Content: r.Content, SessionID: t.msg.SessionID, Platform: t.msg.Platform, UserID: t.msg.UserID,
		TriggerType: triggerOf(t.msg),
	}
	if err := t.replyBefore(ctx, &data); err != nil {
		return err
	}
	r, err := t.retry(ctx, &data, r)
	if err != nil {
		return err
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
		t.excuse(ctx, r)
		t.finish(ctx, agent.Silent, "")
		return nil
	}
	stored := data.ArchiveContent
	if stored == "" {
		stored = r.Content
	}
	modelInfo := t.modelInfo(t.model.Info())
	t.save(ctx, stored, r.ReasoningContent, modelInfo)
	t.deliver(ctx, data.Content, r.Content, modelInfo)
	t.finish(ctx, agent.Replied, data.Content)
	return nil
}

func (t *turn) replyBefore(ctx context.Context, data *agent.ReplyData) error {
	if _, err := agent.ReplyBefore.Run(ctx, t.a.k, data, nil); err != nil {
		return fmt.Errorf("before the reply: %w", err)
	}
	return nil
}

// retry asks again, without tools and hooks, as long as the hook refuses the reply and its first run allowed it. A reply
// that is refused in the end is not sent. The result is the last reply.
func (t *turn) retry(ctx context.Context, data *agent.ReplyData, r llm.Response) (llm.Response, error) {
	most := data.MaxRetries
	for data.RetryRequested && data.Attempt < most && strings.TrimSpace(r.Content) != "" {
		feedback := data.RetryFeedback
		if feedback == "" {
			feedback = formatReminder
		}
		t.log().Info("Asked for another reply", "attempt", data.Attempt+1, "limit", most)
		t.list = append(slices.Clip(t.list), message.Message{
			Role: message.RoleAssistant, Content: r.Content, ReasoningContent: r.ReasoningContent,
		}, system(injectorOther, feedback))
		c, err := t.call(ctx, t.list, nil, false)
		if err != nil {
			return r, err
		}
		r = c.response()
		data.Content, data.ArchiveContent, data.RetryRequested, data.RetryFeedback = r.Content, "", false, ""
		data.Attempt++
		if err := t.replyBefore(ctx, data); err != nil {
			return r, err
		}
	}
	if data.RetryRequested {
		t.log().Warn("Dropped reply that is refused for good", "attempts", data.Attempt+1)
		data.Content = ""
	}
	return r, nil
}

// repeats tells whether a reply is noise because the same was said just before. In a private conversation somebody who
// asks waits for an answer, and the same question may well have the same answer.
func (t *turn) repeats(content, last string) bool {
	if content == "" || content != last {
		return false
	}
	return !t.awaited()
}

// awaited tells whether somebody waits for this very answer: who asks in a private conversation does.
func (t *turn) awaited() bool {
	trigger := triggerOf(t.msg)
	asked := trigger == message.TriggerDirect || trigger == message.TriggerImmediate
	public := t.msg.SessionType == message.SessionGroup || t.msg.SessionType == message.SessionChannel
	return asked && !public
}

// excuse tells who waits for an answer that the model has none. In public, and where nobody asked, a model may well keep
// silent, and so may a handler that took the reply away.
func (t *turn) excuse(ctx context.Context, r llm.Response) {
	if !t.awaited() || t.msg.Source != "" || strings.TrimSpace(r.Content) != "" {
		return
	}
	why := i18n.NoAnswer()
	if t.toolLimitReached {
		why = i18n.ToolLimit(t.cfg.MaxToolIterations)
	}
	t.a.say(ctx, t.msg, why.Notice(i18n.Of(t.a.k)))
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
		Timestamp: t.stamp(), Segments: t.segments, Metadata: t.replyMetadata(info),
	})
	if err != nil {
		t.log().Warn("Failed to save reply", "error", err)
	}
}

func (t *turn) replyMetadata(info *message.ModelInfo) map[string]any {
	out := t.assistantMetadata()
	out["modelInfo"] = infoMetadata(info)
	return out
}

// reasoningBreak stands between the reasoning of one call and that of the next.
const reasoningBreak = "\n\n---\n\n"

// deliver sends the reply. Segments are what clients show, so if a hook replaced the words of the answer they must not
// bring them back. What the model said before it used tools stands.
func (t *turn) deliver(ctx context.Context, content, said string, info *message.ModelInfo) {
	segments := t.segments
	if content != said {
		segments = slices.Clone(segments[:t.answerFrom])
		for _, s := range t.segments[t.answerFrom:] {
			if s.Type != message.SegmentText {
				segments = append(segments, s)
			}
		}
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
