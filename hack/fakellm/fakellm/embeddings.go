// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package fakellm

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"hash/fnv"
	"math"
	"strings"
)

const maxEmbeddingInputs = 2048

type embeddingRequest struct {
	Model          string          `json:"model"`
	Input          json.RawMessage `json:"input"`
	EncodingFormat string          `json:"encoding_format"`
	Dimensions     *int            `json:"dimensions"`
}

// embeddings answers POST /v1/embeddings.
func (x *exchange) embeddings() {
	body, ok := x.readBody()
	if !ok {
		return
	}
	var req embeddingRequest
	if err := json.Unmarshal(body, &req); err != nil {
		x.fail(decodeError(err, ""))
		return
	}
	texts, dimensions, bad := req.check(x.s.opts.EmbeddingDimensions)
	if bad != nil {
		x.fail(bad)
		return
	}
	base, inModel, ok := x.accept(req.Model, x.s.opts.EmbeddingModels, false)
	if !ok {
		return
	}
	t := target{api: apiEmbeddings, model: req.Model, base: base, keyHash: x.keyHash, text: texts[len(texts)-1]}
	if !x.applyFaults(t, inModel, nil) {
		return
	}
	type item struct {
		Object    string `json:"object"`
		Index     int    `json:"index"`
		Embedding any    `json:"embedding"`
	}
	data := make([]item, len(texts))
	for i, text := range texts {
		x.bill.PromptTokens += tokensOf(units(text))
		data[i] = item{Object: "embedding", Index: i, Embedding: encodeVector(Embed(text, dimensions), req.EncodingFormat)}
	}
	out := map[string]any{"object": "list", "model": req.Model, "data": data}
	if x.eff.empty {
		out["data"] = []item{}
	}
	if !x.eff.noUsage {
		out["usage"] = map[string]int{"prompt_tokens": x.bill.PromptTokens, "total_tokens": x.bill.PromptTokens}
	}
	x.deliver(out)
}

// check returns the texts and the length of their vectors.
func (r *embeddingRequest) check(dimensions int) ([]string, int, *apiError) {
	if r.Model == "" {
		return nil, 0, badRequest("model", "missing_required_parameter", "model is missing or empty: name one of the served embedding models")
	}
	switch r.EncodingFormat {
	case "", "float", "base64":
	default:
		return nil, 0, badRequest("encoding_format", "invalid_value", "encoding_format %q is not allowed: use float or base64", r.EncodingFormat)
	}
	if r.Dimensions != nil {
		dimensions = *r.Dimensions
		if dimensions < 1 || dimensions > maxDimensions {
			return nil, 0, badRequest("dimensions", "invalid_value", "dimensions is %d: allowed is 1 to %d", dimensions, maxDimensions)
		}
	}
	texts := embeddingTexts(r.Input)
	if len(texts) == 0 || len(texts) > maxEmbeddingInputs {
		return nil, 0, badRequest("input", "invalid_value",
			"input must be a string, an array of tokens, or an array of 1 to %d of these", maxEmbeddingInputs)
	}
	for i, text := range texts {
		if text == "" {
			return nil, 0, badRequest("input", "invalid_value", "input[%d] is empty: text is needed", i)
		}
	}
	return texts, dimensions, nil
}

// embeddingTexts reads an input; an array of tokens is the text of its JSON. Nil means that the type is wrong.
func embeddingTexts(raw json.RawMessage) []string {
	var text string
	if json.Unmarshal(raw, &text) == nil && !bytes.Equal(raw, []byte("null")) && len(raw) > 0 {
		return []string{text}
	}
	var tokens []int
	if json.Unmarshal(raw, &tokens) == nil && len(tokens) > 0 {
		return []string{string(raw)}
	}
	var items []json.RawMessage
	if json.Unmarshal(raw, &items) != nil {
		return nil
	}
	texts := make([]string, len(items))
	for i, item := range items {
		if json.Unmarshal(item, &texts[i]) == nil && !bytes.Equal(item, []byte("null")) {
			continue
		}
		if json.Unmarshal(item, &tokens) != nil || len(tokens) == 0 {
			return nil
		}
		texts[i] = string(item)
	}
	return texts
}

// Embed returns the vector of text: each word, in lower case, adds 1 or -1 at two places that its hash names, and the sum has
// length 1. Equal texts have equal vectors and texts that share words are nearer than those that do not.
func Embed(text string, dimensions int) []float32 {
	sum := make([]float64, dimensions)
	for word := range words(strings.ToLower(text)) {
		h := fnv.New64a()
		_, _ = h.Write([]byte(strings.TrimSpace(word)))
		v := h.Sum64()
		for range 2 {
			sign := 1.0
			if v&1 == 1 {
				sign = -1
			}
			sum[(v>>1)%uint64(dimensions)] += sign
			v = v>>32 | v<<32
		}
	}
	norm := 0.0
	for _, v := range sum {
		norm += v * v
	}
	out := make([]float32, dimensions)
	if norm == 0 {
		// No word, or words that cancel out: any fixed direction will do.
		out[0] = 1
		return out
	}
	norm = math.Sqrt(norm)
	for i, v := range sum {
		out[i] = float32(v / norm)
	}
	return out
}

// encodeVector returns the vector, or its little-endian bytes in base64.
func encodeVector(vector []float32, format string) any {
	if format != "base64" {
		return vector
	}
	b := make([]byte, 0, 4*len(vector))
	for _, v := range vector {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	return base64.StdEncoding.EncodeToString(b)
}
