// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package memorysqlite

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
)

// fields are the columns of a message, in the order in which row and insert use them.
const fields = "role, kind, content, toolCalls, toolCallId, name, timestamp, metadata, reasoningContent, segments"

const insertSQL = "INSERT INTO messages (sessionId, createdAt, " + fields + ") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"

// insert stores a message. Images are not stored: they may be megabytes, and history describes them in words.
func insert(ctx context.Context, tx *sql.Tx, sessionID string, m *message.Message, now int64) error {
	calls, err := encode(len(m.ToolCalls) == 0, m.ToolCalls)
	if err != nil {
		return err
	}
	metadata, err := encode(len(m.Metadata) == 0, m.Metadata)
	if err != nil {
		return err
	}
	segments, err := encode(len(m.Segments) == 0, m.Segments)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, insertSQL, sessionID, now, string(m.Role), text(m.Kind), m.Content, calls, text(m.ToolCallID),
		text(m.Name), m.Timestamp, metadata, text(m.ReasoningContent), segments)
	return err
}

// text is a column that is NULL when there is nothing.
func text(s string) sql.NullString { return sql.NullString{String: s, Valid: s != ""} }

func encode(empty bool, v any) (sql.NullString, error) {
	if empty {
		return sql.NullString{}, nil
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return sql.NullString{}, fmt.Errorf("encoding a message: %w", err)
	}
	return text(string(bytes.TrimSuffix(b.Bytes(), []byte("\n")))), nil
}

// row reads fields. What is no JSON (another program wrote it) is left out rather than failing the whole history.
func row(scan func(...any) error, more ...any) (m message.Message, err error) {
	var kind, content, calls, callID, name, metadata, reasoning, segments sql.NullString
	var role string
	err = scan(append([]any{&role, &kind, &content, &calls, &callID, &name, &m.Timestamp, &metadata, &reasoning, &segments}, more...)...)
	if err != nil {
		return m, err
	}
	m.Role, m.Kind, m.Content, m.ToolCallID = message.Role(role), kind.String, content.String, callID.String
	m.Name, m.ReasoningContent = name.String, reasoning.String
	decode(calls, &m.ToolCalls)
	decode(metadata, &m.Metadata)
	decode(segments, &m.Segments)
	return m, nil
}

func decode[T any](s sql.NullString, into *T) {
	var v T
	if s.String != "" && json.Unmarshal([]byte(s.String), &v) == nil {
		*into = v
	}
}
