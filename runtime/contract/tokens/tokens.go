// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package tokens counts text the way models do, or close to it. Estimate is the rule of the architecture; a Counter
// for a known encoding may be exact.
package tokens

import (
	"unicode/utf16"
	"unicode/utf8"
)

// Counter counts the tokens of a text. It may be called concurrently.
type Counter interface {
	// Count gives the number of tokens of a text; 0 for an empty one.
	Count(text string) int
	// Exact tells whether the count is the model's own and not an estimate. It may turn from false to true once, when
	// a table has been loaded; what was counted before is then worth counting again.
	Exact() bool
}

// Estimate is the Counter of the architecture: each CJK code unit counts 1.5, each run of others its length in UTF-16
// code units over 3.5, rounded up; the sum is rounded up.
var Estimate Counter = estimator{}

type estimator struct{}

// Exact implements Counter.
func (estimator) Exact() bool { return false }

// Count implements Counter. It walks over the two kinds of text that there is most of, ASCII and the three-byte
// characters from U+3000 to U+9FFF, in loops of their own: a turn counts every text of its prompt.
func (estimator) Count(text string) int {
	var cjk, sum, run int
	for i := 0; i < len(text); {
		c := text[i]
		if c < utf8.RuneSelf {
			n := asciiPrefix(text[i:])
			run += n
			i += n
			continue
		}
		if n := cjkPrefix(text[i:]); n > 0 {
			cjk += n
			sum += runTokens(run)
			run = 0
			i += 3 * n
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
	return sum + runTokens(run) + (3*cjk+1)/2
}

// asciiPrefix is the number of ASCII bytes that a text begins with.
func asciiPrefix(s string) int {
	i := 0
	for ; i+8 <= len(s); i += 8 {
		b := s[i : i+8]
		if (b[0]|b[1]|b[2]|b[3]|b[4]|b[5]|b[6]|b[7])&utf8.RuneSelf != 0 {
			break
		}
	}
	for i < len(s) && s[i] < utf8.RuneSelf {
		i++
	}
	return i
}

// cjkPrefix is the number of characters from U+3000 to U+9FFF that a text begins with; all of them are CJK and three
// bytes long.
func cjkPrefix(s string) int {
	n := 0
	for len(s) >= 3 && s[0]-0xE3 <= 0xE9-0xE3 && s[1]&0xC0 == 0x80 && s[2]&0xC0 == 0x80 {
		n++
		s = s[3:]
	}
	return n
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
