// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package memorysqlite

import (
	"context"
	"database/sql"
	"encoding/json"

	"github.com/aalis-dev/aalis-operator/runtime/contract/memory"
	"github.com/aalis-dev/aalis-operator/runtime/store"
)

// putSQL keeps updatedAt growing, so that who polls by time sees every change.
const putSQL = `INSERT INTO metadata (namespace, key, data, updatedAt) VALUES (?, ?, ?, ?)
	ON CONFLICT (namespace, key) DO UPDATE SET data = excluded.data, updatedAt = max(excluded.updatedAt, metadata.updatedAt + 1)`

// Metadata implements memory.Backend.
func (b *backend) Metadata(ctx context.Context, namespace, key string) (json.RawMessage, bool, error) {
	found, err := query(ctx, b.file, func(scan func(...any) error) (data string, err error) { return data, scan(&data) },
		"SELECT data FROM metadata WHERE namespace = ? AND key = ?", namespace, key)
	if err != nil || len(found) == 0 {
		return nil, false, err
	}
	return json.RawMessage(found[0]), true, nil
}

// ListMetadata implements memory.Backend.
func (b *backend) ListMetadata(ctx context.Context, namespace string) ([]memory.Entry, error) {
	return query(ctx, b.file, func(scan func(...any) error) (e memory.Entry, err error) {
		var data string
		err = scan(&e.Key, &data, &e.UpdatedAt)
		e.Data = json.RawMessage(data)
		return e, err
	}, "SELECT key, data, updatedAt FROM metadata WHERE namespace = ? ORDER BY key", namespace)
}

// CommitMetadata implements memory.Backend.
func (b *backend) CommitMetadata(ctx context.Context, ops []memory.Op) error {
	if err := store.CheckOps(ops); err != nil || len(ops) == 0 {
		return err
	}
	now := b.now().UnixMilli()
	return b.file.update(ctx, func(tx *sql.Tx) error {
		for _, op := range ops {
			var err error
			if op.Data == nil {
				_, err = tx.ExecContext(ctx, "DELETE FROM metadata WHERE namespace = ? AND key = ?", op.Namespace, op.Key)
			} else {
				_, err = tx.ExecContext(ctx, putSQL, op.Namespace, op.Key, string(op.Data), now)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

var _ memory.Backend = (*backend)(nil)
