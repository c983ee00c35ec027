// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"unicode"
)

const (
	maxLabel   = 63
	hashDigits = 8
)

// slug makes a DNS label of at most limit characters out of a text. A text with nothing in it that may stand in one, such
// as a Chinese name, becomes what it is followed by a hash of the text, so that two texts stay two.
func slug(text, what string, limit int) string {
	var b strings.Builder
	lower := false
	for _, r := range text {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			b.WriteRune(r)
			lower = true
		case r >= 'A' && r <= 'Z':
			if lower { // apiKey becomes api-key
				b.WriteByte('-')
			}
			b.WriteRune(unicode.ToLower(r))
			lower = false
		default:
			b.WriteByte('-')
			lower = false
		}
	}
	name := strings.Trim(b.String(), "-")
	for strings.Contains(name, "--") {
		name = strings.ReplaceAll(name, "--", "-")
	}
	if lost := strings.ContainsFunc(text, func(r rune) bool { return r > unicode.MaxASCII }); lost || name == "" || len(name) > limit {
		sum := sha256.Sum256([]byte(text))
		if name == "" {
			name = what
		}
		name = strings.Trim(name[:min(len(name), limit-hashDigits-1)], "-") + "-" + hex.EncodeToString(sum[:])[:hashDigits]
	}
	return name
}
