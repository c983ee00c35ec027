// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tokenizer

import (
	"sync"
	"unicode"
	"unicode/utf8"
)

// class is what the patterns of the encodings ask of a character, as bits.
type class uint8

const (
	letter  class = 1 << iota // \p{L}
	number                    // \p{N}
	space                     // \s
	newline                   // \r and \n
	upper                     // \p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}
	lower                     // \p{Ll}\p{Lm}\p{Lo}\p{M}
)

// classes holds the classes of all characters below U+10000.
type classes [1 << 16]class

var allClasses = sync.OnceValue(func() *classes {
	c := new(classes)
	for r := range c {
		c[r] = classOf(rune(r)) //nolint:gosec // below 65536
	}
	return c
})

func classOf(r rune) class {
	var c class
	if unicode.IsLetter(r) {
		c |= letter
	}
	if unicode.IsNumber(r) {
		c |= number
	}
	if unicode.IsSpace(r) {
		c |= space
	}
	if r == '\r' || r == '\n' {
		c |= newline
	}
	either := unicode.In(r, unicode.Lm, unicode.Lo, unicode.M)
	if either || unicode.In(r, unicode.Lu, unicode.Lt) {
		c |= upper
	}
	if either || unicode.Is(unicode.Ll, r) {
		c |= lower
	}
	return c
}

// at gives the class of the character at a place and its length in bytes. Behind the end it is 0, 0.
func (c *classes) at(text string, i int) (class, int) {
	if i >= len(text) {
		return 0, 0
	}
	if b := text[i]; b < utf8.RuneSelf {
		return c[b], 1
	}
	r, size := utf8.DecodeRuneInString(text[i:])
	if int(r) < len(c) {
		return c[r], size
	}
	return classOf(r), size
}

// run gives the end of the characters from a place on that have one of some classes.
func (c *classes) run(text string, i int, any class) int {
	for {
		k, size := c.at(text, i)
		if k&any == 0 {
			return i
		}
		i += size
	}
}

// others gives the end of the characters from a place on that have none of some classes.
func (c *classes) others(text string, i int, none class) int {
	for {
		k, size := c.at(text, i)
		if size == 0 || k&none != 0 {
			return i
		}
		i += size
	}
}
