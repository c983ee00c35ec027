// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package llmollama

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/aalis-dev/aalis-operator/runtime/contract/llm"
	"github.com/aalis-dev/aalis-operator/runtime/llmhttp"
)

// showTimeout bounds the question what one model can do.
const showTimeout = 10 * time.Second

// shown is what the server said of a model.
type shown struct {
	digest string
	caps   []llm.Capability // empty if it did not say
	chats  bool
}

// List implements llmhttp.Backend: it asks for the models and, of those that it does not know yet, what they can do. A
// model about which the server says nothing is offered all the same.
func (b *backend) List(ctx context.Context, ep *llmhttp.Endpoint) ([]string, error) {
	var tags struct {
		Models []struct {
			Name   string `json:"name"`
			Digest string `json:"digest"`
		} `json:"models"`
	}
	if err := ep.GetJSON(ctx, pathTags, &tags); err != nil {
		return nil, err
	}
	before := map[string]shown{}
	if known := b.known.Load(); known != nil {
		before = *known
	}
	after := make(map[string]shown, len(tags.Models))
	var out []string
	for _, m := range tags.Models[:min(len(tags.Models), llmhttp.MaxModels)] {
		s, ok := before[m.Name]
		if !ok || s.digest != m.Digest || len(s.caps) == 0 {
			s = show(ctx, ep, m.Name)
			s.digest = m.Digest
		}
		after[m.Name] = s
		if s.chats {
			out = append(out, m.Name)
		}
	}
	b.known.Store(&after)
	return out, nil
}

// show asks what a model can do.
func show(ctx context.Context, ep *llmhttp.Endpoint, id string) shown {
	ctx, cancel := context.WithTimeout(ctx, showTimeout)
	defer cancel()
	var details struct {
		Capabilities []string `json:"capabilities"`
	}
	body := map[string]string{"model": id}
	if err := ep.PostJSON(ctx, pathShow, body, &details); err != nil || len(details.Capabilities) == 0 {
		return shown{chats: !strings.Contains(strings.ToLower(id), "embed")}
	}
	out := shown{chats: slices.Contains(details.Capabilities, "completion")}
	for _, name := range details.Capabilities {
		if c, ok := serverNames[name]; ok {
			out.caps = append(out.caps, c)
		}
	}
	out.caps = append(out.caps, llm.CapStreaming)
	return out
}

// serverNames are capabilities as the server calls them.
var serverNames = map[string]llm.Capability{
	"completion": llm.CapChat, "tools": llm.CapToolCalling, "vision": llm.CapVision, "audio": llm.CapAudio,
	"thinking": llm.CapThinking,
}

// Sets of capabilities of the table.
var (
	capsChat     = []llm.Capability{llm.CapChat, llm.CapStreaming}
	capsTools    = append(slices.Clip(capsChat), llm.CapToolCalling)
	capsVision   = append(slices.Clip(capsChat), llm.CapVision)
	capsThinking = append(slices.Clip(capsTools), llm.CapThinking)
	capsSees     = append(slices.Clip(capsTools), llm.CapVision)
	capsAll      = append(slices.Clip(capsThinking), llm.CapVision)
)

// families says what model families can do; the first that a name begins with counts.
var families = []struct {
	name string
	caps []llm.Capability
}{
	{"llama3.2-vision", capsVision}, {"llama3", capsTools}, {"llama4", capsSees}, {"llava", capsVision}, {"bakllava", capsVision},
	{"minicpm-v", capsVision}, {"moondream", capsVision}, {"qwen3-vl", capsAll}, {"qwen2.5vl", capsVision}, {"qwen3", capsThinking},
	{"qwen2.5", capsTools}, {"qwq", capsThinking}, {"deepseek-r1", capsThinking}, {"deepseek-v3.1", capsThinking},
	{"gpt-oss", capsThinking}, {"magistral", capsThinking}, {"mistral-small3", capsSees}, {"mistral", capsTools},
	{"mixtral", capsTools}, {"gemma3n", capsChat}, {"gemma3", capsVision}, {"gemma", capsChat}, {"phi4-mini", capsTools},
	{"phi", capsChat}, {"command-r", capsTools}, {"granite3", capsTools}, {"granite4", capsTools},
}

// guess says what a model's name suggests, with or without a vendor before a slash.
func guess(id string) []llm.Capability {
	name := strings.ToLower(id[strings.LastIndexByte(id, '/')+1:])
	for _, f := range families {
		if strings.HasPrefix(name, f.name) {
			return f.caps
		}
	}
	return []llm.Capability{llm.CapChat}
}
