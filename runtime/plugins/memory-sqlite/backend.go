// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package memorysqlite

import (
	"context"
	"database/sql"
	"slices"
	"strings"
	"time"

	"github.com/aalis-dev/aalis-operator/runtime/contract/memory"
	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
	"github.com/aalis-dev/aalis-operator/runtime/store"
)

// deleteChunk is the number of timestamps in one statement.
const deleteChunk = 500

// backend implements memory.Backend.
type backend struct {
	now  func() time.Time
	file *file
}

// SaveMessage implements memory.Backend.
func (b *backend) SaveMessage(ctx context.Context, sessionID string, m message.Message) error {
	return b.SaveMessages(ctx, sessionID, []message.Message{m})
}

// SaveMessages implements memory.Backend.
func (b *backend) SaveMessages(ctx context.Context, sessionID string, ms []message.Message) error {
	now := b.now().UnixMilli()
	ms, err := store.Prepare(sessionID, ms, now)
	if err != nil || len(ms) == 0 {
		return err
	}
	return b.file.update(ctx, func(tx *sql.Tx) error {
		for i := range ms {
			if err := insert(ctx, tx, sessionID, &ms[i], now); err != nil {
				return err
			}
		}
		return nil
	})
}

// History implements memory.Backend.
func (b *backend) History(ctx context.Context, sessionID string, limit int) ([]message.Message, error) {
	return b.newest(ctx, "sessionId = ? AND archived = 0", sessionID, store.Limit(limit, memory.DefaultHistoryLimit))
}

// FullHistory implements memory.Backend.
func (b *backend) FullHistory(ctx context.Context, sessionID string, limit int) ([]message.Message, error) {
	return b.newest(ctx, "sessionId = ?", sessionID, store.Limit(limit, memory.DefaultFullHistoryLimit))
}

func (b *backend) newest(ctx context.Context, where, sessionID string, limit int) ([]message.Message, error) {
	ms, err := b.query(ctx, "SELECT "+fields+" FROM messages WHERE "+where+" ORDER BY id DESC LIMIT ?", sessionID, limit)
	slices.Reverse(ms)
	return ms, err
}

func (b *backend) query(ctx context.Context, statement string, args ...any) ([]message.Message, error) {
	return query(ctx, b.file, func(scan func(...any) error) (message.Message, error) { return row(scan) }, statement, args...)
}

// MessagesInRange implements memory.Backend.
func (b *backend) MessagesInRange(ctx context.Context, sessionID string, r memory.Range) ([]message.Message, error) {
	w := where{}
	w.add("sessionId = ?", sessionID)
	w.add("timestamp >= ?", r.From)
	w.add("timestamp <= ?", r.To)
	in(&w, "role IN", r.Roles)
	in(&w, "kind IS NULL OR kind NOT IN", r.ExcludeKinds)
	return b.query(ctx, "SELECT "+fields+" FROM messages WHERE "+w.String()+" ORDER BY id LIMIT ?", append(w.args, memory.RangeLimit)...)
}

// RecentAcrossSessions implements memory.Backend.
func (b *backend) RecentAcrossSessions(ctx context.Context, q memory.Query) ([]memory.SessionMessage, error) {
	q = store.Normalize(q)
	w := where{}
	w.add("archived = 0")
	w.add("timestamp >= ?", q.Since)
	in(&w, "role IN", q.Roles)
	in(&w, "kind IN", q.Kinds)
	in(&w, "kind IS NULL OR kind NOT IN", q.ExcludeKinds)
	in(&w, "sessionId NOT IN", q.ExcludeSessions)
	if q.Platform != "" {
		w.add("json_valid(metadata) AND json_extract(metadata, '$.platform') = ?", q.Platform)
	}
	out, err := query(ctx, b.file, func(scan func(...any) error) (s memory.SessionMessage, err error) {
		s.Message, err = row(scan, &s.SessionID)
		return s, err
	}, "SELECT "+fields+", sessionId FROM messages WHERE "+w.String()+" ORDER BY timestamp DESC, id DESC LIMIT ?", append(w.args, q.Limit)...)
	slices.Reverse(out)
	return out, err
}

