// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package memorysqlite

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
)

// migrations bring a file from one version (PRAGMA user_version, the index here) to the next. What was released is never
// changed; a new version appends.
var migrations = [...]func(ctx context.Context, tx *sql.Tx) error{createTables}

const tables = `
CREATE TABLE IF NOT EXISTS messages (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  sessionId TEXT NOT NULL,
  role TEXT NOT NULL,
  content TEXT,
  timestamp INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS metadata (
  namespace TEXT NOT NULL,
  key TEXT NOT NULL,
  data TEXT NOT NULL,
  updatedAt INTEGER NOT NULL,
  PRIMARY KEY (namespace, key)
);`

// columns that tables of other versions of the bot may lack.
var columns = [...]struct{ name, definition string }{
	{"kind", "TEXT"}, {"toolCalls", "TEXT"}, {"toolCallId", "TEXT"}, {"name", "TEXT"},
	{"archived", "INTEGER NOT NULL DEFAULT 0"}, {"metadata", "TEXT"}, {"createdAt", "INTEGER NOT NULL DEFAULT 0"},
	{"reasoningContent", "TEXT"}, {"segments", "TEXT"},
}

const indexes = `
CREATE INDEX IF NOT EXISTS messages_session_time ON messages (sessionId, timestamp);
CREATE INDEX IF NOT EXISTS messages_session_live ON messages (sessionId, archived);
CREATE INDEX IF NOT EXISTS messages_live_time ON messages (archived, timestamp);`

// migrate brings the file to the newest version, in one transaction per step.
func migrate(ctx context.Context, db *sql.DB) error {
	for {
		done, err := step(ctx, db)
		if err != nil || done {
			return err
		}
	}
}

func step(ctx context.Context, db *sql.DB) (done bool, err error) {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return false, err
	}
	defer func() { _ = tx.Rollback() }() // does nothing after a commit
	var version int
	if err := tx.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
		return false, fmt.Errorf("reading the version: %w", err)
	}
	switch {
	case version > len(migrations) || version < 0:
		return false, fmt.Errorf("the memory file has version %d, and this runtime knows versions up to %d: use a newer runtime image", version, len(migrations))
	case version == len(migrations):
		return true, nil
	}
	if err := migrations[version](ctx, tx); err != nil {
		return false, fmt.Errorf("migrating from version %d: %w", version, err)
	}
	if _, err := tx.ExecContext(ctx, fmt.Sprintf("PRAGMA user_version = %d", version+1)); err != nil {
		return false, fmt.Errorf("writing the version: %w", err)
	}
	return false, tx.Commit()
}

func createTables(ctx context.Context, tx *sql.Tx) error {
	if _, err := tx.ExecContext(ctx, tables); err != nil {
		return err
	}
	there, err := columnNames(ctx, tx)
	if err != nil {
		return err
	}
	for _, c := range columns {
		if slices.Contains(there, c.name) {
			continue
		}
		if _, err := tx.ExecContext(ctx, "ALTER TABLE messages ADD COLUMN "+c.name+" "+c.definition); err != nil {
			return fmt.Errorf("adding column %s: %w", c.name, err)
		}
	}
	_, err = tx.ExecContext(ctx, indexes)
	return err
}

func columnNames(ctx context.Context, tx *sql.Tx) ([]string, error) {
	rows, err := tx.QueryContext(ctx, "SELECT name FROM pragma_table_info('messages')")
	if err != nil {
		return nil, err
	}
	return collect(rows, func(scan func(...any) error) (name string, err error) { return name, scan(&name) })
}

// collect reads all rows and closes them.
func collect[T any](rows *sql.Rows, read func(scan func(...any) error) (T, error)) (out []T, err error) {
	defer func() { _ = rows.Close() }() // Err tells what is wrong
	for rows.Next() {
		v, err := read(rows.Scan)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, rows.Err()
}
