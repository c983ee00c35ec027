// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package memorysummary

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/aalis-dev/aalis-operator/runtime/contract/agent"
	"github.com/aalis-dev/aalis-operator/runtime/contract/llm"
	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
	"github.com/aalis-dev/aalis-operator/runtime/contract/tokens"
	"github.com/aalis-dev/aalis-operator/runtime/i18n"
)

const (
	// minBudget is the least that a summary may take, in tokens.
	minBudget = 512
	// assumedContext is the context window of a model that is not there or does not tell.
	assumedContext = 4096
	// minChunk and maxChunk bound what is summarised in one call, in tokens.
	minChunk, maxChunk = 1024, 24_000
	// callTimeout bounds one call of a model.
	callTimeout = 3 * time.Minute
	warmth      = 0.3
	// todoTool is the tool that keeps the list of tasks.
	todoTool = "manage_todo_list"
	// Who speaks, as the model reads it. Exact in every language.
	userLine, assistantLine = "用户: ", "助手: "
)

var (
	errNoModel = errors.New("no chat model is available")
	errEmpty   = errors.New("the model answered with nothing")
	errBroken  = errors.New("the reply broke off")
)

// modelError is a failure of the model, after which the session is trimmed all the same.
type modelError struct{ err error }

// Error implements error.
func (e *modelError) Error() string { return e.err.Error() }

// writer has a model write summaries.
type writer struct {
	s      *summarizer
	models []llm.Model
	system string
	budget int
	// limit is what one call takes of the conversation, in tokens.
	limit int
	lang  i18n.Language
}

func (s *summarizer) writer(cfg Config) (*writer, error) {
	w := &writer{s: s, models: s.models(cfg), lang: i18n.Of(s.k)}
	if len(w.models) == 0 {
		return nil, errNoModel
	}
	window := contextLength(w.models)
	w.budget = budget(window, cfg)
	w.limit = min(max(window/2-w.budget, minChunk), maxChunk)
	w.system = cfg.SummaryPrompt
	if strings.TrimSpace(w.system) == "" {
		w.system = i18n.SummaryPrompt().In(w.lang)
	}
	w.system += "\n" + i18n.SummaryBudget(w.budget).In(w.lang)
	return w, nil
}

// models are those that may summarise, in order; none if the one that is asked for is not there.
func (s *summarizer) models(cfg Config) []llm.Model {
	if cfg.SummaryModelMode == modeCustom {
		return llm.Candidates(s.k, llm.Ref{Provider: cfg.SummaryLLM.Plugin, ID: cfg.SummaryLLM.ID}, llm.CapChat)
	}
	if a, ok := agent.Service.Get(s.k); ok {
		if entry, err := a.DefaultModel(); err == nil {
			for _, e := range llm.Service.Entries(s.k) {
				if info := e.Instance.Info(); e.EntryID == entry {
					return llm.Candidates(s.k, llm.Ref{Provider: info.Provider, ID: info.ID}, llm.CapChat)
				}
			}
		}
	}
	return llm.Candidates(s.k, llm.Ref{}, llm.CapChat)
}

func contextLength(models []llm.Model) int {
	if len(models) > 0 {
		if n := models[0].Info().ContextLength; n > 0 {
			return n
		}
	}
	return assumedContext
}

// budget is how many tokens a summary may take.
func budget(window int, cfg Config) int {
	return max(minBudget, int(float64(window)*cfg.SummaryTokenRatio))
}

// chunk writes the oldest messages down, as many as one call takes, and gives their number. It is over 0, and does not
// part a tool's result from its call. Lines are empty if nobody says anything in them.
func (w *writer) chunk(old []message.Message) (n int, lines string) {
	var b strings.Builder
	room := w.limit
	for ; n < len(old); n++ {
		line := w.line(old[n])
		if line == "" {
			continue
		}
		size := tokens.Estimate.Count(line)
		if size > room && b.Len() > 0 {
			break
		}
		room -= size
		b.WriteString(line + "\n")
	}
	return n, b.String()
}

// line is a message as the model reads it, or empty. Even a huge one fits into one call.
func (w *writer) line(m message.Message) string {
	text := strings.TrimSpace(m.Content)
	if text == "" || m.IsControl() {
		return ""
	}
	switch m.Role {
	case message.RoleUser:
		return userLine + w.fit(text)
	case message.RoleAssistant:
		return assistantLine + w.fit(text)
	default:
		return ""
	}
}

// fit cuts a text to what one call takes: no code unit costs more than one and a half tokens.
func (w *writer) fit(text string) string { return i18n.Cut(text, w.limit*2/3) }

// write has the summary so far and more of the conversation made into one.
func (w *writer) write(ctx context.Context, previous, lines, todo string) (string, error) {
	var b strings.Builder
	if previous != "" {
		b.WriteString(i18n.SummaryPrevious().In(w.lang) + "\n" + w.fit(previous) + "\n\n")
	}
	b.WriteString(i18n.SummaryNew().In(w.lang) + "\n" + lines)
	if todo != "" {
		b.WriteString("\n" + i18n.SummaryTask().In(w.lang) + "\n" + w.fit(todo) + "\n")
	}
	temperature, think := warmth, false
	req := llm.Request{
		Messages: []message.Message{
			{Role: message.RoleSystem, Content: w.system}, {Role: message.RoleUser, Content: b.String()},
		},
		Temperature: &temperature, Think: &think,
	}
	on := llm.FallbackOn(w.s.k)
	var text string
	var err error
	for _, m := range w.models {
		text, err = w.s.call(ctx, m, req)
		if err == nil || ctx.Err() != nil || !llm.MayFallOver(err, on) {
			break
		}
	}
	if err != nil {
		return "", err
	}
	if text = strings.TrimSpace(text); text == "" {
		return "", errEmpty
	}
	return i18n.Cut(text, maxSummary), nil
}

// latestTodo gives the arguments of the last call of the tool that keeps the list of tasks.
func latestTodo(ms []message.Message) string {
	for i := len(ms) - 1; i >= 0; i-- {
		for c := len(ms[i].ToolCalls) - 1; c >= 0; c-- {
			if f := ms[i].ToolCalls[c].Function; f.Name == todoTool {
				return f.Arguments
			}
		}
	}
	return ""
}
