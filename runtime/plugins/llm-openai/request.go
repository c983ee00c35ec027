// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package llmopenai

import (
	openai "github.com/sashabaranov/go-openai"

	"github.com/aalis-dev/aalis-operator/runtime/contract/llm"
	"github.com/aalis-dev/aalis-operator/runtime/llmhttp/completions"
)

// buildRequest makes the wire request of a call.
func buildRequest(id string, req llm.Request, set *settings) openai.ChatCompletionRequest {
	out := openai.ChatCompletionRequest{
		Model: id, Messages: completions.Messages(llm.Prepare(req.Messages), true, false), Tools: completions.Tools(req.Tools, false),
	}
	limit := set.MaxTokensOf(req)
	if reasons(id) {
		out.MaxCompletionTokens = limit
		return out
	}
	out.MaxTokens = limit //nolint:staticcheck // servers other than the official one know only this field
	out.Temperature = completions.Temperature(set.TemperatureOf(req))
	return out
}
