// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package platformopenai

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/aalis-dev/aalis-operator/runtime/schema"
)

// Bounds of tokens and users.
const (
	maxTokens      = 4096
	minTokenLength = 8
	maxTokenLength = 1024
	maxUserID      = 128 // UTF-16 code units
)

// users knows which token is whose, by the tokens' hashes only. It is never modified.
type users struct {
	hashes [][sha256.Size]byte
	ids    []string
}

// lookup finds the user of a token. It takes the same time for every token.
func (u *users) lookup(token string) (userID string, ok bool) {
	hash := sha256.Sum256([]byte(token))
	found := -1
	for i := range u.hashes {
		same := subtle.ConstantTimeCompare(hash[:], u.hashes[i][:])
		found = subtle.ConstantTimeSelect(same, i, found)
	}
	if found < 0 {
		return "", false
	}
	return u.ids[found], true
}

// parseTokens reads lines of the form "userId: token". Errors name the line and never show a token.
func parseTokens(text string) (*users, error) {
	u := &users{}
	lineOf := map[[sha256.Size]byte]int{}
	n := 0
	for line := range strings.SplitSeq(strings.TrimPrefix(text, "\ufeff"), "\n") {
		n++
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		userID, token, err := parseTokenLine(line)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		hash := sha256.Sum256([]byte(token))
		if first, dup := lineOf[hash]; dup {
			return nil, fmt.Errorf("line %d: the token is the same as in line %d; each line needs its own", n, first)
		}
		if len(u.ids) == maxTokens {
			return nil, fmt.Errorf("line %d: there may be at most %d tokens", n, maxTokens)
		}
		lineOf[hash] = n
		u.hashes = append(u.hashes, hash)
		u.ids = append(u.ids, userID)
	}
	if len(u.ids) == 0 {
		return nil, errors.New(`must hold at least one line "userId: token", from a Secret; there is none`)
	}
	return u, nil
}

func parseTokenLine(line string) (userID, token string, err error) {
	userID, token, ok := strings.Cut(line, ":")
	if !ok {
		return "", "", errors.New(`must be "userId: token"; there is no colon`)
	}
	userID, token = strings.TrimSpace(userID), strings.TrimSpace(token)
	if err := checkUserID(userID); err != nil {
		return "", "", err
	}
	return userID, token, checkToken(token)
}

func checkUserID(id string) error {
	switch {
	case id == "":
		return errors.New("the user id before the colon is missing")
	case schema.Length(id) > maxUserID:
		return fmt.Errorf("the user id may not be longer than %d characters", maxUserID)
	case !printable(id) || strings.ContainsFunc(id, unicode.IsSpace):
		return errors.New("the user id may hold no blanks and no control characters")
	default:
		return nil
	}
}

func checkToken(token string) error {
	switch {
	case token == "":
		return errors.New("the token after the colon is missing")
	case len(token) < minTokenLength:
		return fmt.Errorf("the token may not be shorter than %d characters", minTokenLength)
	case len(token) > maxTokenLength:
		return fmt.Errorf("the token may not be longer than %d characters", maxTokenLength)
	}
	for i := range len(token) {
		if token[i] <= ' ' || token[i] > '~' {
			return errors.New("the token may hold only visible ASCII characters, without blanks")
		}
	}
	return nil
}

// printable tells whether a text is valid and holds nothing that cannot be seen but blanks.
func printable(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) })
}
