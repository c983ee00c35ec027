// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tokenizer

// splitCL100k is the pattern
//
//	(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
func splitCL100k(c *classes, text string, at int) int {
	if end := contraction(text, at); end > at {
		return end
	}
	k, size := c.at(text, at)
	word := at
	if k&(newline|letter|number) == 0 {
		word += size
	}
	if end := c.run(text, word, letter); end > word {
		return end
	}
	return splitRest(c, text, at, false)
}

// splitO200k is the pattern, with W for [^\r\n\p{L}\p{N}], U for [\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}], L for
// [\p{Ll}\p{Lm}\p{Lo}\p{M}] and C for (?i:'s|'t|'re|'ve|'m|'ll|'d)
//
//	W?U*L+C?|W?U+L*C?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+
func splitO200k(c *classes, text string, at int) int {
	k, size := c.at(text, at)
	before := k&(newline|letter|number) == 0 // the first character may be the W
	for _, word := range [...]func(*classes, string, int) int{wordWithLower, wordOfUpper} {
		if before {
			if end := word(c, text, at+size); end > 0 {
				return contraction(text, end)
			}
		}
		if k&(upper|lower) != 0 {
			if end := word(c, text, at); end > 0 {
				return contraction(text, end)
			}
		}
	}
	return splitRest(c, text, at, true)
}

// wordWithLower is U*L+; 0 means that it does not fit. Where no L follows the U's, the last of them that is an L too ends
// the word.
func wordWithLower(c *classes, text string, at int) int {
	i, last := at, 0
	for {
		k, size := c.at(text, i)
		if k&upper == 0 {
			break
		}
		i += size
		if k&lower != 0 {
			last = i
		}
	}
	if end := c.run(text, i, lower); end > i {
		return end
	}
	return last
}

// wordOfUpper is U+L*, after wordWithLower did not fit: no L follows.
func wordOfUpper(c *classes, text string, at int) int {
	if end := c.run(text, at, upper); end > at {
		return end
	}
	return 0
}

// contraction gives the end of an English contraction at a place, or the place.
func contraction(text string, at int) int {
	if at+1 >= len(text) || text[at] != '\'' {
		return at
	}
	first := text[at+1] | 0x20
	switch first {
	case 's', 't', 'm', 'd':
		return at + 2
	case 'r', 'v', 'l':
	default:
		return at
	}
	if at+2 >= len(text) {
		return at
	}
	second := text[at+2] | 0x20
	if first == 'l' && second == 'l' || first != 'l' && second == 'e' {
		return at + 3
	}
	return at
}

// splitRest is what both patterns have in common: numbers, signs and blanks. slash says whether slashes may stand among
// the line breaks behind signs.
func splitRest(c *classes, text string, at int, slash bool) int {
	k, size := c.at(text, at)
	if k&number != 0 {
		end := at
		for range 3 {
			if k, size := c.at(text, end); k&number != 0 {
				end += size
			}
		}
		return end
	}
	signs := at
	if text[at] == ' ' {
		signs++
	}
	if end := c.others(text, signs, space|letter|number); end > signs {
		for end < len(text) && (text[end] == '\n' || text[end] == '\r' || slash && text[end] == '/') {
			end++
		}
		return end
	}
	return splitBlanks(c, text, at, size)
}

// splitBlanks ends behind the last line break of a run of blanks; without one before its last blank, which belongs to what
// follows, if something follows.
func splitBlanks(c *classes, text string, at, size int) int {
	breakEnd, last := 0, at
	i := at
	for {
		k, n := c.at(text, i)
		if k&space == 0 {
			break
		}
		last = i
		i += n
		if k&newline != 0 {
			breakEnd = i
		}
	}
	switch {
	case breakEnd > 0:
		return breakEnd
	case i < len(text) && last > at:
		return last
	case i > at:
		return i
	default:
		return at + size
	}
}
