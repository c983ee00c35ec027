// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package llmopenai

import (
	"math"

	openai "github.com/sashabaranov/go-openai"

	"github.com/aalis-dev/aalis-operator/runtime/contract/llm"
	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
)

// buildRequest makes the wire request of a call.
func buildRequest(id string, req llm.Request, set *settings) openai.ChatCompletionRequest {
	out := openai.ChatCompletionRequest{Model: id, Messages: wireMessages(req.Messages), Tools: wireTools(req.Tools)}
	limit := set.maxTokens
	if req.MaxTokens > 0 {
		limit = req.MaxTokens
	}
	if reasons(id) {
		out.MaxCompletionTokens = limit
		return out
	}
	out.MaxTokens = limit //nolint:staticcheck // servers other than the official one know only this field
	temperature := set.temperature
	if req.Temperature != nil {
		temperature = *req.Temperature
	}
	out.Temperature = float32(temperature)
	if out.Temperature == 0 {
		// The library leaves a zero out, and the server would take its own default.
		out.Temperature = math.SmallestNonzeroFloat32
	}
	return out
}

// wireMessages prepares a conversation and puts it into the form of the protocol. What only the runtime keeps with a
// message, reasoning included, stays behind.
func wireMessages(in []message.Message) []openai.ChatCompletionMessage {
	prepared := llm.Prepare(in)
	out := make([]openai.ChatCompletionMessage, 0, len(prepared))
	for i := range prepared {
		m := &prepared[i]
		w := openai.ChatCompletionMessage{
			Role: string(m.Role), Content: m.Content, ToolCallID: m.ToolCallID, ToolCalls: wireCalls(m.ToolCalls),
		}
		switch {
		case m.Role == message.RoleUser && len(m.Images) > 0:
			w.Content, w.MultiContent = "", wireParts(m)
		case m.Content != "" || len(m.ToolCalls) > 0:
		case m.Role == message.RoleTool:
			w.Content = " " // the library leaves an empty content out, which servers refuse
		default:
			continue // says nothing
		}
		out = append(out, w)
	}
	return out
}

func wireParts(m *message.Message) []openai.ChatMessagePart {
	parts := make([]openai.ChatMessagePart, 0, 1+len(m.Images))
	if m.Content != "" {
		parts = append(parts, openai.ChatMessagePart{Type: openai.ChatMessagePartTypeText, Text: m.Content})
	}
	for _, image := range m.Images {
		parts = append(parts, openai.ChatMessagePart{
			Type: openai.ChatMessagePartTypeImageURL, ImageURL: &openai.ChatMessageImageURL{URL: image},
		})
	}
	return parts
}

func wireCalls(in []message.ToolCall) []openai.ToolCall {
	if len(in) == 0 {
		return nil
	}
	out := make([]openai.ToolCall, len(in))
	for i, c := range in {
		out[i] = openai.ToolCall{
			ID: c.ID, Type: openai.ToolTypeFunction,
			Function: openai.FunctionCall{Name: c.Function.Name, Arguments: c.Function.Arguments},
		}
	}
	return out
}

func wireTools(in []message.ToolDefinition) []openai.Tool {
	if len(in) == 0 {
		return nil
	}
	out := make([]openai.Tool, len(in))
	for i, t := range in {
		parameters := t.Function.Parameters
		if parameters == nil {
			parameters = map[string]any{"type": "object", "properties": map[string]any{}}
		}
		out[i] = openai.Tool{Type: openai.ToolTypeFunction, Function: &openai.FunctionDefinition{
			Name: t.Function.Name, Description: t.Function.Description, Strict: t.Function.Strict, Parameters: parameters,
		}}
	}
	return out
}
