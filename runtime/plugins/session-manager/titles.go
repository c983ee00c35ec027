// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sessionmanager

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/aalis-dev/aalis-operator/runtime/contract/agent"
	"github.com/aalis-dev/aalis-operator/runtime/contract/budget"
	"github.com/aalis-dev/aalis-operator/runtime/contract/llm"
	"github.com/aalis-dev/aalis-operator/runtime/contract/memory"
	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
	"github.com/aalis-dev/aalis-operator/runtime/contract/session"
	"github.com/aalis-dev/aalis-operator/runtime/contract/tokens"
	"github.com/aalis-dev/aalis-operator/runtime/contract/tracing"
	"github.com/aalis-dev/aalis-operator/runtime/i18n"
)

// The bounds of titles, in UTF-16 code units, messages, tokens and titles that are being written at a time.
const (
	titleText      = 400
	titleHistory   = 4
	titleQuote     = 200
	titleLength    = 50
	titleFallback  = 20
	titleTokens    = 256
	titleTimeout   = 30 * time.Second
	titlesAtATime  = 4
	titleWarmth    = 0.3
	titlePromptEn  = "Write a title for this conversation: at most eight words, in the language of the conversation, without quotation marks or a full stop. Answer with the title alone."
	titlePromptZh  = "请为以下对话写一个标题：不超过十五个字，使用对话所用的语言，不加引号和句号。只输出标题本身。"
	quotationMarks = "\"'`“”‘’「」《》"
)

var errNoModel = errors.New("no chat model is available")

// title has a title written for a session of one person that has none.
func (m *manager) title(in message.Incoming) {
	switch in.Platform {
	case "", "webui", "cli":
	default:
		return
	}
	m.mu.Lock()
	r := m.records[in.SessionID]
	if r == nil || r.ParentID != "" || r.Title != "" || !m.settings.Load().titles || m.titling[r.ID] || len(m.titling) >= titlesAtATime {
		m.mu.Unlock()
		return
	}
	m.titling[in.SessionID] = true
	m.mu.Unlock()
	m.k.Go("title", func(ctx context.Context) {
		defer func() {
			m.mu.Lock()
			defer m.mu.Unlock()
			delete(m.titling, in.SessionID)
		}()
		m.write(ctx, in)
	})
}

// write finds a title: that of the model or, if there is none, the beginning of what the person said.
func (m *manager) write(ctx context.Context, in message.Incoming) {
	title, err := m.ask(ctx, in)
	if err != nil {
		m.k.Logger().Debug("No title from the model", "sessionId", in.SessionID, "error", err)
	}
	if title == "" {
		title = head(in.Content, titleFallback)
	}
	if title == "" || ctx.Err() != nil {
		return
	}
	m.mu.Lock()
	r := m.records[in.SessionID]
	if r == nil || r.Title != "" {
		m.mu.Unlock()
		return
	}
	_, _ = m.change(ctx, r, session.Patch{Title: title}) // never fails; gives up the lock
}

func (m *manager) ask(ctx context.Context, in message.Incoming) (string, error) {
	text, err := m.about(ctx, in)
	if text == "" || err != nil {
		return "", err
	}
	model, ok := m.model(in)
	if !ok {
		return "", errNoModel
	}
	prompt := titlePromptEn
	if i18n.Of(m.k) == i18n.Chinese {
		prompt = titlePromptZh
	}
	warmth, think := titleWarmth, false
	ctx, cancel := context.WithTimeout(ctx, titleTimeout)
	defer cancel()
	info := model.Info()
	counter := tokens.For(m.k, info.Provider, info.ID)
	asked := counter.Count(prompt) + counter.Count(text)
	grant, err := budget.Reserve(ctx, m.k, budget.Call{
		Who:   budget.Who{Platform: in.Platform, UserID: in.UserID, SessionID: in.SessionID},
		Model: info, PromptTokens: asked, MaxCompletion: titleTokens,
	})
	if err != nil {
		return "", err
	}
	ctx, end := tracing.Chat(ctx, m.k, info, string(agent.PurposeTitle))
	begun := m.k.Now()
	resp, err := model.Chat(ctx, llm.Request{
		Messages:    []message.Message{{Role: message.RoleSystem, Content: prompt}, {Role: message.RoleUser, Content: text}},
		Temperature: &warmth, MaxTokens: grant.MaxCompletion, Think: &think,
	})
	done := agent.CallDone{
		Purpose: agent.PurposeTitle, SessionID: in.SessionID, UserID: in.UserID, Price: info.Price,
		Provider: info.Provider, Model: info.ID, Platform: in.Platform, Duration: m.k.Now().Sub(begun), Err: err,
	}
	if done.Usage, done.Frame = info.Judge(resp.Usage); done.Usage == (llm.Usage{}) && err == nil {
		done.Estimated = true
		done.Usage.PromptTokens, done.Usage.CompletionTokens = asked, counter.Count(resp.Content)
		done.Usage.TotalTokens = done.Usage.PromptTokens + done.Usage.CompletionTokens
	}
	if err != nil && resp.Usage == nil {
		done.Frame = ""
	}
	grant.Settle(done.Usage)
	end(done.Usage, err)
	agent.LLMCall.Emit(context.WithoutCancel(ctx), m.k, done)
	return head(strings.Trim(strings.TrimSpace(resp.Content), quotationMarks), titleLength), err
}

// about is what the title is about: what the person says now or, if that is no text, what was said last.
func (m *manager) about(ctx context.Context, in message.Incoming) (string, error) {
	if text := strings.TrimSpace(in.Content); text != "" {
		return i18n.Cut(text, titleText), nil
	}
	b, ok := memory.Service.Get(m.k)
	if !ok {
		return "", errNoMemory
	}
	history, err := b.History(ctx, in.SessionID, titleHistory)
	var lines []string
	for _, h := range history {
		if text := strings.TrimSpace(h.Content); text != "" && !h.IsControl() {
			lines = append(lines, string(h.Role)+": "+i18n.Cut(text, titleQuote))
		}
	}
	return strings.Join(lines, "\n"), err
}

// model is the one of the session or else the one that the bot answers with.
func (m *manager) model(in message.Incoming) (llm.Model, bool) {
	if ref, ok := m.Resolve(in.SessionID, in.Platform).Model(); ok {
		if model, ok := llm.Resolve(m.k, ref, llm.CapChat); ok {
			return model, true
		}
	}
	if a, ok := agent.Service.Get(m.k); ok {
		if entry, err := a.DefaultModel(); err == nil {
			for _, e := range llm.Service.Entries(m.k) {
				if e.EntryID == entry {
					return e.Instance, true
				}
			}
		}
	}
	return llm.Resolve(m.k, llm.Ref{}, llm.CapChat)
}

// head is the beginning of a text on one line, no character of it cut.
func head(text string, limit int) string {
	text = strings.Join(strings.Fields(text), " ")
	n := 0
	for i, r := range text {
		if n += i18n.Units(string(r)); n > limit {
			return strings.TrimSpace(text[:i])
		}
	}
	return text
}
