// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/aalis-dev/aalis-operator/runtime/contract/memory"
	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
)

// ErrNoSession refuses a call that names no session.
var ErrNoSession = errors.New("sessionId must not be empty")

// Prepare makes messages fit for storing at a time in milliseconds: copies, with a timestamp, and with texts that are
// valid UTF-8, because a database would refuse or change others.
func Prepare(sessionID string, ms []message.Message, now int64) ([]message.Message, error) {
	if sessionID == "" {
		return nil, ErrNoSession
	}
	out := make([]message.Message, len(ms))
	for i, m := range ms {
		m = Clone(m)
		if m.Timestamp == 0 {
			m.Timestamp = now
		}
		m.Content = valid(m.Content)
		m.ReasoningContent = valid(m.ReasoningContent)
		m.Name = valid(m.Name)
		out[i] = m
	}
	return out, nil
}

func valid(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

// CheckOps tells what is wrong with a batch of metadata, naming the operation.
func CheckOps(ops []memory.Op) error {
	for i, op := range ops {
		if err := checkOp(op); err != nil {
			return fmt.Errorf("committing metadata: ops[%d]: %w", i, err)
		}
	}
	return nil
}

func checkOp(op memory.Op) error {
	switch {
	case op.Namespace == "":
		return errors.New("namespace must not be empty")
	case op.Key == "":
		return errors.New("key must not be empty")
	case op.Data == nil:
		return nil
	case len(op.Data) > memory.MaxDataBytes:
		return fmt.Errorf("data of %s/%s must have at most %d bytes, got %d", op.Namespace, op.Key, memory.MaxDataBytes, len(op.Data))
	case !json.Valid(op.Data):
		return fmt.Errorf("data of %s/%s must be valid JSON", op.Namespace, op.Key)
	default:
		return nil
	}
}
