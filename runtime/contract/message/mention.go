// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package message

import (
	"regexp"
	"slices"
)

// mentionAll is the id of a mention of everybody.
const mentionAll = "all"

var mention = regexp.MustCompile(`<at( self)? id="([^"<>\n]+)">`)

// Mentions lists whom a text mentions, as adapters write it (<at id="X">name</at>, <at self id="X">name</at>), each once
// and in order. Everybody (<at>all</at>) is nobody.
func Mentions(text string) []string {
	var out []string
	for _, m := range mention.FindAllStringSubmatch(text, -1) {
		if id := m[2]; id != mentionAll && !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	return out
}

// MentionsSelf tells whether a text mentions the bot itself.
func MentionsSelf(text string) bool {
	for _, m := range mention.FindAllStringSubmatch(text, -1) {
		if m[1] != "" {
			return true
		}
	}
	return false
}
