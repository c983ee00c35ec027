// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package completions

import (
	"context"

	"github.com/aalis-dev/aalis-operator/runtime/contract/llm"
	"github.com/aalis-dev/aalis-operator/runtime/llmhttp"
)

// stream is one attempt at a streamed reply.
type stream struct {
	call     llmhttp.Call
	onChunk  func(llm.Chunk) error
	handedOn bool // something went to onChunk

	pieces   llmhttp.Pieces
	frame    frame
	template template
	calls    callBuffers
	finish   string
	text     bool // there was content
}

// Stream asks for a reply at a path of the server and hands it on piece by piece. The body is a request with stream. A
// server that answers with one document all the same is understood.
func Stream(ctx context.Context, c llmhttp.Call, path string, body any, onChunk func(llm.Chunk) error) error {
	s := stream{call: c, onChunk: onChunk}
	quiet := c.AwaitHeader()
	resp, err := c.Endpoint.Post(ctx, path, body, llmhttp.AcceptEvents)
	quiet()
	if err != nil {
		return err
	}
	if llmhttp.IsJSON(resp) {
		raw, err := llmhttp.ReadAll(resp)
		if err != nil {
			return err
		}
		return s.whole(raw)
	}
	defer func() { _ = resp.Body.Close() }()
	one := func(data []byte) (bool, error) { return false, s.piece(data) }
	return s.pieces.Each(c, llmhttp.Events(resp.Body), one, s.end)
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
	if !s.pieces.Parse(data, f) {
		return nil
	}
	if len(f.Error) > 0 && string(f.Error) != "null" {
		return s.call.Endpoint.StreamError(string(f.Error))
	}
	chunk := llm.Chunk{}
	if f.Usage != nil {
		chunk.Usage = f.Usage.read()
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
	chunk.ReasoningDelta = c.Delta.reasoning()
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
	return s.onChunk(c)
}

// end closes a reply whose stream has ended, with or without its closing mark.
func (s *stream) end() error {
	switch {
	case s.finish == filtered && !s.text:
		return llmhttp.ErrFiltered
	case s.finish == "" && (!s.handedOn || !s.calls.complete()):
		return llmhttp.ErrBroken
	}
	return s.hand(llm.Chunk{Done: true, ToolCalls: s.calls.finish()})
}

// whole hands on a reply that came as one document although a stream was asked for.
func (s *stream) whole(raw []byte) error {
	var doc document
	if err := llmhttp.Unmarshal(raw, &doc); err != nil {
		return err
	}
	reply, err := doc.read()
	if err != nil {
		return err
	}
	return s.hand(Chunk(reply))
}

// Chunk is a whole reply as the one chunk of a stream.
func Chunk(r llm.Response) llm.Chunk {
	return llm.Chunk{
		ContentDelta: r.Content, ReasoningDelta: r.ReasoningContent, ToolCalls: r.ToolCalls, Usage: r.Usage, Done: true,
	}
}
