// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package pacing makes a reply of several messages, as people write them, and says how long somebody would have typed each.
// Adapters of chat platforms send by it; it is pure and sends nothing.
package pacing

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

const (
	// shortest is the length in characters up to which a reply is never split.
	shortest = 10
	// DefaultPerCharacter is the pace of somebody who types fast.
	DefaultPerCharacter = 50 * time.Millisecond
	// DefaultMax is the longest that anybody waits for a message.
	DefaultMax = 3 * time.Second
)

// tag is the markup that is never cut, whatever it holds.
var tag = regexp.MustCompile(`<at\b[^>]*>.*?</at>|<(?:image|video|record|face|reply)\b[^>]*/>`)

// image is the markup that is always a message of its own.
var image = regexp.MustCompile(`<image\b[^>]*/>`)

// escapes are how a pattern of a config writes what is hard to write.
var escapes = strings.NewReplacer(`\\`, `\`, `\n`, "\n", `\t`, "\t", `\r`, "\r")

// Split makes the messages of a reply: it ends one after each occurrence of a pattern and leaves the pattern out where it ends
// the message. Markup is never cut, an image is always a message of its own, and a reply that would be nothing stays as it is.
// Without patterns, and for a reply of ten characters or fewer, only images are parted.
func Split(content string, patterns []string) []string {
	var decoded []string
	for _, p := range patterns {
		if p = escapes.Replace(p); p != "" {
			decoded = append(decoded, p)
		}
	}
	// The longest first, so that "..." is not taken for three of ".".
	slices.SortStableFunc(decoded, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	pieces := []string{content}
	if len(decoded) > 0 && utf8.RuneCountInString(content) > shortest {
		pieces = cut(content, decoded)
	}
	var out []string
	for _, p := range pieces {
		out = append(out, apart(p)...)
	}
	if len(out) == 0 {
		return []string{content}
	}
	return out
}

// cut ends a piece after each pattern outside of markup.
func cut(content string, patterns []string) []string {
	var out []string
	start, at := 0, 0
	end := func() {
		if piece := stripped(content[start:at], patterns); piece != "" {
			out = append(out, piece)
		}
		start = at
	}
	for at < len(content) {
		rest := content[at:]
		if loc := tag.FindStringIndex(rest); loc != nil && loc[0] == 0 {
			at += loc[1]
			continue
		}
		i := slices.IndexFunc(patterns, func(p string) bool { return strings.HasPrefix(rest, p) })
		if i < 0 {
			_, size := utf8.DecodeRuneInString(rest)
			at += size
			continue
		}
		at += len(patterns[i])
		if strings.TrimSpace(content[start:at]) != "" {
			end()
		}
	}
	end()
	return out
}

// stripped takes the patterns and the blanks from the end of a piece, and the blanks from its beginning.
func stripped(piece string, patterns []string) string {
	for {
		before := piece
		piece = strings.TrimSpace(piece)
		for _, p := range patterns {
			piece = strings.TrimSuffix(piece, p)
		}
		if piece == before {
			return piece
		}
	}
}

// apart makes each image a piece of its own.
func apart(piece string) (out []string) {
	add := func(s string) {
		if s = strings.TrimSpace(s); s != "" {
			out = append(out, s)
		}
	}
	at := 0
	for _, loc := range image.FindAllStringIndex(piece, -1) {
		add(piece[at:loc[0]])
		add(piece[loc[0]:loc[1]])
		at = loc[1]
	}
	add(piece[at:])
	return out
}

// Delay is how long somebody would have typed a message: its characters without markup, at a pace, and never longer than most.
func Delay(piece string, perCharacter, most time.Duration) time.Duration {
	n := utf8.RuneCountInString(tag.ReplaceAllString(piece, ""))
	if perCharacter <= 0 || n == 0 {
		return 0
	}
	if most > 0 && n > int(most/perCharacter) {
		return most
	}
	return time.Duration(n) * perCharacter
}
