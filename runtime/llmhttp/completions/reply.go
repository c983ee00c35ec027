// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package completions

import (
	"context"

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
	var doc document
	if err := c.Endpoint.PostJSON(ctx, path, body, &doc); err != nil {
		return llm.Response{}, err
	}
	return doc.read()
}

// read takes a whole reply apart.
func (doc *document) read() (llm.Response, error) {
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
