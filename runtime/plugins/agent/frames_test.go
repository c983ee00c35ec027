// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/aalis-dev/aalis-operator/runtime/contract/llm"
)

// TestUsageFrames: what a provider tells of a call is counted once and only if it can be; otherwise we count, and nobody is
// shown a number that the provider got wrong.
func TestUsageFrames(t *testing.T) {
	t.Parallel()
	frame := func(prompt, completion int) llm.Chunk {
		return llm.Chunk{Usage: &llm.Usage{PromptTokens: prompt, CompletionTokens: completion}}
	}
	for name, c := range map[string]struct {
		chunks []llm.Chunk
		as     llm.Verdict
		total  int // 0 if we are to count
	}{
		"one":                 {[]llm.Chunk{text("hi"), frame(7, 3), {Done: true}}, llm.FrameCounted, 10},
		"doubled":             {[]llm.Chunk{text("hi"), frame(7, 3), frame(7, 3), {Done: true}}, llm.FrameCounted, 10},
		"growing":             {[]llm.Chunk{frame(7, 1), text("hi"), frame(7, 2), {Done: true}, frame(7, 3)}, llm.FrameCounted, 10},
		"with the last piece": {[]llm.Chunk{text("hi"), {Done: true, Usage: &llm.Usage{PromptTokens: 8, CompletionTokens: 2}}}, llm.FrameCounted, 10},
		"zero":                {[]llm.Chunk{text("hi"), frame(0, 0), {Done: true}}, llm.FrameMissing, 0},
		"negative":            {[]llm.Chunk{text("hi"), frame(-7, 3), {Done: true}}, llm.FrameNegative, 0},
		"absurd":              {[]llm.Chunk{text("hi"), frame(math.MaxInt, 3), {Done: true}}, llm.FrameAbsurd, 0},
		"good, then absurd":   {[]llm.Chunk{text("hi"), frame(7, 3), frame(7, math.MaxInt), {Done: true}}, llm.FrameAbsurd, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBot(t, saying(c.chunks...))
			b.handle(hello())
			if len(b.calls) != 1 {
				t.Fatalf("%d calls were told", len(b.calls))
			}
			got := b.calls[0]
			if got.Frame != c.as || got.Estimated != (c.total == 0) {
				t.Errorf("told as %s, estimated %t", got.Frame, got.Estimated)
			}
			if c.total != 0 && got.Usage.TotalTokens != c.total || got.Usage.TotalTokens <= 0 || got.Usage.TotalTokens > 1000 {
				t.Errorf("usage %+v", got.Usage)
			}
			if info := b.out[0].ModelInfo; info.TotalTokens != c.total {
				t.Errorf("shown is %+v", info)
			}
		})
	}
}

// TestAbortedCallIsCanceled: a call that an abort ended is told as canceled, whatever the abort was called.
func TestAbortedCallIsCanceled(t *testing.T) {
	t.Parallel()
	for _, cause := range []error{errAborted, errSuperseded} {
		b := newBot(t, saying(text("hi")))
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(cause)
		turn := &turn{a: b.agent.(*conductor), msg: hello()}
		turn.model = saying(text("hi"))
		turn.counts = estimating()
		c := turn.newCall(trimmed{}, nil)
		turn.tellCall(ctx, c, context.Cause(ctx))
		if len(b.calls) != 1 || !errors.Is(b.calls[0].Err, context.Canceled) || !errors.Is(b.calls[0].Err, cause) || b.calls[0].Frame != "" {
			t.Errorf("told %+v", b.calls)
		}
	}
}
