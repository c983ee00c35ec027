// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package memoryredis

import (
	"context"
	"crypto/rand"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/aalis-dev/aalis-operator/runtime/contract/memory"
	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
	"github.com/aalis-dev/aalis-operator/runtime/store"
)

// The limits of a call: it ends within about half a minute whatever the server does.
const (
	dialTimeout  = 3 * time.Second
	callTimeout  = 5 * time.Second
	poolTimeout  = 5 * time.Second
	firstBackoff = 50 * time.Millisecond
	lastBackoff  = time.Second
	retries      = 4
	poolSize     = 16
)

type clock func() time.Time

// backend implements memory.Backend.
type backend struct {
	now    clock
	client *redis.Client
	keys   keys
	addr   string
}

// run runs a script that must not happen twice, even if the answer to it is lost and it is sent again.
func (b *backend) run(ctx context.Context, s *redis.Script, keys []string, args ...any) (int, error) {
	keys = append([]string{b.keys.token(rand.Text())}, keys...)
	n, err := s.Run(ctx, b.client, keys, args...).Int()
	return n, b.explain(err)
}

func (b *backend) change(ctx context.Context, s *redis.Script, sessionID string, args ...any) (int, error) {
	return b.run(ctx, s, b.keys.session(sessionID), append([]any{sessionID}, args...)...)
}

// look tells in the log whether the server can be used, once.
func (b *backend) look(ctx context.Context, log *slog.Logger) {
	if err := b.client.Ping(ctx).Err(); err != nil {
		if ctx.Err() == nil {
			log.Error("Redis cannot be used yet; each call tries again", "addr", b.addr, "error", b.explain(err))
		}
		return
	}
	policy, err := b.client.ConfigGet(ctx, "maxmemory-policy").Result()
	if p := policy["maxmemory-policy"]; err == nil && strings.HasPrefix(p, "allkeys-") {
		log.Warn("Redis may drop what the bot remembers when its memory is full; set maxmemory-policy to noeviction", "addr", b.addr, "maxmemory-policy", p)
	}
}

// SaveMessage implements memory.Backend.
func (b *backend) SaveMessage(ctx context.Context, sessionID string, m message.Message) error {
	return b.SaveMessages(ctx, sessionID, []message.Message{m})
}

// SaveMessages implements memory.Backend.
func (b *backend) SaveMessages(ctx context.Context, sessionID string, ms []message.Message) error {
	ms, err := store.Prepare(sessionID, ms, b.now().UnixMilli())
	if err != nil || len(ms) == 0 {
		return err
	}
	args := make([]any, 0, 2*len(ms))
	for i := range ms {
		data, err := encode(ms[i])
		if err != nil {
			return err
		}
		args = append(args, ms[i].Timestamp, data)
	}
	_, err = b.change(ctx, saveScript, sessionID, args...)
	return err
}

// History implements memory.Backend.
func (b *backend) History(ctx context.Context, sessionID string, limit int) ([]message.Message, error) {
	return b.newest(ctx, sessionID, b.keys.live(sessionID), store.Limit(limit, memory.DefaultHistoryLimit))
}

// FullHistory implements memory.Backend.
func (b *backend) FullHistory(ctx context.Context, sessionID string, limit int) ([]message.Message, error) {
	return b.newest(ctx, sessionID, b.keys.all(sessionID), store.Limit(limit, memory.DefaultFullHistoryLimit))
}

func (b *backend) newest(ctx context.Context, sessionID, order string, limit int) ([]message.Message, error) {
	ids, err := b.client.ZRange(ctx, order, -int64(limit), -1).Result()
	if err != nil {
		return nil, b.explain(err)
	}
	return b.fetch(ctx, sessionID, ids)
}

// TrimHistory implements memory.Backend.
func (b *backend) TrimHistory(ctx context.Context, sessionID string, keepRecent int) (int, error) {
	return b.change(ctx, trimScript, sessionID, max(keepRecent, 0))
}

// ArchiveOldest implements memory.Backend.
func (b *backend) ArchiveOldest(ctx context.Context, sessionID string, n int) (int, error) {
	return b.change(ctx, archiveScript, sessionID, n)
}

// UpdateMessageContent implements memory.Backend. Messages are only ever changed by this call, so that what it read is
// still the same when it writes, unless two of them meet: then the later one wins.
func (b *backend) UpdateMessageContent(ctx context.Context, sessionID, old, replacement string) (int, error) {
	if old == "" {
		return 0, nil
	}
	ids, err := b.client.ZRange(ctx, b.keys.all(sessionID), -memory.UpdateWindow, -1).Result()
	if err != nil {
		return 0, b.explain(err)
	}
	found, err := b.fetchByID(ctx, sessionID, ids)
	if err != nil {
		return 0, err
	}
	var args []any
	for _, id := range ids {
		m, ok := found[id]
		if !ok || !strings.Contains(m.Content, old) {
			continue
		}
		m.Content = strings.ReplaceAll(m.Content, old, replacement)
		data, err := encode(m)
		if err != nil {
			return 0, err
		}
		args = append(args, id, data)
	}
	if len(args) == 0 {
		return 0, nil
	}
	return b.change(ctx, replaceScript, sessionID, args...)
}

// DeleteByTimestamps implements memory.Backend.
func (b *backend) DeleteByTimestamps(ctx context.Context, sessionID string, timestamps []int64) (int, error) {
	if len(timestamps) == 0 {
		return 0, nil
	}
	args := make([]any, len(timestamps))
	for i, ts := range timestamps {
		args[i] = ts
	}
	return b.change(ctx, deleteScript, sessionID, args...)
}

// ClearSession implements memory.Backend.
func (b *backend) ClearSession(ctx context.Context, sessionID string) error {
	_, err := b.change(ctx, clearScript, sessionID)
	return err
}

// ClearAll implements memory.Backend.
func (b *backend) ClearAll(ctx context.Context) error {
	args := []any{b.keys.prefix}
	for _, namespace := range memory.StateNamespaces() {
		args = append(args, namespace)
	}
	_, err := b.run(ctx, clearAllScript, []string{b.keys.sessions(), b.keys.recent(), b.keys.namespaces()}, args...)
	return err
}

// MessagesInRange implements memory.Backend.
func (b *backend) MessagesInRange(ctx context.Context, sessionID string, r memory.Range) ([]message.Message, error) {
	ids, err := b.client.ZRangeArgs(ctx, redis.ZRangeArgs{
		Key: b.keys.times(sessionID), ByScore: true, Start: strconv.FormatInt(r.From, 10), Stop: strconv.FormatInt(r.To, 10),
	}).Result()
	if err != nil {
		return nil, b.explain(err)
	}
	slices.Sort(ids) // padded numbers: the order of saving
	var out []message.Message
	for chunk := range slices.Chunk(ids, memory.RangeLimit) {
		ms, err := b.fetch(ctx, sessionID, chunk)
		if err != nil {
			return nil, err
		}
		for _, m := range ms {
			if store.InRange(r, &m) {
				out = append(out, m)
			}
			if len(out) == memory.RangeLimit {
				return out, nil
			}
		}
	}
	return out, nil
}
