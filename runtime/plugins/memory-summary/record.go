// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package memorysummary

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/aalis-dev/aalis-operator/runtime/contract/memory"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
)

const (
	// namespace of the records, keyed by session.
	namespace = "summary"
	// source is the name under which the summaries can be chosen in a clearing.
	source = "summary"
	// maxSummary bounds a stored summary, in UTF-16 code units, well below what memory takes as one value.
	maxSummary = 100_000
)

// record is what is kept of a session.
type record struct {
	Summary string `json:"summary"`
	// CoveredUpTo is the number of messages that went into the summary.
	CoveredUpTo int `json:"coveredUpTo"`
	// MessageCount is the number of messages that were not archived when it was written.
	MessageCount int `json:"messageCount"`
	// UpdatedAt in milliseconds since the epoch.
	UpdatedAt int64 `json:"updatedAt"`
	// Pending is the number of the newest archived messages that did not go into the summary yet.
	Pending int `json:"pending,omitempty"`
}

// load reads the record of a session; one that is not there is empty. One that cannot be read as such is taken for
// empty, since nothing else could ever be done with it.
func (s *summarizer) load(ctx context.Context, b memory.Backend, session string) (record, error) {
	raw, ok, err := b.Metadata(ctx, namespace, session)
	if err != nil {
		return record{}, fmt.Errorf("reading the summary of session %q: %w", session, err)
	}
	var r record
	if !ok {
		return r, nil
	}
	if err := json.Unmarshal(raw, &r); err != nil {
		s.k.Logger().Warn("The record of a summary makes no sense and is not used", "sessionId", session, "error", err)
		return record{}, nil
	}
	return r, nil
}

func (s *summarizer) save(ctx context.Context, b memory.Backend, session string, r record) error {
	r.UpdatedAt = s.k.Now().UnixMilli()
	op, err := memory.Put(namespace, session, r)
	if err == nil {
		err = b.CommitMetadata(ctx, []memory.Op{op})
	}
	if err != nil {
		return fmt.Errorf("saving the summary of session %q: %w", session, err)
	}
	return nil
}

// clear takes part in memory:clear. While the clearing lasts no session of it is summarised.
func (s *summarizer) clear(ctx context.Context, d *memory.ClearData, next kernel.Next) error {
	scope := d.SessionID
	if d.Scope == memory.ClearAllScope {
		scope = everySession
	} else if scope == everySession {
		return next(ctx)
	}
	if !d.Wants(source, memory.TypeContext) {
		return next(ctx)
	}
	unblock := s.runs.block(ctx, scope)
	defer unblock()
	if b, ok := memory.Service.Get(s.k); ok && d.Wants(source) {
		if err := forget(ctx, b, scope, d); err != nil {
			s.k.Logger().Warn("Could not clear summaries", "sessionId", scope, "error", err)
			d.Add(source, false, err.Error())
		} else {
			d.Add(source, true, "")
		}
	}
	return next(ctx)
}

// forget deletes the record of a session, or all of them, and notes how to undo it.
func forget(ctx context.Context, b memory.Backend, session string, d *memory.ClearData) error {
	list, err := entries(ctx, b, session)
	if err != nil || len(list) == 0 {
		return err
	}
	del, put := make([]memory.Op, len(list)), make([]memory.Op, len(list))
	for i, e := range list {
		del[i] = memory.Op{Namespace: namespace, Key: e.Key}
		put[i] = memory.Op{Namespace: namespace, Key: e.Key, Data: e.Data}
	}
	if err := b.CommitMetadata(ctx, del); err != nil {
		return fmt.Errorf("deleting summaries: %w", err)
	}
	d.Rollbacks = append(d.Rollbacks, memory.Rollback{Source: source, Undo: func(ctx context.Context) error {
		return b.CommitMetadata(ctx, put)
	}})
	return nil
}

func entries(ctx context.Context, b memory.Backend, session string) ([]memory.Entry, error) {
	if session == everySession {
		list, err := b.ListMetadata(ctx, namespace)
		if err != nil {
			return nil, fmt.Errorf("listing summaries: %w", err)
		}
		return list, nil
	}
	raw, ok, err := b.Metadata(ctx, namespace, session)
	if err != nil {
		return nil, fmt.Errorf("reading the summary of session %q: %w", session, err)
	}
	if !ok {
		return nil, nil
	}
	return []memory.Entry{{Key: session, Data: raw}}, nil
}
