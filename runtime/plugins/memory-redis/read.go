// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package memoryredis

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/aalis-dev/aalis-operator/runtime/contract/memory"
	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
	"github.com/aalis-dev/aalis-operator/runtime/store"
)

// The reading across sessions: so many members at a time, and at most so many in all.
const (
	acrossPage = 500
	acrossMost = 20_000
)

// encode makes the stored form of a message. Images are not stored: they may be megabytes, and history describes them
// in words.
func encode(m message.Message) (string, error) {
	m.Images = nil
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(m); err != nil {
		return "", fmt.Errorf("encoding a message: %w", err)
	}
	return string(bytes.TrimSuffix(b.Bytes(), []byte("\n"))), nil
}

// fetch reads messages by number, in the order of ids. What was removed meanwhile is left out.
func (b *backend) fetch(ctx context.Context, sessionID string, ids []string) ([]message.Message, error) {
	found, err := b.fetchByID(ctx, sessionID, ids)
	if err != nil {
		return nil, err
	}
	out := make([]message.Message, 0, len(found))
	for _, id := range ids {
		if m, ok := found[id]; ok {
			out = append(out, m)
		}
	}
	return out, nil
}

func (b *backend) fetchByID(ctx context.Context, sessionID string, ids []string) (map[string]message.Message, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	values, err := b.client.HMGet(ctx, b.keys.messages(sessionID), ids...).Result()
	if err != nil {
		return nil, b.explain(err)
	}
	return decode(ids, values), nil
}

// decode reads stored messages. What is no message (another program wrote it) is left out rather than failing the whole
// history.
func decode(ids []string, values []any) map[string]message.Message {
	out := make(map[string]message.Message, len(ids))
	for i, v := range values {
		var m message.Message
		if s, ok := v.(string); ok && json.Unmarshal([]byte(s), &m) == nil {
			out[ids[i]] = m
		}
	}
	return out
}

// RecentAcrossSessions implements memory.Backend.
func (b *backend) RecentAcrossSessions(ctx context.Context, q memory.Query) ([]memory.SessionMessage, error) {
	q = store.Normalize(q)
	var out []memory.SessionMessage
	seen := map[string]bool{}
	for offset := int64(0); offset < acrossMost && len(out) < q.Limit; offset += acrossPage {
		members, err := b.client.ZRangeArgs(ctx, redis.ZRangeArgs{
			Key: b.keys.recent(), ByScore: true, Rev: true, Start: "+inf", Stop: strconv.FormatInt(q.Since, 10),
			Offset: offset, Count: acrossPage,
		}).Result()
		if err != nil {
			return nil, b.explain(err)
		}
		// A message that came meanwhile moves the pages, so that one may come twice.
		fresh := slices.DeleteFunc(slices.Clone(members), func(m string) bool { return seen[m] })
		for _, m := range fresh {
			seen[m] = true
		}
		found, err := b.fetchMembers(ctx, fresh)
		if err != nil {
			return nil, err
		}
		for _, f := range found {
			if len(out) < q.Limit && store.Matches(q, f.SessionID, &f.Message) {
				out = append(out, f)
			}
		}
		if len(members) < acrossPage {
			break
		}
	}
	slices.Reverse(out)
	return out, nil
}

// fetchMembers reads the messages of members of recent, in their order, with one round trip for all sessions.
func (b *backend) fetchMembers(ctx context.Context, members []string) ([]memory.SessionMessage, error) {
	bySession := map[string][]string{}
	for _, m := range members {
		id, session, _ := strings.Cut(m, ":")
		bySession[session] = append(bySession[session], id)
	}
	pipe := b.client.Pipeline()
	replies := make(map[string]*redis.SliceCmd, len(bySession))
	for session, ids := range bySession {
		replies[session] = pipe.HMGet(ctx, b.keys.messages(session), ids...)
	}
	if len(replies) > 0 {
		if _, err := pipe.Exec(ctx); err != nil {
			return nil, b.explain(err)
		}
	}
	found := make(map[string]map[string]message.Message, len(replies))
	for session, reply := range replies {
		found[session] = decode(bySession[session], reply.Val())
	}
	out := make([]memory.SessionMessage, 0, len(members))
	for _, member := range members {
		id, session, _ := strings.Cut(member, ":")
		if m, ok := found[session][id]; ok {
			out = append(out, memory.SessionMessage{SessionID: session, Message: m})
		}
	}
	return out, nil
}

// Metadata implements memory.Backend.
func (b *backend) Metadata(ctx context.Context, namespace, key string) (json.RawMessage, bool, error) {
	v, err := b.client.HGet(ctx, b.keys.metadata(namespace), key).Result()
	switch {
	case errors.Is(err, redis.Nil):
		return nil, false, nil
	case err != nil:
		return nil, false, b.explain(err)
	}
	_, data, ok := strings.Cut(v, " ")
	return json.RawMessage(data), ok, nil
}

// ListMetadata implements memory.Backend.
func (b *backend) ListMetadata(ctx context.Context, namespace string) ([]memory.Entry, error) {
	values, err := b.client.HGetAll(ctx, b.keys.metadata(namespace)).Result()
	if err != nil {
		return nil, b.explain(err)
	}
	out := make([]memory.Entry, 0, len(values))
	for key, v := range values {
		at, data, ok := strings.Cut(v, " ")
		ms, err := strconv.ParseInt(at, 10, 64)
		if !ok || err != nil {
			continue
		}
		out = append(out, memory.Entry{Key: key, Data: json.RawMessage(data), UpdatedAt: ms})
	}
	slices.SortFunc(out, func(a, b memory.Entry) int { return strings.Compare(a.Key, b.Key) })
	return out, nil
}

// CommitMetadata implements memory.Backend.
func (b *backend) CommitMetadata(ctx context.Context, ops []memory.Op) error {
	if err := store.CheckOps(ops); err != nil || len(ops) == 0 {
		return err
	}
	args := []any{b.keys.prefix, b.now().UnixMilli()}
	for _, op := range ops {
		write := 0
		if op.Data != nil {
			write = 1
		}
		args = append(args, op.Namespace, op.Key, write, string(op.Data))
	}
	_, err := b.run(ctx, commitScript, []string{b.keys.namespaces()}, args...)
	return err
}

var _ memory.Backend = (*backend)(nil)
