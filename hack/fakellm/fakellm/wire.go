// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package fakellm

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// chatRequest is a decoded and validated chat completion request. Fields that change nothing here (temperature, stop,
// seed, response_format and so on) are accepted and ignored.
type chatRequest struct {
	model        string
	messages     []message
	tools        []string // function names, in order
	toolsRaw     []byte   // the tools as sent
	toolChoice   string   // "", "none", "auto", "required" or "function"
	forcedTool   string   // when toolChoice is "function"
	sequential   bool     // parallel_tool_calls is false
	stream       bool
	includeUsage bool
	maxTokens    int // 0 means no limit
}

// wireRequest is chatRequest as it is on the wire.
type wireRequest struct {
	Model         string            `json:"model"`
	Messages      []json.RawMessage `json:"messages"`
	Stream        bool              `json:"stream"`
	StreamOptions *struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
	Tools               json.RawMessage `json:"tools"`
	ToolChoice          json.RawMessage `json:"tool_choice"`
	ParallelToolCalls   *bool           `json:"parallel_tool_calls"`
	MaxTokens           *int            `json:"max_tokens"`
	MaxCompletionTokens *int            `json:"max_completion_tokens"`
	N                   *int            `json:"n"`
}

// message is one message of a prompt.
type message struct {
	Role             string     `json:"role"`
	Content          content    `json:"content"`
	ToolCalls        []toolCall `json:"tool_calls"`
	ToolCallID       string     `json:"tool_call_id"`
	ReasoningContent string     `json:"reasoning_content"`

	raw []byte // as sent; the unit of the prefix cache
}

// toolCall is a call of a function by the model, on the wire.
type toolCall struct {
	ID       string       `json:"id"`
	Type     string       `json:"type"`
	Function functionCall `json:"function"`
}

type functionCall struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// content is a message's content: the text, its text parts joined by newlines, and how many other parts it has.
type content struct {
	text    string
	media   int
	present bool
}

// UnmarshalJSON accepts a string, null or an array of parts.
func (c *content) UnmarshalJSON(b []byte) error {
	b = bytes.TrimSpace(b)
	switch {
	case bytes.Equal(b, []byte("null")):
		return nil
	case len(b) > 0 && b[0] == '"':
		c.present = true
		return json.Unmarshal(b, &c.text)
	case len(b) > 0 && b[0] == '[':
		return c.unmarshalParts(b)
	}
	return errors.New("content must be a string, null or an array of parts")
}

func (c *content) unmarshalParts(b []byte) error {
	var parts []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	if err := json.Unmarshal(b, &parts); err != nil {
		return errors.New("content must be an array of objects with a type")
	}
	var texts []string
	for i, p := range parts {
		switch p.Type {
		case "text":
			texts = append(texts, p.Text)
		case "image_url", "input_audio", "file":
			c.media++
		default:
			return fmt.Errorf("content[%d].type %q is not allowed: use text, image_url, input_audio or file", i, p.Type)
		}
	}
	c.text = strings.Join(texts, "\n")
	c.present = len(parts) > 0
	return nil
}

// decodeChat decodes and validates a chat completion request.
func decodeChat(body []byte) (*chatRequest, *apiError) {
	var w wireRequest
	if err := json.Unmarshal(body, &w); err != nil {
		return nil, decodeError(err, "")
	}
	if w.Model == "" {
		return nil, badRequest("model", "missing_required_parameter", "model is missing or empty: name one of the served models")
	}
	req := &chatRequest{model: w.Model, stream: w.Stream}
	if err := req.takeLimits(&w); err != nil {
		return nil, err
	}
	if err := req.takeTools(&w); err != nil {
		return nil, err
	}
	if err := req.takeMessages(w.Messages); err != nil {
		return nil, err
	}
	return req, nil
}

func (req *chatRequest) takeLimits(w *wireRequest) *apiError {
	if w.N != nil && *w.N != 1 {
		return badRequest("n", "unsupported_value", "n is %d: only 1 is supported", *w.N)
	}
	if w.StreamOptions != nil {
		if !w.Stream {
			return badRequest("stream_options", "invalid_value", "stream_options is only allowed when stream is true")
		}
		req.includeUsage = w.StreamOptions.IncludeUsage
	}
	limits := []struct {
		name  string
		value *int
	}{{"max_tokens", w.MaxTokens}, {"max_completion_tokens", w.MaxCompletionTokens}}
	for _, limit := range limits {
		if limit.value == nil {
			continue
		}
		if *limit.value < 1 {
			return badRequest(limit.name, "integer_below_min_value", "%s is %d: the least allowed is 1", limit.name, *limit.value)
		}
		req.maxTokens = *limit.value
	}
	return nil
}

// decodeError turns an error of encoding/json into an answer; param names the place when the error does not.
func decodeError(err error, param string) *apiError {
	var wrongType *json.UnmarshalTypeError
	if errors.As(err, &wrongType) {
		field := wrongType.Field
		if param != "" {
			field = strings.TrimSuffix(param+"."+field, ".")
		}
		if field == "" {
			return badRequest("", "invalid_type", "the body is a JSON %s: an object is expected", wrongType.Value)
		}
		return badRequest(field, "invalid_type", "%s is a JSON %s: %s is expected", field, wrongType.Value, jsonKind(wrongType))
	}
	if param != "" {
		return badRequest(param, "invalid_value", "%s: %s", param, err)
	}
	return badRequest("", "invalid_json", "the body is not valid JSON: %s", err)
}

func jsonKind(err *json.UnmarshalTypeError) string {
	switch kind := err.Type.Kind().String(); kind {
	case "int":
		return "an integer"
	case "bool":
		return "a boolean"
	case "slice":
		return "an array"
	case "struct":
		return "an object"
	default:
		return "a " + kind
	}
}
