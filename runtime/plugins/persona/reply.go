// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package persona

import (
	"context"
	"strings"

	"github.com/aalis-dev/aalis-operator/runtime/contract/agent"
	"github.com/aalis-dev/aalis-operator/runtime/contract/persona"
	"github.com/aalis-dev/aalis-operator/runtime/contract/session"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
	"github.com/aalis-dev/aalis-operator/runtime/textrepair"
)

const (
	feedbackHead = "[系统] 上一条回复不符合要求的格式："
	feedbackTail = "请只输出一个 JSON 对象，必须包含以下字段："
	notAnObject  = "无法解析为 JSON 对象"
	noReplyField = "缺少文本形式的回复字段 "
	droppedNote  = "[系统] 这条回复因格式不符被丢弃，未发送给对方："
)

// The keys under which models put what they want to say, best first.
var (
	replyKeys  = []string{"response", "reply", "content", "answer", "text", "msg"}
	unwrapKeys = []string{"response", "reply", "content", "answer", "text", "msg", "message"}
)

// beforeReply takes what is to be sent out of the object that a reply is, once everybody else has had their say.
func (p *provider) beforeReply(ctx context.Context, d *agent.ReplyData, next kernel.Next) error {
	if err := next(ctx); err != nil {
		return err
	}
	if strings.TrimSpace(d.Content) == "" {
		return nil
	}
	o := p.optionsOf(d.SessionID, d.Platform)
	card := p.role(o).card
	format := card.Format(o)
	if format == nil {
		unwrap(d)
		return nil
	}
	d.MaxRetries = format.MaxRetries()
	reply, state, object, problems := read(format, d.Content)
	if len(problems) > 0 {
		p.refuse(d, format, problems)
		return nil
	}
	if len(object.Repairs) > 0 {
		p.k.Logger().Debug("Repaired structured reply", "sessionId", d.SessionID, "repairs", object.Repairs)
	}
	d.ArchiveContent = object.Text
	d.Content = reply
	if card.RendersAtClient(o) && strings.TrimSpace(reply) != "" {
		d.Content = object.Text
	}
	if p.options.Load().keepState {
		p.states.save(ctx, d.SessionID, state)
	}
	return nil
}

// optionsOf asks the session manager what is in effect in a session.
func (p *provider) optionsOf(sessionID, platform string) persona.Options {
	m, ok := session.Service.Get(p.k)
	if !ok {
		return persona.Options{}
	}
	return m.Resolve(sessionID, platform).PersonaOptions()
}

// unwrap takes the text out of a JSON object that nobody asked for. What has no text that could be meant stays as it is.
func unwrap(d *agent.ReplyData) {
	if !strings.HasPrefix(strings.TrimSpace(d.Content), "{") {
		return
	}
	object, ok := textrepair.FindObject(d.Content)
	if !ok {
		return
	}
	if text, ok := firstText(object.Fields, unwrapKeys); ok {
		d.Content = text
	}
}

func firstText(fields map[string]any, keys []string) (string, bool) {
	for _, key := range keys {
		if text, ok := fields[key].(string); ok {
			return text, true
		}
	}
	return "", false
}

// read takes a reply apart, or says what is wrong with it.
func read(f *persona.OutputFormat, content string) (reply string, state map[string]any, object textrepair.Object, problems []string) {
	object, ok := textrepair.FindObject(content)
	if !ok {
		return "", nil, object, []string{notAnObject}
	}
	field, _ := f.ReplyField()
	state, problems = validate(f, object.Fields)
	reply, ok = replyText(object.Fields, field)
	if !ok && len(problems) == 0 {
		problems = []string{noReplyField + field}
	}
	return reply, state, object, problems
}

// replyText finds what is to be sent: the field that is meant for it, one of the usual names, or the only text there is.
func replyText(fields map[string]any, field string) (string, bool) {
	if text, ok := firstText(fields, []string{field}); ok {
		return text, true
	}
	if text, ok := firstText(fields, replyKeys); ok {
		return text, true
	}
	only, count := "", 0
	for _, value := range fields {
		if text, ok := value.(string); ok {
			only = text
			count++
		}
	}
	return only, count == 1
}

// refuse asks for another reply or, if that was done often enough, drops this one: what does not fit may be raw JSON, and
// that is never shown to anybody.
func (p *provider) refuse(d *agent.ReplyData, f *persona.OutputFormat, problems []string) {
	reason := strings.Join(problems, "；")
	p.k.Logger().Warn("Refused structured reply", "sessionId", d.SessionID, "attempt", d.Attempt, "maxRetries", d.MaxRetries, "reason", reason)
	if d.Attempt < d.MaxRetries {
		d.RetryRequested = true
		d.RetryFeedback = feedback(f, reason)
		return
	}
	d.RetryRequested = false
	d.Content = ""
	d.ArchiveContent = droppedNote + reason
}

func feedback(f *persona.OutputFormat, reason string) string {
	reply, _ := f.ReplyField()
	return feedbackHead + reason + "。\n" + feedbackTail + "\n" + explain(f) + "\n" + strings.ReplaceAll(silenceHint, "%s", reply)
}
