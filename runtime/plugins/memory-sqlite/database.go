// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package memorysqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// busyTimeout is how long a call waits for another process that writes to the file.
const busyTimeout = 5 * time.Second

// readers is the number of connections that read at a time.
const readers = 4

// errTransient marks what may go away by itself: a lock, a full disk.
var errTransient = errors.New("try again later")

// database is an open file. Writing has one connection, so that writers queue here and never collide in SQLite.
type database struct {
	path        string
	read, write *sql.DB
}

// file is a database that is opened when it is first needed, so that a lock or a full disk at the start heals.
type file struct {
	path string
	busy time.Duration

	mu     sync.Mutex
	db     *database
	closed bool
}

var errClosed = errors.New("the memory is shut down")

func (f *file) get(ctx context.Context) (*database, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.closed:
		return nil, errClosed
	case f.db != nil:
		return f.db, nil
	}
	db, err := open(ctx, f.path, f.busy)
	if err != nil {
		return nil, err
	}
	f.db = db
	return db, nil
}

func (f *file) close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	if f.db == nil {
		return nil
	}
	return f.db.close()
}

// update runs a transaction that writes.
func (f *file) update(ctx context.Context, do func(tx *sql.Tx) error) error {
	db, err := f.get(ctx)
	if err != nil {
		return err
	}
	return db.update(ctx, do)
}

// query reads rows.
func query[T any](ctx context.Context, f *file, read func(scan func(...any) error) (T, error), statement string, args ...any) ([]T, error) {
	db, err := f.get(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := db.read.QueryContext(ctx, statement, args...)
	if err != nil {
		return nil, explain(f.path, err)
	}
	out, err := collect(rows, read)
	return out, explain(f.path, err)
}

// open opens a file, making it and its tables as needed.
func open(ctx context.Context, path string, busy time.Duration) (*database, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("making the directory of the memory file: %w", err)
	}
	write, err := connect(path, busy, 1)
	if err != nil {
		return nil, explain(path, err)
	}
	if err := migrate(ctx, write); err != nil {
		return nil, errors.Join(explain(path, err), write.Close())
	}
	read, err := connect(path, busy, readers)
	if err != nil {
		return nil, errors.Join(explain(path, err), write.Close())
	}
	return &database{path: path, read: read, write: write}, nil
}

func connect(path string, busy time.Duration, conns int) (*sql.DB, error) {
	q := url.Values{"_txlock": {"immediate"}, "_pragma": {
		"busy_timeout(" + strconv.FormatInt(busy.Milliseconds(), 10) + ")",
		"journal_mode(WAL)", "synchronous(FULL)", "secure_delete(FAST)",
	}}
	db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath(), RawQuery: q.Encode()}).String())
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(conns)
	db.SetMaxIdleConns(conns)
	return db, nil
}

// close ends all connections; the last one folds the log into the file.
func (d *database) close() error { return errors.Join(d.read.Close(), d.write.Close()) }

// update runs a transaction that writes.
func (d *database) update(ctx context.Context, do func(tx *sql.Tx) error) error {
	tx, err := d.write.BeginTx(ctx, nil)
	if err != nil {
		return explain(d.path, err)
	}
	if err := do(tx); err != nil {
		_ = tx.Rollback() // the error that matters is the one at hand
		return explain(d.path, err)
	}
	return explain(d.path, tx.Commit())
}

// explain says in words what is wrong with the file and what can be done about it.
func explain(path string, err error) error {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return err
	}
	what, transient := "", false
	switch e.Code() & 0xff {
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		what = "is corrupt or no SQLite file; restore a backup, or move it away to begin with an empty memory"
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		what, transient = "is locked by another process; only one bot may use it", true
	case sqlite3.SQLITE_FULL:
		what, transient = "cannot grow because the disk is full; enlarge the volume", true
	case sqlite3.SQLITE_READONLY:
		what = "cannot be written because it or its directory is read-only"
	case sqlite3.SQLITE_IOERR:
		what, transient = "cannot be read or written because the disk fails or is full", true
	case sqlite3.SQLITE_CANTOPEN:
		what = "cannot be opened; the directory must exist and be writable"
	default:
		return fmt.Errorf("memory file %s: %w", path, err)
	}
	if transient {
		return fmt.Errorf("memory file %s %s: %w: %w", path, what, errTransient, err)
	}
	return fmt.Errorf("memory file %s %s: %w", path, what, err)
}
