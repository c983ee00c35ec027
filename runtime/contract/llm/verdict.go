// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package llm

// Verdict says what became of a usage frame, in which a provider tells what a call took.
type Verdict string

// The verdicts.
const (
	// FrameCounted: the frame is what was counted.
	FrameCounted Verdict = "counted"
	// FrameTrimmed: the frame was counted without a part of it that cannot be, such as more cached tokens than the prompt has.
	FrameTrimmed Verdict = "trimmed"
	// FrameMissing: there was none, or one in which nothing is counted. The bot counted.
	FrameMissing Verdict = "missing"
	// FrameNegative: a count was below zero. The bot counted.
	FrameNegative Verdict = "negative"
	// FrameAbsurd: a count was over what any call of the model can take. The bot counted.
	FrameAbsurd Verdict = "absurd"
)

// The bounds beyond which a count is absurd, in tokens: some room beyond the declared context, which may be declared too
// small, and more than any model takes where none is declared.
const (
	absurdTimes   = 4
	absurdLeast   = 100_000
	absurdUnknown = 50_000_000
)

// Judge tells whether a usage frame can be true of a model, and gives it without what cannot be. A frame that is not to be
// counted gives a zero Usage: whoever asked counts by himself then. Of several frames of one call the last is to be
// judged, alone.
func (i Info) Judge(frame *Usage) (Usage, Verdict) {
	if frame == nil {
		return Usage{}, FrameMissing
	}
	u := *frame
	if u.PromptTokens < 0 || u.CompletionTokens < 0 {
		return Usage{}, FrameNegative
	}
	most := absurdUnknown
	if i.ContextLength > 0 {
		most = max(absurdLeast, absurdTimes*i.ContextLength)
	}
	if u.PromptTokens > most || u.CompletionTokens > most {
		return Usage{}, FrameAbsurd
	}
	if u.PromptTokens == 0 && u.CompletionTokens == 0 {
		return Usage{}, FrameMissing
	}
	verdict := FrameCounted
	for _, part := range [...]struct {
		of    int
		count **int
	}{{u.PromptTokens, &u.CachedPromptTokens}, {u.CompletionTokens, &u.ReasoningTokens}} {
		if n := *part.count; n != nil && (*n < 0 || *n > part.of) {
			*part.count, verdict = nil, FrameTrimmed
		}
	}
	u.TotalTokens = u.PromptTokens + u.CompletionTokens
	return u, verdict
}
