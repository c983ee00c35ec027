// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package i18n

import "unicode/utf8"

// ellipsis marks a cut; it is one unit long.
const ellipsis = "…"

// Units is the length of a text in UTF-16 code units, the unit of all length limits.
func Units(s string) int {
	n := 0
	for _, r := range s {
		n += runeUnits(r)
	}
	return n
}

// Cut shortens a text to at most limit units, a last "…" included if anything was cut. No character is split. A
// limit below 1 gives the empty text.
func Cut(s string, limit int) string {
	if limit < 1 {
		return ""
	}
	n, keep := 0, 0 // keep is where the text ends if the ellipsis must follow
	for i, r := range s {
		w := runeUnits(r)
		if n+w > limit {
			return s[:keep] + ellipsis
		}
		n += w
		if n < limit {
			size := utf8.RuneLen(r)
			if r == utf8.RuneError {
				_, size = utf8.DecodeRuneInString(s[i:])
			}
			keep = i + size
		}
	}
	return s
}

func runeUnits(r rune) int {
	if r > 0xFFFF {
		return 2
	}
	return 1
}
