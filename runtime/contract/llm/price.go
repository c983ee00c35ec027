// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package llm

import (
	"math"
	"math/bits"
)

// NanosPerUnit is how many Nanos make one unit of a currency.
const NanosPerUnit = 1_000_000_000

// tokensPriced is how many tokens the figures of a Price are for.
const tokensPriced = 1_000_000

// Nanos is an amount of money in billionths of a currency's unit, so that sums are exact. The largest amount is over nine
// billion units; what would be more stays there.
type Nanos int64

// Price is what a provider asks for a million tokens. No figure is negative. What is not declared has no price: none is
// ever guessed.
type Price struct {
	// Currency is the code of ISO 4217, such as USD.
	Currency string
	// Prompt of a million tokens of prompts, and CachedPrompt of those of them that the provider had cached.
	Prompt, CachedPrompt Nanos
	// Completion of a million tokens of replies, reasoning included.
	Completion Nanos
}

// Cost is what a call costs, rounded up to a whole billionth. Counts below 0 are taken as 0, and cached tokens count as
// a part of the prompt, at most all of it.
func (p Price) Cost(u Usage) Nanos {
	prompt := max(0, u.PromptTokens)
	cached := 0
	if u.CachedPromptTokens != nil {
		cached = min(prompt, max(0, *u.CachedPromptTokens))
	}
	var hi, lo uint64
	for _, part := range [...]struct {
		tokens int
		price  Nanos
	}{{prompt - cached, p.Prompt}, {cached, p.CachedPrompt}, {u.CompletionTokens, p.Completion}} {
		h, l := bits.Mul64(uint64(max(0, part.tokens)), uint64(max(0, part.price)))
		var carry uint64
		lo, carry = bits.Add64(lo, l, 0)
		hi, _ = bits.Add64(hi, h, carry) // three products of 63 bits each fit
	}
	lo, carry := bits.Add64(lo, tokensPriced-1, 0)
	hi += carry
	if hi >= tokensPriced {
		return math.MaxInt64
	}
	cost, _ := bits.Div64(hi, lo, tokensPriced)
	return Nanos(min(cost, math.MaxInt64))
}
