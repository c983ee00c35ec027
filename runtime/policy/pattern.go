// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import "strings"

// Pattern names capabilities: '*' stands for any run of characters, also none, and every other character for itself. A
// pattern without '*' matches only what equals it.
type Pattern string

// Match tells whether the pattern matches a whole capability. Its time grows with the product of both lengths at most, since
// every part is looked for once, where it first occurs.
func (p Pattern) Match(capability string) bool {
	head, rest, star := strings.Cut(string(p), "*")
	if !star {
		return head == capability
	}
	capability, ok := strings.CutPrefix(capability, head)
	if !ok {
		return false
	}
	parts := strings.Split(rest, "*")
	last := parts[len(parts)-1]
	for _, part := range parts[:len(parts)-1] {
		at := strings.Index(capability, part)
		if at < 0 {
			return false
		}
		capability = capability[at+len(part):]
	}
	return strings.HasSuffix(capability, last)
}

// firstMatch gives the first pattern that matches.
func firstMatch(patterns []Pattern, capability string) (Pattern, bool) {
	for _, p := range patterns {
		if p.Match(capability) {
			return p, true
		}
	}
	return "", false
}
