// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package completions

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/aalis-dev/aalis-operator/runtime/contract/llm"
	"github.com/aalis-dev/aalis-operator/runtime/llmhttp"
)

// filtered is the finish reason of a reply that the content filter ended.
const filtered = "content_filter"

// document is a whole reply.
type document struct {
	Choices []struct {
		Message      said   `json:"message"`
		FinishReason string `json:"finish_reason"`
	} `json:"choices"`
	Usage *usage `json:"usage"`
}

// Chat asks for a whole reply at a path of the server. The body is a request without stream.
func Chat(ctx context.Context, c llmhttp.Call, path string, body any) (llm.Response, error) {
	quiet := c.AwaitHeader()
	defer quiet()
	resp, err := c.Endpoint.Post(ctx, path, body, llmhttp.AcceptJSON)
	if err != nil {
		return llm.Response{}, err
	}
	raw, err := llmhttp.ReadAll(resp)
	if err != nil {
		return llm.Response{}, err
	}
	return readReply(raw)
}

// readReply takes a whole reply apart.
func readReply(raw []byte) (llm.Response, error) {
	var doc document
	if err := json.Unmarshal(raw, &doc); err != nil {
		if _, ok := errors.AsType[*json.UnmarshalTypeError](err); !ok {
			return llm.Response{}, llmhttp.ErrNonsense
		}
	}
	if len(doc.Choices) == 0 {
		return llm.Response{}, llmhttp.ErrNonsense
	}
	choice := &doc.Choices[0]
	out := llm.Response{Content: choice.Message.Content, ReasoningContent: choice.Message.reasoning()}
	if out.Content == "" {
		out.Content = choice.Message.Refusal
	}
	var calls callBuffers
	for i, c := range choice.Message.ToolCalls {
		c.Index = &i
		calls.add(c)
	}
	out.ToolCalls = calls.finish()
	if out.Content == "" && len(out.ToolCalls) == 0 && choice.FinishReason == filtered {
		return llm.Response{}, llmhttp.ErrFiltered
	}
	if u := doc.Usage; u != nil && (u.PromptTokens != 0 || u.CompletionTokens != 0) {
		out.Usage = u.read()
	}
	return out, nil
}
