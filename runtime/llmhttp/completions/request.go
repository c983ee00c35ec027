// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package completions

import (
	"math"

	openai "github.com/sashabaranov/go-openai"

	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
)

// Messages puts a prepared conversation into the form of the protocol. What only the runtime keeps with a message stays
// behind; so do reasoning and images unless they are asked for.
func Messages(in []message.Message, images, reasoning bool) []openai.ChatCompletionMessage {
	out := make([]openai.ChatCompletionMessage, 0, len(in))
	for i := range in {
		m := &in[i]
		w := openai.ChatCompletionMessage{
			Role: string(m.Role), Content: m.Content, ToolCallID: m.ToolCallID, ToolCalls: wireCalls(m.ToolCalls),
		}
		if reasoning {
			w.ReasoningContent = m.ReasoningContent
		}
		switch {
		case images && m.Role == message.RoleUser && len(m.Images) > 0:
			w.Content, w.MultiContent = "", wireParts(m)
		case m.Content != "" || len(m.ToolCalls) > 0:
		case m.Role == message.RoleTool || w.ReasoningContent != "":
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

// Tools puts definitions of tools into the form of the protocol. strict makes all of them strict.
func Tools(in []message.ToolDefinition, strict bool) []openai.Tool {
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
			Name: t.Function.Name, Description: t.Function.Description, Strict: strict || t.Function.Strict, Parameters: parameters,
		}}
	}
	return out
}

// Streamed makes a request one for a stream that tells the usage too.
func Streamed(r *openai.ChatCompletionRequest) {
	r.Stream = true
	r.StreamOptions = &openai.StreamOptions{IncludeUsage: true}
}

// Temperature gives a temperature as a request holds it. The library leaves a zero out, and the server would take its
// own default.
func Temperature(t float64) float32 {
	if out := float32(t); out != 0 {
		return out
	}
	return math.SmallestNonzeroFloat32
}
