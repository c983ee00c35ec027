// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"errors"
	"fmt"
)

// Kind says what kind of mistake an issue is.
type Kind string

// The kinds of issues.
const (
	// Missing means that a required value is absent.
	Missing Kind = "missing"
	// Invalid means that a value has the wrong type or is out of bounds.
	Invalid Kind = "invalid"
	// Unknown means that the schema has no such key.
	Unknown Kind = "unknown"
)

// Issue is one mistake in a config. It is an error.
type Issue struct {
	// Path is where, as in "a.b", "list[2]" or "list[2].x", relative to the validated config.
	Path string `json:"path"`
	// Message is what is wrong and what is allowed, without the path.
	Message string `json:"message"`
	Kind    Kind   `json:"kind"`
}

// Error implements error: the path and the message.
func (i Issue) Error() string {
	if i.Path == "" {
		return i.Message
	}
	return i.Path + ": " + i.Message
}

// maxListed is how many issues Errors spells out.
const maxListed = 10

// Errors joins issues into one error, nil if there are none. At most ten are listed, followed by "and N more".
func Errors(issues []Issue) error {
	if len(issues) == 0 {
		return nil
	}
	listed := make([]error, 0, min(len(issues), maxListed)+1)
	for i, issue := range issues {
		if i == maxListed {
			listed = append(listed, fmt.Errorf("and %d more", len(issues)-maxListed))
			break
		}
		listed = append(listed, issue)
	}
	return errors.Join(listed...)
}
