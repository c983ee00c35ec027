// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kernel

import (
	"errors"
	"fmt"
	"strings"
)

// MaxIDLength bounds the parts of an instance id, in bytes (they are ASCII).
const MaxIDLength = 253

// InstanceID is the id of a plugin instance: a module's name alone, or a reusable module's name, a colon and a suffix.
type InstanceID struct {
	Module string
	// Suffix is empty for an id that is the module's name.
	Suffix string
}

// String gives the id's text form.
func (id InstanceID) String() string {
	if id.Suffix == "" {
		return id.Module
	}
	return id.Module + ":" + id.Suffix
}

// ParseInstanceID takes an id apart. Each part is made of ASCII letters, digits, dots, dashes and underscores and begins and ends with a
// letter or digit; a module's name may have a scope before it, as "@aalis/plugin-agent". "root" is reserved.
func ParseInstanceID(id string) (InstanceID, error) {
	from := strings.IndexByte(id, '/') + 1
	out := InstanceID{Module: id}
	if i := strings.IndexByte(id[from:], ':'); i >= 0 {
		out.Module, out.Suffix = id[:from+i], id[from+i+1:]
		if err := checkPart("suffix", out.Suffix); err != nil {
			return InstanceID{}, fmt.Errorf("instance id %q: %w", id, err)
		}
	}
	if err := checkModuleName(out.Module); err != nil {
		return InstanceID{}, fmt.Errorf("instance id %q: %w", id, err)
	}
	return out, nil
}

func checkModuleName(name string) error {
	if name == rootID {
		return errors.New(`module name must not be "root", which is reserved`)
	}
	rest := name
	if strings.HasPrefix(name, "@") {
		scope, after, found := strings.Cut(name[1:], "/")
		if !found {
			return fmt.Errorf("module name %q: must have a slash after its scope", name)
		}
		if err := checkPart("scope", scope); err != nil {
			return fmt.Errorf("module name %q: %w", name, err)
		}
		rest = after
	}
	if err := checkPart("name", rest); err != nil {
		return fmt.Errorf("module name %q: %w", name, err)
	}
	return nil
}

func checkPart(what, s string) error {
	switch {
	case s == "":
		return fmt.Errorf("%s must be non-empty", what)
	case len(s) > MaxIDLength:
		return fmt.Errorf("%s must be at most %d characters, got %d", what, MaxIDLength, len(s))
	case !alphanumeric(s[0]) || !alphanumeric(s[len(s)-1]):
		return fmt.Errorf("%s must begin and end with a letter or digit, got %q", what, s)
	}
	for i := range len(s) {
		if c := s[i]; !alphanumeric(c) && c != '.' && c != '-' && c != '_' {
			return fmt.Errorf("%s must be letters, digits, dots, dashes and underscores, got %q", what, s)
		}
	}
	return nil
}

func alphanumeric(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}
