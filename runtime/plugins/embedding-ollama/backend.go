// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package embeddingollama

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"

	"github.com/aalis-dev/aalis-operator/runtime/contract/llm"
	"github.com/aalis-dev/aalis-operator/runtime/llmhttp"
	"github.com/aalis-dev/aalis-operator/runtime/llmhttp/vectors"
)

// backend speaks Ollama's protocol.
type backend struct {
	old atomic.Bool // the server only has the old API
}

// Embed implements vectors.Backend. A server that does not know the API is asked by its older one from then on.
func (b *backend) Embed(ctx context.Context, ep *llmhttp.Endpoint, model, text string) ([]float32, *llm.Usage, error) {
	if b.old.Load() {
		vector, err := embedOld(ctx, ep, model, text)
		return vector, nil, err
	}
	var out struct {
		Embeddings [][]float32    `json:"embeddings"`
		Tokens     *llmhttp.Count `json:"prompt_eval_count"`
	}
	err := ep.PostJSON(ctx, "api/embed", map[string]string{"model": model, "input": text}, &out)
	if isUnknownPath(err) {
		vector, err := embedOld(ctx, ep, model, text)
		if err == nil {
			b.old.Store(true)
		}
		return vector, nil, err
	}
	if err != nil {
		return nil, nil, err
	}
	if len(out.Embeddings) == 0 {
		return nil, nil, llmhttp.ErrNonsense
	}
	var took *llm.Usage
	if n := out.Tokens.Told(); n != nil {
		took = &llm.Usage{PromptTokens: *n}
	}
	return out.Embeddings[0], took, nil
}

func embedOld(ctx context.Context, ep *llmhttp.Endpoint, model, text string) ([]float32, error) {
	var out struct {
		Embedding []float32 `json:"embedding"`
	}
	err := ep.PostJSON(ctx, "api/embeddings", map[string]string{"model": model, "prompt": text}, &out)
	return out.Embedding, err
}

// isUnknownPath tells a server that has no such API from one that has no such model.
func isUnknownPath(err error) bool {
	status, ok := errors.AsType[*llmhttp.StatusError](err)
	return ok && (status.Status == http.StatusNotFound || status.Status == http.StatusMethodNotAllowed) &&
		!strings.Contains(strings.ToLower(status.Body), "model")
}

// List implements vectors.Backend.
func (b *backend) List(ctx context.Context, ep *llmhttp.Endpoint) ([]string, error) {
	var tags struct {
		Models []struct {
			Name string `json:"name"`
		} `json:"models"`
	}
	if err := ep.GetJSON(ctx, "api/tags", &tags); err != nil {
		return nil, err
	}
	out := make([]string, 0, len(tags.Models))
	for _, m := range tags.Models {
		out = append(out, m.Name)
	}
	return out, nil
}

var _ vectors.Backend = (*backend)(nil)
