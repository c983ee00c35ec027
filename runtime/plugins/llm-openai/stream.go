// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package llmopenai

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	openai "github.com/sashabaranov/go-openai"

	"github.com/aalis-dev/aalis-operator/runtime/contract/llm"
)

// frame is what is read of one piece of a stream. It is used for all pieces of a stream in turn.
type frame struct {
	Choices []frameChoice   `json:"choices"`
	Usage   *frameUsage     `json:"usage"`
	Error   json.RawMessage `json:"error"`
}

type frameChoice struct {
	Index        int        `json:"index"`
	Delta        frameDelta `json:"delta"`
	FinishReason string     `json:"finish_reason"`
}

type frameDelta struct {
	Content   string `json:"content"`
	Refusal   string `json:"refusal"`
	Reasoning string `json:"reasoning_content"`
	// Thought is the other name under which servers send reasoning.
	Thought   string      `json:"reasoning"`
	ToolCalls []toolDelta `json:"tool_calls"`
}

type frameUsage struct {
	PromptTokens     int `json:"prompt_tokens"`
	CompletionTokens int `json:"completion_tokens"`
	Details          *struct {
		CachedTokens *int `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
}

func (u *frameUsage) usage() *llm.Usage {
	out := &llm.Usage{
		PromptTokens: u.PromptTokens, CompletionTokens: u.CompletionTokens, TotalTokens: u.PromptTokens + u.CompletionTokens,
	}
	if u.Details != nil {
		out.CachedPromptTokens = u.Details.CachedTokens
	}
	return out
}

// reset empties a frame for the next piece; the room for choices is kept.
func (f *frame) reset() {
	clear(f.Choices)
	*f = frame{Choices: f.Choices[:0]}
}

// onlySays tells a frame with a piece of text and nothing else.
func (f *frame) onlySays() bool {
	c := &f.Choices[0]
	return len(f.Choices) == 1 && f.Usage == nil && c.FinishReason == "" && c.Delta.Content != "" && c.Delta.Refusal == "" &&
		c.Delta.Reasoning == "" && c.Delta.Thought == "" && len(c.Delta.ToolCalls) == 0
}

// stream is one attempt at a streamed reply.
type stream struct {
	m        *model
	onChunk  func(llm.Chunk) error
	handedOn bool // something went to onChunk

	frame     frame
	template  template
	calls     callBuffers
	frames    int
	malformed int
	finish    string
	text      bool // there was content
}

// run asks for the reply and hands it on piece by piece.
func (s *stream) run(ctx context.Context, req openai.ChatCompletionRequest) error {
	quiet := s.m.warnAfter(slowHeader, "Server has sent no answer yet")
	ctx, body := withBody(ctx)
	in, err := s.m.p.ep.client.CreateChatCompletionStream(ctx, req)
	quiet()
	if whole, ok := errors.AsType[*wholeReply](err); ok {
		return s.whole(whole.body)
	}
	if err != nil {
		return err
	}
	defer func() { _ = errors.Join(in.Close(), (*body).Close()) }()
	quiet = s.m.warnAfter(slowFrame, "Server has sent no part of its answer yet")
	defer func() { quiet() }()
	events := newEventReader(*body)
	for {
		data, err := events.next()
		if errors.Is(err, io.EOF) {
			return s.end()
		}
		if err != nil {
			return fmt.Errorf("reading the stream: %w", err)
		}
		if s.frames++; s.frames == 1 {
			quiet()
		}
		if err := s.piece(data); err != nil {
			return err
		}
	}
}

// piece reads one frame. One that is no JSON is skipped.
func (s *stream) piece(data []byte) error {
	if content, ok := s.template.content(data); ok {
		if content == "" {
			return nil
		}
		// That there is text is known since the frame from which the template was learnt.
		return s.hand(llm.Chunk{ContentDelta: content})
	}
	f := &s.frame
	f.reset()
	if err := json.Unmarshal(data, f); err != nil {
		// A field of another type than expected is as good as absent: everything else has been read.
		if _, ok := errors.AsType[*json.UnmarshalTypeError](err); !ok {
			s.malformed++
			return nil
		}
	}
	if len(f.Error) > 0 && string(f.Error) != "null" {
		return &statusError{status: 0, body: string(f.Error)}
	}
	chunk := llm.Chunk{}
	if f.Usage != nil {
		chunk.Usage = f.Usage.usage()
	}
	if len(f.Choices) == 0 || f.Choices[0].Index != 0 {
		if chunk.Usage == nil {
			return nil
		}
		return s.hand(chunk)
	}
	c := &f.Choices[0]
	if f.onlySays() {
		s.template.learn(data, c.Delta.Content)
	}
	return s.choice(c, chunk)
}

// choice hands on what a frame says of the one choice there is.
func (s *stream) choice(c *frameChoice, chunk llm.Chunk) error {
	if c.FinishReason != "" {
		s.finish = c.FinishReason
	}
	chunk.ContentDelta = c.Delta.Content + c.Delta.Refusal
	chunk.ReasoningDelta = c.Delta.Reasoning
	if chunk.ReasoningDelta == "" {
		chunk.ReasoningDelta = c.Delta.Thought
	}
	if chunk.ContentDelta != "" || chunk.ReasoningDelta != "" || chunk.Usage != nil {
		s.text = s.text || chunk.ContentDelta != ""
		if err := s.hand(chunk); err != nil {
			return err
		}
	}
	for _, d := range c.Delta.ToolCalls {
		progress := s.calls.add(d)
		if err := s.hand(llm.Chunk{ToolCallProgress: &progress}); err != nil {
			return err
		}
	}
	return nil
}

func (s *stream) hand(c llm.Chunk) error {
	s.handedOn = true
	if err := s.onChunk(c); err != nil {
		return &consumerError{err: err}
	}
	return nil
}

// end closes a reply whose stream has ended, with or without its closing mark.
func (s *stream) end() error {
	if s.malformed > 0 {
		s.m.p.k.Logger().Debug("Skipped malformed parts of an answer", "model", s.m.id, "count", s.malformed)
	}
	switch {
	case s.frames == s.malformed:
		return errNonsense
	case s.finish == string(openai.FinishReasonContentFilter) && !s.text:
		return errFiltered
	case s.finish == "" && (!s.handedOn || !s.calls.complete()):
		return errBroken
	}
	return s.hand(llm.Chunk{Done: true, ToolCalls: s.calls.finish()})
}

// whole hands on a reply that came as one document although a stream was asked for.
func (s *stream) whole(body []byte) error {
	var resp openai.ChatCompletionResponse
	if err := json.Unmarshal(body, &resp); err != nil {
		return errNonsense
	}
	reply, err := readReply(&resp)
	if err != nil {
		return err
	}
	return s.hand(llm.Chunk{
		ContentDelta: reply.Content, ReasoningDelta: reply.ReasoningContent, ToolCalls: reply.ToolCalls, Usage: reply.Usage,
		Done: true,
	})
}
