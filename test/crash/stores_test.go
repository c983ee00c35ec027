// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package crash

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	_ "modernc.org/sqlite" // the driver

	"github.com/aalis-dev/aalis-operator/runtime/contract/memory"
	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
	"github.com/aalis-dev/aalis-operator/runtime/kerneltest"
	"github.com/aalis-dev/aalis-operator/runtime/netx"
	memoryredis "github.com/aalis-dev/aalis-operator/runtime/plugins/memory-redis"
	"github.com/aalis-dev/aalis-operator/runtime/store"
)

// reader reads all that the bot remembers of some sessions while it does not run, and fails if that is damaged.
type reader func(ctx context.Context, sessions []string) (map[string][]message.Message, error)

// sqliteReader reads the file itself and changes nothing in it.
func sqliteReader(dataDir string) reader {
	path := filepath.Join(dataDir, "aalis.db")
	return func(ctx context.Context, _ []string) (map[string][]message.Message, error) {
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return nil, nil // killed before there was a file
		}
		db, err := sql.Open("sqlite", "file:"+path+"?mode=ro&_pragma=busy_timeout(5000)")
		if err != nil {
			return nil, err
		}
		defer func() { _ = db.Close() }()
		db.SetMaxOpenConns(1)
		var verdict string
		if err := db.QueryRowContext(ctx, "PRAGMA integrity_check").Scan(&verdict); err != nil || verdict != "ok" {
			return nil, fmt.Errorf("integrity check: %q, %w", verdict, err)
		}
		var tables int
		if err := db.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_master WHERE name IN ('messages', 'metadata')").Scan(&tables); err != nil {
			return nil, err
		}
		switch tables {
		case 0:
			return nil, nil // killed before there were tables
		case 2:
			return sqliteMessages(ctx, db)
		}
		return nil, fmt.Errorf("%d of 2 tables", tables)
	}
}

func sqliteMessages(ctx context.Context, db *sql.DB) (map[string][]message.Message, error) {
	var spoilt int
	if err := db.QueryRowContext(ctx, "SELECT count(*) FROM metadata WHERE NOT json_valid(data)").Scan(&spoilt); err != nil || spoilt > 0 {
		return nil, fmt.Errorf("%d values of metadata are no JSON, %w", spoilt, err)
	}
	rows, err := db.QueryContext(ctx, `SELECT sessionId, role, coalesce(kind, ''), coalesce(content, ''), coalesce(toolCalls, '[]'),
		coalesce(toolCallId, ''), timestamp, coalesce(metadata, '{}'), coalesce(segments, '[]') FROM messages ORDER BY id`)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	out := map[string][]message.Message{}
	for rows.Next() {
		var m message.Message
		var session, calls, metadata, segments string
		err := rows.Scan(&session, &m.Role, &m.Kind, &m.Content, &calls, &m.ToolCallID, &m.Timestamp, &metadata, &segments)
		err = errors.Join(err, json.Unmarshal([]byte(calls), &m.ToolCalls), json.Unmarshal([]byte(metadata), &m.Metadata),
			json.Unmarshal([]byte(segments), &m.Segments))
		if err != nil {
			return nil, fmt.Errorf("a message of %s: %w", session, err)
		}
		out[session] = append(out[session], m)
	}
	return out, rows.Err()
}

// redisReader reads as a bot with the same identity would.
func redisReader(t *testing.T, addr string) reader {
	t.Helper()
	h := kerneltest.New(t,
		kerneltest.WithSetting(store.IdentitySetting.Key(), store.Identity{Cluster: "local", Namespace: "default", UID: botName}),
		kerneltest.WithSetting(netx.Setting.Key(), netx.Policy{AllowLoopback: true}),
		kerneltest.WithPlugin(memoryredis.Plugin, "", map[string]any{"address": addr}))
	backend, ok := memory.Service.Get(h.Root())
	if !ok {
		t.Fatalf("there is no memory: %+v", h.Plugin(memoryredis.Plugin.Name))
	}
	return func(ctx context.Context, sessions []string) (map[string][]message.Message, error) {
		out := map[string][]message.Message{}
		for _, s := range sessions {
			all, err := backend.FullHistory(ctx, s, 1<<30)
			if err != nil {
				return nil, err
			}
			if err := sameEverywhere(ctx, backend, s, all); err != nil {
				return nil, fmt.Errorf("session %s: %w", s, err)
			}
			out[s] = all
		}
		return out, nil
	}
}

// sameEverywhere tells whether the indexes of a session agree.
func sameEverywhere(ctx context.Context, b memory.Backend, session string, all []message.Message) error {
	live, err := b.History(ctx, session, 1<<30)
	if err != nil {
		return err
	}
	inTime, err := b.MessagesInRange(ctx, session, memory.Range{To: 1 << 52})
	if err != nil {
		return err
	}
	switch oldest := all[:min(len(all), memory.RangeLimit)]; {
	case len(live) > len(all) || len(live) > 0 && !reflect.DeepEqual(live, all[len(all)-len(live):]):
		return fmt.Errorf("the %d messages that are not archived are not the newest of %d", len(live), len(all))
	case len(inTime) != len(oldest) || len(oldest) > 0 && !reflect.DeepEqual(inTime, oldest):
		return fmt.Errorf("%d messages by time, %d by number", len(inTime), len(oldest))
	}
	return nil
}
