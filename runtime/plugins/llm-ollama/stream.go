// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package llmollama

import (
	"bytes"
	"encoding/json"
	"strconv"
	"time"

	"github.com/aalis-dev/aalis-operator/runtime/contract/llm"
	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
	"github.com/aalis-dev/aalis-operator/runtime/llmhttp"
	"github.com/aalis-dev/aalis-operator/runtime/schema"
)

// frame is a line of a reply, or all of it.
type frame struct {
	Message    *frameMessage `json:"message"`
	Done       bool          `json:"done"`
	Error      string        `json:"error"`
	PromptEval llmhttp.Count `json:"prompt_eval_count"`
	Eval       llmhttp.Count `json:"eval_count"`
}

type frameMessage struct {
	Content   string     `json:"content"`
	Thinking  string     `json:"thinking"`
	ToolCalls []wireCall `json:"tool_calls"`
}

func (f *frame) usage() *llm.Usage {
	if f.PromptEval == 0 && f.Eval == 0 {
		return nil
	}
	return &llm.Usage{PromptTokens: int(f.PromptEval), CompletionTokens: int(f.Eval), TotalTokens: int(f.PromptEval + f.Eval)}
}

// stream is one attempt at a streamed reply.
type stream struct {
	call     llmhttp.Call
	onChunk  func(llm.Chunk) error
	now      func() time.Time
	handedOn bool // something went to onChunk

	pieces llmhttp.Pieces
	tags   thinkTags
	calls  toolCalls
}

func (s *stream) read(lines *llmhttp.Frames) error {
	return s.pieces.Each(s.call, lines, s.line, s.brokenOff)
}

// line reads one line. One that is no JSON is skipped.
func (s *stream) line(data []byte) (done bool, err error) {
	var f frame
	if !s.pieces.Parse(data, &f) {
		return false, nil
	}
	if f.Error != "" {
		return false, s.call.Endpoint.StreamError(f.Error)
	}
	if f.Message != nil {
		if err := s.message(f.Message); err != nil {
			return false, err
		}
	}
	if !f.Done {
		return false, nil
	}
	content, reasoning := s.tags.end()
	return true, s.hand(llm.Chunk{
		ContentDelta: content, ReasoningDelta: reasoning, ToolCalls: s.calls.finish(s.now()), Usage: f.usage(), Done: true,
	})
}

func (s *stream) message(m *frameMessage) error {
	content, reasoning := s.tags.feed(m.Content)
	if reasoning = m.Thinking + reasoning; content != "" || reasoning != "" {
		if err := s.hand(llm.Chunk{ContentDelta: content, ReasoningDelta: reasoning}); err != nil {
			return err
		}
	}
	for _, progress := range s.calls.add(m.ToolCalls) {
		if err := s.hand(llm.Chunk{ToolCallProgress: &progress}); err != nil {
			return err
		}
	}
	return nil
}

func (s *stream) hand(c llm.Chunk) error {
	s.handedOn = true
	return s.onChunk(c)
}

// brokenOff closes a reply whose stream ended without saying so. What there is of it counts.
func (s *stream) brokenOff() error {
	content, reasoning := s.tags.end()
	if !s.handedOn && content == "" && reasoning == "" {
		return llmhttp.ErrBroken
	}
	return s.hand(llm.Chunk{
		ContentDelta: content, ReasoningDelta: reasoning, ToolCalls: s.calls.finish(time.Time{}), Done: true,
	})
}

// toolCalls collects the calls of a reply, which come whole. The zero value is ready.
type toolCalls struct{ list []message.FunctionCall }

// add takes calls and tells of each that it is there.
func (t *toolCalls) add(in []wireCall) []message.ToolCallProgress {
	var out []message.ToolCallProgress
	for _, c := range in {
		args := compact(c.Function.Arguments)
		out = append(out, message.ToolCallProgress{
			Index: len(t.list), Name: c.Function.Name, CharsAccumulated: schema.Length(args),
		})
		t.list = append(t.list, message.FunctionCall{Name: c.Function.Name, Arguments: args})
	}
	return out
}

// compact writes the arguments of a call, which some models give as a text that holds the object.
func compact(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil && text != "" {
		raw = json.RawMessage(text)
	}
	var buf bytes.Buffer
	if err := json.Compact(&buf, raw); err != nil || buf.Len() == 0 || buf.String() == "null" {
		return "{}"
	}
	return buf.String()
}

// finish gives the calls with ids, which the server does not give: by the time, if it is known, and their place.
func (t *toolCalls) finish(now time.Time) []message.ToolCall {
	prefix := "call_"
	if !now.IsZero() {
		prefix = "call_ollama_" + strconv.FormatInt(now.UnixMilli(), 10) + "_"
	}
	var out []message.ToolCall
	for i, f := range t.list {
		out = append(out, message.ToolCall{ID: prefix + strconv.Itoa(i), Type: "function", Function: f})
	}
	return out
}
