// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package fakellm

import (
	"iter"
	"unicode"
	"unicode/utf8"
)

// words splits s into words, each with the blanks that follow it. A Chinese, Japanese or Korean character is a word of
// its own, with the punctuation that follows. The pieces joined are s, and no piece begins inside a character.
func words(s string) iter.Seq[string] {
	return func(yield func(string) bool) {
		start := 0
		var prev rune
		for i, r := range s {
			if i > start && beginsWord(prev, r) {
				if !yield(s[start:i]) {
					return
				}
				start = i
			}
			prev = r
		}
		if start < len(s) {
			yield(s[start:])
		}
	}
}

func beginsWord(prev, r rune) bool {
	if extends(prev, r) || unicode.IsSpace(r) {
		return false
	}
	if unicode.IsSpace(prev) || ideographic(r) {
		return true
	}
	return (ideographic(prev) || widePunctuation(prev)) && (unicode.IsLetter(r) || unicode.IsDigit(r))
}

// widePunctuation reports whether r is CJK or full-width punctuation.
func widePunctuation(r rune) bool { return r >= 0x3000 && r <= 0x303F || r >= 0xFF00 && r <= 0xFFEF }

func ideographic(r rune) bool {
	return r >= 0x1100 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul)
}

// extends reports whether r belongs to the same visible character as the rune before it: combining marks, variation
// selectors, skin tones, and emoji joined by U+200D.
func extends(prev, r rune) bool {
	if r < 0x300 {
		return false
	}
	return prev == 0x200D || r == 0x200D || r >= 0x1F3FB && r <= 0x1F3FF || unicode.Is(unicode.M, r)
}

// pieces splits s into n parts of about the same number of characters; fewer when s has fewer characters.
func pieces(s string, n int) iter.Seq[string] {
	return func(yield func(string) bool) {
		runes := utf8.RuneCountInString(s)
		n := min(n, runes)
		start, index, part := 0, 0, 1
		var prev rune
		for i, r := range s {
			// The part number `part` ends before the rune with this index.
			if part < n && index >= part*runes/n && !extends(prev, r) {
				if !yield(s[start:i]) {
					return
				}
				start = i
				for part < n && index >= part*runes/n {
					part++
				}
			}
			prev = r
			index++
		}
		if start < len(s) {
			yield(s[start:])
		}
	}
}

// split splits an answer: into n parts, or into words when n is 0.
func split(s string, n int) iter.Seq[string] {
	if n > 0 {
		return pieces(s, n)
	}
	return words(s)
}
