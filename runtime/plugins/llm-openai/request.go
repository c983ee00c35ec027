// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package llmopenai

import (
	"math"

	openai "github.com/sashabaranov/go-openai"

	"github.com/aalis-dev/aalis-operator/runtime/contract/llm"
	"github.com/aalis-dev/aalis-operator/runtime/llmhttp/completions"
)

// buildRequest makes the wire request of a call.
func buildRequest(id string, req llm.Request, set *settings) openai.ChatCompletionRequest {
	out := openai.ChatCompletionRequest{
		Model: id, Messages: completions.Messages(llm.Prepare(req.Messages), true, false), Tools: completions.Tools(req.Tools, false),
	}
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
