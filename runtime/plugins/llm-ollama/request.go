// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package llmollama

import (
	"context"
	"encoding/json"

	"github.com/aalis-dev/aalis-operator/runtime/contract/llm"
	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
	"github.com/aalis-dev/aalis-operator/runtime/llmhttp"
	"github.com/aalis-dev/aalis-operator/runtime/llmhttp/completions"
)

// request of the chat API.
type request struct {
	Model     string        `json:"model"`
	Messages  []wireMessage `json:"messages"`
	Tools     any           `json:"tools,omitempty"`
	Stream    bool          `json:"stream"`
	Think     bool          `json:"think"` // always said
	KeepAlive any           `json:"keep_alive"`
	Options   options       `json:"options"`
}

type options struct {
	Temperature float64 `json:"temperature"`
	NumPredict  int     `json:"num_predict"`
	NumCtx      int     `json:"num_ctx"`
}

type wireMessage struct {
	Role      string     `json:"role"`
	Content   string     `json:"content"`
	Images    []string   `json:"images,omitempty"` // base64
	ToolCalls []wireCall `json:"tool_calls,omitempty"`
}

type wireCall struct {
	Function wireFunction `json:"function"`
}

type wireFunction struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"` // an object
}

// buildRequest makes the wire request of a call. Pictures may have to be fetched for it.
func (b *backend) buildRequest(ctx context.Context, c llmhttp.Call, req llm.Request) (*request, error) {
	set := b.Current()
	out := &request{
		Model: c.Model, Think: b.think(c.Model, req.Think, set), KeepAlive: set.keepAlive,
		Options: options{Temperature: set.TemperatureOf(req), NumPredict: set.MaxTokensOf(req), NumCtx: set.ContextLength},
	}
	if tools := completions.Tools(req.Tools, false); len(tools) > 0 {
		out.Tools = tools
	}
	prepared := llm.Prepare(req.Messages)
	images, err := b.loadImages(ctx, c, prepared, req.RequireImages)
	if err != nil {
		return nil, err
	}
	for i := range prepared {
		m := &prepared[i]
		w := wireMessage{Role: string(m.Role), Content: m.Content, ToolCalls: wireCalls(m.ToolCalls)}
		for _, image := range images[i] {
			w.Images = append(w.Images, image.base64)
		}
		if w.Content != "" || len(w.Images) > 0 || len(w.ToolCalls) > 0 || m.Role == message.RoleTool {
			out.Messages = append(out.Messages, w)
		}
	}
	return out, nil
}

func wireCalls(in []message.ToolCall) []wireCall {
	var out []wireCall
	for _, c := range in {
		out = append(out, wireCall{Function: wireFunction{Name: c.Function.Name, Arguments: object(c.Function.Arguments)}})
	}
	return out
}

// object is a text that holds a JSON object, or an empty one.
func object(text string) json.RawMessage {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &fields); err != nil || fields == nil {
		return json.RawMessage("{}")
	}
	return json.RawMessage(text)
}
