// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package tokens counts text the way models do, or close to it. Estimate is the rule of the architecture; a Counter
// for a known encoding may be exact.
package tokens

import (
	"math"
	"unicode/utf16"
	"unicode/utf8"
)

// Counter counts the tokens of a text. It may be called concurrently.
type Counter interface {
	// Count gives the number of tokens of a text; 0 for an empty one.
	Count(text string) int
	// Exact tells whether the count is the model's own and not an estimate.
	Exact() bool
}

// Estimate is the Counter of the architecture: each CJK code unit counts 1.5, each run of others its length in UTF-16
// code units over 3.5, rounded up; the sum is rounded up.
var Estimate Counter = estimator{}

type estimator struct{}

// Exact implements Counter.
func (estimator) Exact() bool { return false }

// Count implements Counter.
func (estimator) Count(text string) int {
	var cjk, sum, run int
	for i := 0; i < len(text); {
		c := text[i]
		if c < utf8.RuneSelf {
			run++
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(text[i:])
		i += size
		if isCJK(r) {
			cjk++
			sum += runTokens(run)
			run = 0
			continue
		}
		run += max(utf16.RuneLen(r), 1)
	}
	sum += runTokens(run)
	return sum + int(math.Ceil(float64(cjk)*1.5))
}

func runTokens(units int) int { return (units*2 + 6) / 7 }

func isCJK(r rune) bool {
	switch {
	case r < 0x2E80:
		return false
	case r <= 0x9FFF, r >= 0xA000 && r <= 0xA4FF, r >= 0xAC00 && r <= 0xD7FF,
		r >= 0xF900 && r <= 0xFAFF, r >= 0xFE30 && r <= 0xFE4F, r >= 0xFF00 && r <= 0xFFEF:
		return true
	default:
		return false
	}
}
