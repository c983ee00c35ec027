// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package secrets finds the values of Secret keys for the host: in mounted directories, in the environment, in files
// named on the command line, or in manifests. It judges what a value may look like.
//
// It holds no value longer than a call, writes none anywhere, and never puts one into an error.
package secrets

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/aalis-dev/aalis-operator/runtime/kernelconfig"
)

// MaxBytes is the most that a value may have: the most that a Secret can hold.
const MaxBytes = 1 << 20

// Key is one key of one Secret.
type Key = kernelconfig.SecretKey

// ErrAbsent says that a source does not have a key.
var ErrAbsent = errors.New("the key is not there")

// Source gives raw values.
type Source interface {
	// Lookup gives the raw value of a key. The error is ErrAbsent, or says why the value cannot be read.
	Lookup(k Key) (string, error)
}

// Map is a Source of values that are at hand.
type Map map[Key]string

// Lookup implements Source.
func (m Map) Lookup(k Key) (string, error) {
	if v, ok := m[k]; ok {
		return v, nil
	}
	return "", ErrAbsent
}

// Chain asks several sources; the first that has the key, or cannot read it, answers.
type Chain []Source

// Lookup implements Source.
func (c Chain) Lookup(k Key) (string, error) {
	for _, s := range c {
		v, err := s.Lookup(k)
		if !errors.Is(err, ErrAbsent) {
			return v, err
		}
	}
	return "", ErrAbsent
}

// Value is a raw value made fit for a config field.
type Value struct {
	// Text without trailing line breaks.
	Text string
	// Trimmed tells that there were some.
	Trimmed bool
}

// ProblemError says why a value cannot be used, in words for people. It never holds the value.
type ProblemError struct {
	// Key that has the problem.
	Key Key
	// Problem without a full stop.
	Problem string
}

// Error implements error.
func (e *ProblemError) Error() string {
	return fmt.Sprintf("Secret %s key %s: %s", e.Key.Name, e.Key.Key, e.Problem)
}

// Read looks a key up and makes its value fit for a config field. The error is ErrAbsent for a key that is not there and
// a *ProblemError for a value that cannot be used: empty, not UTF-8, too long, with a line break inside unless
// multiline allows that, or unreadable.
func Read(s Source, k Key, multiline bool) (Value, error) {
	raw, err := s.Lookup(k)
	if errors.Is(err, ErrAbsent) {
		return Value{}, ErrAbsent
	}
	problem := func(text string) (Value, error) { return Value{}, &ProblemError{Key: k, Problem: text} }
	if err != nil {
		return problem("the value cannot be read: " + err.Error())
	}
	text := strings.TrimRight(raw, "\r\n")
	switch {
	case len(raw) > MaxBytes:
		return problem(fmt.Sprintf("the value is longer than %d bytes", MaxBytes))
	case text == "":
		return problem("the value is empty")
	case !utf8.ValidString(text):
		return problem("the value is not UTF-8 text")
	case !multiline && strings.ContainsAny(text, "\r\n"):
		return problem("the value has a line break inside; it must be one line")
	}
	return Value{Text: text, Trimmed: text != raw}, nil
}

var (
	_ Source = Map(nil)
	_ Source = Chain(nil)
	_ error  = (*ProblemError)(nil)
)
