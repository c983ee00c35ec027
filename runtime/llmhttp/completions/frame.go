// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package completions

import (
	"encoding/json"

	"github.com/aalis-dev/aalis-operator/runtime/contract/llm"
	"github.com/aalis-dev/aalis-operator/runtime/llmhttp"
)

// frame is what is read of one piece of a stream. It is used for all pieces of a stream in turn.
type frame struct {
	Choices []frameChoice   `json:"choices"`
	Usage   *usage          `json:"usage"`
	Error   json.RawMessage `json:"error"`
}

type frameChoice struct {
	Index        int    `json:"index"`
	Delta        said   `json:"delta"`
	FinishReason string `json:"finish_reason"`
}

// said is what a model says, whole or in part.
type said struct {
	Content   string `json:"content"`
	Refusal   string `json:"refusal"`
	Reasoning string `json:"reasoning_content"`
	// Thought is the other name under which servers send reasoning.
	Thought   string      `json:"reasoning"`
	ToolCalls []toolDelta `json:"tool_calls"`
}

func (s *said) reasoning() string {
	if s.Reasoning != "" {
		return s.Reasoning
	}
	return s.Thought
}

type usage struct {
	PromptTokens     llmhttp.Count `json:"prompt_tokens"`
	CompletionTokens llmhttp.Count `json:"completion_tokens"`
	Details          *struct {
		CachedTokens *llmhttp.Count `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
	CompletionDetails *struct {
		ReasoningTokens *llmhttp.Count `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
	// CacheHits is how DeepSeek tells the same as Details.
	CacheHits *llmhttp.Count `json:"prompt_cache_hit_tokens"`
}

func (u *usage) read() *llm.Usage {
	out := &llm.Usage{
		PromptTokens: int(u.PromptTokens), CompletionTokens: int(u.CompletionTokens),
		TotalTokens: int(u.PromptTokens) + int(u.CompletionTokens), CachedPromptTokens: u.CacheHits.Told(),
	}
	if out.CachedPromptTokens == nil && u.Details != nil {
		out.CachedPromptTokens = u.Details.CachedTokens.Told()
	}
	if u.CompletionDetails != nil {
		out.ReasoningTokens = u.CompletionDetails.ReasoningTokens.Told()
	}
	return out
}

// reset empties a frame for the next piece; the room for choices is kept.
func (f *frame) reset() {
	clear(f.Choices)
	*f = frame{Choices: f.Choices[:0]}
}

// onlySays tells a frame with a piece of text and nothing else.
func (f *frame) onlySays() bool {
	c := &f.Choices[0]
	return len(f.Choices) == 1 && f.Usage == nil && c.FinishReason == "" && c.Delta.Content != "" && c.Delta.Refusal == "" &&
		c.Delta.Reasoning == "" && c.Delta.Thought == "" && len(c.Delta.ToolCalls) == 0
}
