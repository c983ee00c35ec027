// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package llm

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestJudge(t *testing.T) {
	t.Parallel()
	n := func(v int) *int { return &v }
	for name, c := range map[string]struct {
		info  Info
		frame *Usage
		want  Usage
		as    Verdict
	}{
		"none":            {Info{}, nil, Usage{}, FrameMissing},
		"empty":           {Info{}, &Usage{}, Usage{}, FrameMissing},
		"only a total":    {Info{}, &Usage{TotalTokens: 5}, Usage{}, FrameMissing},
		"plain":           {Info{}, &Usage{PromptTokens: 5, CompletionTokens: 2}, Usage{PromptTokens: 5, CompletionTokens: 2, TotalTokens: 7}, FrameCounted},
		"wrong total":     {Info{}, &Usage{PromptTokens: 5, CompletionTokens: 2, TotalTokens: -9}, Usage{PromptTokens: 5, CompletionTokens: 2, TotalTokens: 7}, FrameCounted},
		"parts":           {Info{}, &Usage{PromptTokens: 5, CompletionTokens: 2, CachedPromptTokens: n(5), ReasoningTokens: n(0)}, Usage{PromptTokens: 5, CompletionTokens: 2, TotalTokens: 7, CachedPromptTokens: n(5), ReasoningTokens: n(0)}, FrameCounted},
		"negative prompt": {Info{}, &Usage{PromptTokens: -1, CompletionTokens: 2}, Usage{}, FrameNegative},
		"negative reply":  {Info{}, &Usage{PromptTokens: 1, CompletionTokens: math.MinInt}, Usage{}, FrameNegative},
		"more cached":     {Info{}, &Usage{PromptTokens: 5, CachedPromptTokens: n(6)}, Usage{PromptTokens: 5, TotalTokens: 5}, FrameTrimmed},
		"fewer than none": {Info{}, &Usage{CompletionTokens: 5, ReasoningTokens: n(-6)}, Usage{CompletionTokens: 5, TotalTokens: 5}, FrameTrimmed},
		"absurd":          {Info{}, &Usage{PromptTokens: math.MaxInt}, Usage{}, FrameAbsurd},
		"beyond context":  {Info{ContextLength: 128_000}, &Usage{PromptTokens: 512_001}, Usage{}, FrameAbsurd},
		"within":          {Info{ContextLength: 128_000}, &Usage{PromptTokens: 512_000}, Usage{PromptTokens: 512_000, TotalTokens: 512_000}, FrameCounted},
		"small context":   {Info{ContextLength: 1024}, &Usage{PromptTokens: 100_000}, Usage{PromptTokens: 100_000, TotalTokens: 100_000}, FrameCounted},
	} {
		got, as := c.info.Judge(c.frame)
		if d := cmp.Diff(c.want, got); d != "" || as != c.as {
			t.Errorf("%s: %s %s", name, as, d)
		}
	}
}

// TestJudgeNeverGoesBack: whatever a provider says, no count falls and none is without bound; the frame itself is not
// changed.
func TestJudgeNeverGoesBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		count := rapid.OneOf(rapid.Int(), rapid.IntRange(-10, 1_000_000))
		cached, reasoning := count.Draw(t, "cached"), count.Draw(t, "reasoning")
		frame := Usage{
			PromptTokens: count.Draw(t, "prompt"), CompletionTokens: count.Draw(t, "completion"), TotalTokens: count.Draw(t, "total"),
			CachedPromptTokens: &cached, ReasoningTokens: &reasoning,
		}
		before := frame
		u, verdict := Info{ContextLength: rapid.IntRange(0, 10_000_000).Draw(t, "context")}.Judge(&frame)
		if frame != before {
			t.Fatal("the frame was changed")
		}
		sound := verdict == FrameCounted || verdict == FrameTrimmed
		if !sound && u != (Usage{}) || u.PromptTokens < 0 || u.CompletionTokens < 0 || u.TotalTokens > 2*absurdUnknown {
			t.Fatalf("%s: %+v", verdict, u)
		}
		if u.CachedPromptTokens != nil && *u.CachedPromptTokens > u.PromptTokens || u.ReasoningTokens != nil && *u.ReasoningTokens > u.CompletionTokens {
			t.Fatalf("a part is over the whole: %+v", u)
		}
	})
}
