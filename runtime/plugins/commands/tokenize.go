// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package commands

import (
	"strings"
	"unicode"
)

// tokenize splits a command line at white space. Single and double quotes keep white space in a token, a backslash takes
// the next character as it is, also inside quotes. Empty tokens vanish, and what is not closed runs to the end.
func tokenize(line string) []string {
	var out []string
	var token strings.Builder
	flush := func() {
		if token.Len() > 0 {
			out = append(out, token.String())
			token.Reset()
		}
	}
	var quote rune
	escaped := false
	for _, r := range line {
		switch {
		case escaped:
			token.WriteRune(r)
			escaped = false
		case r == '\\':
			escaped = true
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			token.WriteRune(r)
		case r == '"' || r == '\'':
			quote = r
		case unicode.IsSpace(r):
			flush()
		default:
			token.WriteRune(r)
		}
	}
	flush()
	return out
}
