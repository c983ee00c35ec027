// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package llm

import (
	"errors"
	"time"
)

// Cause says why a call of a model failed. The names Unavailable and RateLimited are those of fallbackOn.
type Cause string

// The causes.
const (
	// Unavailable: the provider cannot be reached, failed, or gave an answer that makes no sense or broke off.
	Unavailable Cause = "Unavailable"
	// RateLimited: the provider is busy, or the account has no quota left.
	RateLimited Cause = "RateLimited"
	// Timeout: no complete answer came in the configured time.
	Timeout Cause = "Timeout"
	// ContentFiltered: the provider refused what was said.
	ContentFiltered Cause = "ContentFiltered"
	// InvalidRequest: the provider or the plugin refused the request as such: too long, an unknown model, an
	// image that cannot be read.
	InvalidRequest Cause = "InvalidRequest"
	// Unauthorized: the key or the address is not accepted.
	Unauthorized Cause = "Unauthorized"
	// Cancelled: the provider's plugin is being stopped. A cancelled context is ctx's own error instead.
	Cancelled Cause = "Cancelled"
)

// Causes lists every cause that there is.
func Causes() []Cause {
	return []Cause{Unavailable, RateLimited, Timeout, ContentFiltered, InvalidRequest, Unauthorized, Cancelled}
}

// Error is a failed call of a model. It is found with errors.As. Its text is short, in the bot's language, fit for a
// chat, and holds no secret.
type Error struct {
	Cause Cause
	// Text is what a person may read.
	Text string
	// Status is the HTTP status of the answer, or 0.
	Status int
	// RetryAfter is how long the provider asked to wait, or 0.
	RetryAfter time.Duration
	// BeforeFirstByte tells that nothing of a reply had been handed on, so that the same can be asked elsewhere.
	BeforeFirstByte bool
	// Err is what went wrong underneath, or nil. Its text is not for a chat.
	Err error
}

// Error implements error.
func (e *Error) Error() string { return e.Text }

// Unwrap gives what went wrong underneath. A context's error is not given: whoever asks with errors.Is whether the
// caller gave up must not be told so for a provider's timeout.
func (e *Error) Unwrap() error {
	if e.Cause == Timeout || e.Cause == Cancelled {
		return nil
	}
	return e.Err
}

// CauseOf is the cause of an error of a call, or "" if the error is none of a provider.
func CauseOf(err error) Cause {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Cause
	}
	return ""
}