// TrimHistory implements memory.Backend.
func (b *backend) TrimHistory(ctx context.Context, sessionID string, keepRecent int) (int, error) {
	return b.change(ctx, `UPDATE messages SET archived = 1 WHERE sessionId = ? AND archived = 0 AND id NOT IN
		(SELECT id FROM messages WHERE sessionId = ? AND archived = 0 ORDER BY id DESC LIMIT ?)`, sessionID, sessionID, max(keepRecent, 0))
}

// ArchiveOldest implements memory.Backend.
func (b *backend) ArchiveOldest(ctx context.Context, sessionID string, n int) (int, error) {
	return b.change(ctx, `UPDATE messages SET archived = 1 WHERE id IN
		(SELECT id FROM messages WHERE sessionId = ? AND archived = 0 ORDER BY id LIMIT ?)`, sessionID, max(n, 0))
}

// change runs one statement and gives the number of rows that it changed.
func (b *backend) change(ctx context.Context, statement string, args ...any) (n int, err error) {
	err = b.file.update(ctx, func(tx *sql.Tx) error {
		n, err = exec(ctx, tx, statement, args...)
		return err
	})
	return n, err
}

func exec(ctx context.Context, tx *sql.Tx, statement string, args ...any) (int, error) {
	res, err := tx.ExecContext(ctx, statement, args...)
	if err != nil {
		return 0, err
	}
	n, err := res.RowsAffected()
	return int(n), err
}

// UpdateMessageContent implements memory.Backend.
func (b *backend) UpdateMessageContent(ctx context.Context, sessionID, old, replacement string) (int, error) {
	if old == "" {
		return 0, nil
	}
	return b.change(ctx, `UPDATE messages SET content = replace(content, ?, ?) WHERE instr(content, ?) > 0 AND id IN
		(SELECT id FROM messages WHERE sessionId = ? ORDER BY id DESC LIMIT ?)`, old, replacement, old, sessionID, memory.UpdateWindow)
}

// DeleteByTimestamps implements memory.Backend.
func (b *backend) DeleteByTimestamps(ctx context.Context, sessionID string, timestamps []int64) (deleted int, err error) {
	if len(timestamps) == 0 {
		return 0, nil
	}
	err = b.file.update(ctx, func(tx *sql.Tx) error {
		for chunk := range slices.Chunk(timestamps, deleteChunk) {
			w := where{}
			w.add("sessionId = ?", sessionID)
			in(&w, "timestamp IN", chunk)
			n, err := exec(ctx, tx, "DELETE FROM messages WHERE "+w.String(), w.args...)
			if err != nil {
				return err
			}
			deleted += n
		}
		return nil
	})
	return deleted, err
}

// ClearSession implements memory.Backend.
func (b *backend) ClearSession(ctx context.Context, sessionID string) error {
	_, err := b.change(ctx, "DELETE FROM messages WHERE sessionId = ?", sessionID)
	return err
}

// ClearAll implements memory.Backend.
func (b *backend) ClearAll(ctx context.Context) error {
	return b.file.update(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, "DELETE FROM messages"); err != nil {
			return err
		}
		w := where{}
		in(&w, "namespace NOT IN", memory.StateNamespaces())
		_, err := tx.ExecContext(ctx, "DELETE FROM metadata WHERE "+w.String(), w.args...)
		return err
	})
}

// where collects conditions and their values.
type where struct {
	conditions []string
	args       []any
}

func (w *where) add(condition string, args ...any) {
	w.conditions = append(w.conditions, "("+condition+")")
	w.args = append(w.args, args...)
}

func (w *where) String() string { return strings.Join(w.conditions, " AND ") }

// in adds a condition that ends in a list of values; without values it adds none.
func in[T ~string | int64](w *where, condition string, values []T) {
	if len(values) == 0 {
		return
	}
	args := make([]any, len(values))
	for i, v := range values {
		args[i] = v
	}
	w.add(condition+" (?"+strings.Repeat(", ?", len(values)-1)+")", args...)
}
