// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package scope reads where in the chats something holds: platform:sessionType[:targetId], each part of which may be * or
// empty for any. It is pure.
package scope

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Place is where a message was said. Target is the group's id in a group and the person's id in a private chat.
type Place struct {
	Platform, SessionType, Target string
}

// Scope names places; an empty part is any.
type Scope Place

// maxLength bounds a scope in characters: those of a platform, a kind of session and the longest target.
const maxLength = 512

var errEmpty = errors.New("may not be empty; * is everywhere")

// Parse reads a scope. Only the first two colons part it, since ids of targets may hold more.
func Parse(text string) (Scope, error) {
	text = strings.TrimSpace(text)
	switch {
	case text == "":
		return Scope{}, errEmpty
	case utf8.RuneCountInString(text) > maxLength:
		return Scope{}, fmt.Errorf("may not be longer than %d characters", maxLength)
	}
	parts := append(strings.SplitN(text, ":", 3), "", "")
	for i, p := range parts {
		if parts[i] = strings.TrimSpace(p); parts[i] == "*" {
			parts[i] = ""
		}
	}
	return Scope{Platform: parts[0], SessionType: parts[1], Target: parts[2]}, nil
}

// ParseAll reads scopes; an element may hold several, parted by commas. The error names the one that is wrong.
func ParseAll(texts []string) ([]Scope, error) {
	var out []Scope
	for _, t := range Split(texts) {
		s, err := Parse(t)
		if err != nil {
			return nil, fmt.Errorf("%q %w", t, err)
		}
		out = append(out, s)
	}
	return out, nil
}

// Split parts texts at commas and leaves out what is blank. It also serves lists of names, which older configs write as one
// text.
func Split(texts []string) []string {
	var out []string
	for _, t := range texts {
		for _, part := range strings.FieldsFunc(t, func(r rune) bool { return r == ',' || r == '，' }) {
			if part = strings.TrimSpace(part); part != "" {
				out = append(out, part)
			}
		}
	}
	return out
}

// Has tells whether a place is in the scope.
func (s Scope) Has(p Place) bool {
	part := func(want, got string) bool { return want == "" || want == got }
	return part(s.Platform, p.Platform) && part(s.SessionType, p.SessionType) && part(s.Target, p.Target)
}

// Weight says how closely a scope names places. The platform counts more than the kind of session and the target together:
// of onebot:* and *:group:123 the first goes before.
func (s Scope) Weight() int {
	n := 0
	if s.Platform != "" {
		n += 4
	}
	if s.SessionType != "" {
		n += 2
	}
	if s.Target != "" {
		n++
	}
	return n
}

// Closest finds the scope that a place is in and that names it most closely, the first of equals; -1 if there is none.
func Closest(scopes []Scope, p Place) int {
	best, weight := -1, -1
	for i, s := range scopes {
		if w := s.Weight(); s.Has(p) && w > weight {
			best, weight = i, w
		}
	}
	return best
}
