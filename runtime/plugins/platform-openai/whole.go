// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package platformopenai

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
)

const (
	noticeHeader = "X-Aalis-Notice"
	noticeSystem = "system"
	// separator stands between several things said in one turn.
	separator = "\n\n"
)

// usage is the tokens that a turn took.
type usage struct {
	PromptTokens     int `json:"prompt_tokens"`
	CompletionTokens int `json:"completion_tokens"`
	TotalTokens      int `json:"total_tokens"`
}

func usageOf(info *message.ModelInfo) usage {
	if info == nil {
		return usage{}
	}
	return usage{
		PromptTokens: info.PromptTokens, CompletionTokens: info.CompletionTokens,
		TotalTokens: info.PromptTokens + info.CompletionTokens,
	}
}

// whole answers with one document.
type whole struct {
	w http.ResponseWriter
	meta
	texts     []string
	reasoning []string
	spoken    bool // something was said by others than the bot's own machinery
	notice    bool // something was said by that
	info      *message.ModelInfo
}

func (a *whole) take(e event) {
	if e.kind != evSaid {
		return
	}
	if e.said.Content != "" {
		a.texts = append(a.texts, e.said.Content)
	}
	if e.said.ReasoningContent != "" {
		a.reasoning = append(a.reasoning, e.said.ReasoningContent)
	}
	if e.said.ModelInfo != nil {
		a.info = e.said.ModelInfo
	}
	if isNotice(e) {
		a.notice = true
	} else {
		a.spoken = true
	}
}

func (a *whole) full() bool       { return false }
func (a *whole) flush() error     { return nil }
func (a *whole) beat() error      { return nil }
func (a *whole) answered() bool   { return len(a.texts) > 0 }
func (a *whole) noticed() bool    { return a.notice }
func (a *whole) fail(e *apiError) { e.write(a.w) }

type completion struct {
	ID      string             `json:"id"`
	Object  string             `json:"object"`
	Created int64              `json:"created"`
	Model   string             `json:"model"`
	Choices []completionChoice `json:"choices"`
	Usage   usage              `json:"usage"`
}

type completionChoice struct {
	Index        int               `json:"index"`
	Message      completionMessage `json:"message"`
	Logprobs     *struct{}         `json:"logprobs"`
	FinishReason string            `json:"finish_reason"`
}

type completionMessage struct {
	Role             string `json:"role"`
	Content          string `json:"content"`
	ReasoningContent string `json:"reasoning_content,omitempty"`
}

func (a *whole) finish() {
	body, err := json.Marshal(completion{
		ID: a.id, Object: "chat.completion", Created: a.created, Model: a.model,
		Choices: []completionChoice{{
			Message: completionMessage{
				Role: string(message.RoleAssistant), Content: strings.Join(a.texts, separator),
				ReasoningContent: strings.Join(a.reasoning, separator),
			},
			FinishReason: "stop",
		}},
		Usage: usageOf(a.info),
	})
	if err != nil { // cannot happen: texts and numbers only
		errInternal.write(a.w)
		return
	}
	if len(a.texts) > 0 && !a.spoken {
		a.w.Header().Set(noticeHeader, noticeSystem)
	}
	writeJSON(a.w, http.StatusOK, body)
}

var _ responder = (*whole)(nil)
