// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package llmdeepseek

import (
	"slices"

	openai "github.com/sashabaranov/go-openai"

	"github.com/aalis-dev/aalis-operator/runtime/contract/llm"
	"github.com/aalis-dev/aalis-operator/runtime/llmhttp/completions"
)

// request is a request of OpenAI's protocol with what DeepSeek adds.
type request struct {
	openai.ChatCompletionRequest

	Thinking thinking `json:"thinking"`
}

type thinking struct {
	Type string `json:"type"`
}

// buildRequest makes the wire request of a call.
func buildRequest(id string, req llm.Request, set *settings) *request {
	out := &request{ChatCompletionRequest: openai.ChatCompletionRequest{
		Model:     id,
		Messages:  completions.Messages(placeSystem(llm.Prepare(req.Messages)), false, true),
		Tools:     completions.Tools(req.Tools, set.strict),
		MaxTokens: set.MaxTokensOf(req), //nolint:staticcheck // the server knows only this field
	}}
	if set.jsonOnly && len(req.Tools) == 0 {
		out.ResponseFormat = &openai.ChatCompletionResponseFormat{Type: openai.ChatCompletionResponseFormatTypeJSONObject}
	}
	if set.think(id, req.Think) {
		out.Thinking.Type = enabled
		if set.effort != auto {
			out.ReasoningEffort = set.effort
		}
		return out
	}
	// What is not said is on: the switch is always sent.
	out.Thinking.Type = disabled
	out.Temperature = completions.Temperature(set.TemperatureOf(req))
	return out
}

// think decides whether a model thinks: as the request says, else as the config says, else if it can.
func (s *settings) think(id string, asked *bool) bool {
	switch {
	case asked != nil:
		return *asked
	case s.thinking != auto:
		return s.thinking == enabled
	default:
		return slices.Contains(s.Models.Can(id, guess), llm.CapThinking)
	}
}
