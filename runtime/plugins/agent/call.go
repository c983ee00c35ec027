// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/aalis-dev/aalis-operator/runtime/contract/llm"
	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
)

// maxReplyBytes bounds what a model may say in one call, text and reasoning together.
const maxReplyBytes = 8 << 20

var errReplyTooLong = fmt.Errorf("the reply is longer than %d MiB", maxReplyBytes>>20)

// callError is a failed call of a model. What it wraps is the provider's own error.
type callError struct{ err error }

func (e *callError) Error() string { return "calling the model: " + e.err.Error() }
func (e *callError) Unwrap() error { return e.err }

// call is one call of a model while it goes on. What comes in is kept as two texts and the places where one gave way to
// the other, so that a piece costs no allocation of its own.
type call struct {
	t     *turn
	model llm.Model
	req   llm.Request
	// promptTokens is our count of the messages of req.
	promptTokens int
	streaming    bool
	began        time.Time
	first        time.Duration // until the first piece; 0 while there is none
	answered     bool

	content, reasoning strings.Builder
	marks              []mark
	toolCalls          []message.ToolCall
	said               string // the content, repaired; set by segments
	usage              *llm.Usage
	chunk              message.StreamChunk // what all chunks of the turn have in common
}

// mark is where a segment ends, in the text that it belongs to.
type mark struct {
	reasoning bool
	end       int
}

func (t *turn) newCall(fit trimmed, tools []message.ToolDefinition) *call {
	return &call{
		t: t, model: t.model, req: llm.Request{Messages: fit.list, Tools: tools, Think: t.session.Thinking},
		promptTokens: fit.total, streaming: slices.Contains(t.model.Info().Capabilities, llm.CapStreaming),
		began: t.a.k.Now(), chunk: t.streamChunk(),
	}
}

// run makes the call. A model that cannot stream gives its whole reply as one piece.
func (c *call) run(ctx context.Context) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = &panicError{r, debug.Stack()}
		}
	}()
	receive := func(piece llm.Chunk) error { return c.receive(ctx, piece) }
	if c.streaming {
		return c.model.ChatStream(ctx, c.req, receive)
	}
	r, err := c.model.Chat(ctx, c.req)
	if err != nil {
		return err
	}
	if r.ReasoningContent != "" {
		if err := receive(llm.Chunk{ReasoningDelta: r.ReasoningContent}); err != nil {
			return err
		}
	}
	return receive(llm.Chunk{ContentDelta: r.Content, ToolCalls: r.ToolCalls, Usage: r.Usage, Done: true})
}

// receive takes in a piece of the reply and passes it on. An aborted turn ends the stream here.
func (c *call) receive(ctx context.Context, piece llm.Chunk) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if piece.Usage != nil {
		c.usage = piece.Usage
	}
	if !c.answered && isAnswer(piece) {
		c.answered, c.first = true, c.elapsed(c.t.a.k.Now())
	}
	if c.content.Len()+c.reasoning.Len()+len(piece.ContentDelta)+len(piece.ReasoningDelta) > maxReplyBytes {
		return errReplyTooLong
	}
	out := c.chunk
	if piece.ContentDelta != "" {
		c.content.WriteString(piece.ContentDelta)
		c.mark(false, c.content.Len())
		out.ContentDelta = piece.ContentDelta
		message.Stream.Emit(ctx, c.t.a.k, out)
		out.ContentDelta = ""
	}
	if piece.ReasoningDelta != "" {
		c.reasoning.WriteString(piece.ReasoningDelta)
		c.mark(true, c.reasoning.Len())
		out.ReasoningDelta = piece.ReasoningDelta
		message.Stream.Emit(ctx, c.t.a.k, out)
		out.ReasoningDelta = ""
	}
	if piece.ToolCallProgress != nil {
		out.ToolCallProgress = piece.ToolCallProgress
		message.Stream.Emit(ctx, c.t.a.k, out)
	}
	if piece.Done {
		c.toolCalls = piece.ToolCalls
	}
	return nil
}

// isAnswer tells whether a piece holds anything of the reply.
func isAnswer(piece llm.Chunk) bool {
	return piece.ContentDelta != "" || piece.ReasoningDelta != "" || piece.ToolCallProgress != nil || len(piece.ToolCalls) > 0
}

// mark extends the last segment, or opens one if the other kind came before.
func (c *call) mark(reasoning bool, end int) {
	if n := len(c.marks); n > 0 && c.marks[n-1].reasoning == reasoning {
		c.marks[n-1].end = end
		return
	}
	c.marks = append(c.marks, mark{reasoning, end})
}

// segments cuts the two texts at the marks. They keep what was written as it came, but not markers that no one should
// see: then the text is one piece, behind the reasoning.
func (c *call) segments() []message.Segment {
	content, reasoning := c.content.String(), c.reasoning.String()
	said, stripped := c.t.repaired(content)
	c.said = said
	out := make([]message.Segment, 0, len(c.marks)+1)
	from := [2]int{}
	for _, m := range c.marks {
		switch {
		case m.reasoning:
			out = append(out, message.Segment{Type: message.SegmentReasoningText, Content: reasoning[from[1]:m.end]})
			from[1] = m.end
		case !stripped:
			out = append(out, message.Segment{Type: message.SegmentText, Content: content[from[0]:m.end]})
			from[0] = m.end
		}
	}
	if stripped && said != "" {
		out = append(out, message.Segment{Type: message.SegmentText, Content: said})
	}
	return out
}

func (c *call) response() llm.Response {
	return llm.Response{
		Content: c.said, ReasoningContent: c.reasoning.String(), ToolCalls: c.toolCalls, Usage: c.usage,
	}
}

// panicError is a panic in what a turn called.
type panicError struct {
	value any
	stack []byte
}

func (e *panicError) Error() string { return fmt.Sprintf("panic: %v\n%s", e.value, e.stack) }

// guard turns a panic into an error.
func guard(fn func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = &panicError{r, debug.Stack()}
		}
	}()
	return fn()
}

// isPanic tells whether an error is somebody's bug, whose text is for the log only.
func isPanic(err error) bool {
	_, ok := errors.AsType[*panicError](err)
	return ok
}
