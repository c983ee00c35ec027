// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package memorysummary

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/aalis-dev/aalis-operator/runtime/contract/archive"
	"github.com/aalis-dev/aalis-operator/runtime/contract/memory"
	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
	"github.com/aalis-dev/aalis-operator/runtime/i18n"
)

const (
	// firstProbe is how many messages are read at first; twice as many each time, until all are there.
	firstProbe = 256
	// maxProbe bounds what is read of one session. A longer one is left alone, since its oldest part is out of sight.
	maxProbe = 1 << 17
	// slack is how many messages may come while the archived ones are looked for.
	slack = 64
	// fingerprint is how many messages must be the same for a place in the history to be the one that is looked for.
	fingerprint = 8
)

var (
	errNoMemory = errors.New("no memory backend is registered")
	errTooLong  = fmt.Errorf("the session has %d messages or more that are not archived", maxProbe)
	errMoved    = errors.New("the history of the session changed while it was read")
)

// job is one summarising of one session that has something to summarise.
type job struct {
	s       *summarizer
	b       memory.Backend
	session string
	cfg     Config
	rec     record
	// old is what goes into the summary, oldest first; the first rec.Pending of it are archived already.
	old []message.Message
	// todo is the latest list of tasks, or empty.
	todo  string
	began int64
	// summarised and archived count messages.
	summarised, archived int
}

// work summarises a session if there is reason to; did tells whether there was. What it did not summarise is either not
// archived or noted in the record as pending.
func (s *summarizer) work(ctx context.Context, session string, aloud bool) (did bool, err error) {
	b, ok := memory.Service.Get(s.k)
	if !ok {
		return false, errNoMemory
	}
	cfg := *s.cfg.Load()
	if !aloud {
		probe, err := b.History(ctx, session, cfg.Threshold)
		if err != nil || len(probe) < cfg.Threshold {
			return false, err
		}
	}
	live, err := all(ctx, b, session)
	if err != nil {
		return false, err
	}
	cut := boundary(live, cfg.KeepRecent)
	if cut == 0 {
		return false, nil
	}
	j := &job{s: s, b: b, session: session, cfg: cfg, began: s.k.Now().UnixMilli()}
	if j.rec, err = s.load(ctx, b, session); err != nil {
		return false, err
	}
	pending, err := pendingOf(ctx, b, session, live, j.rec.Pending)
	if err != nil {
		return false, err
	}
	j.rec.Pending, j.rec.MessageCount = len(pending), len(live)
	j.old = slices.Concat(pending, live[:cut])
	if aloud {
		j.todo = latestTodo(live)
	}
	err = j.do(ctx)
	return true, err
}

// all reads every message of a session that is not archived.
func all(ctx context.Context, b memory.Backend, session string) ([]message.Message, error) {
	for limit := firstProbe; limit <= maxProbe; limit *= 2 {
		ms, err := b.History(ctx, session, limit)
		if err != nil {
			return nil, fmt.Errorf("reading session %q: %w", session, err)
		}
		if len(ms) < limit {
			return ms, nil
		}
	}
	return nil, errTooLong
}

// boundary is how many of the messages are old: all but the newest keep, and fewer where a tool's result would be
// parted from its call.
func boundary(live []message.Message, keep int) int {
	cut := max(len(live)-keep, 0)
	for cut > 0 && live[cut].Role == message.RoleTool {
		cut--
	}
	return cut
}

// pendingOf reads the newest n archived messages of a session whose other messages are live.
func pendingOf(ctx context.Context, b memory.Backend, session string, live []message.Message, n int) ([]message.Message, error) {
	if n <= 0 {
		return nil, nil
	}
	full, err := b.FullHistory(ctx, session, len(live)+n+slack)
	if err != nil {
		return nil, fmt.Errorf("reading archived messages of session %q: %w", session, err)
	}
	for at := max(len(full)-len(live), 0); at >= 0; at-- {
		if startsLike(full[at:], live) {
			return full[max(at-n, 0):at], nil
		}
	}
	return nil, errMoved
}

func startsLike(ms, prefix []message.Message) bool {
	n := min(len(prefix), fingerprint)
	return len(ms) >= n && slices.EqualFunc(ms[:n], prefix[:n], func(a, b message.Message) bool {
		return a.Role == b.Role && a.Timestamp == b.Timestamp && a.ToolCallID == b.ToolCallID && a.Content == b.Content
	})
}

// do summarises piece by piece from the oldest on: the record is saved before its messages are archived. When a model
// fails, the rest is archived all the same, so that the session does not stay too long, and is noted as pending.
func (j *job) do(ctx context.Context) error {
	err := j.summarise(ctx)
	failed, isModel := errors.AsType[*modelError](err)
	if isModel && ctx.Err() == nil {
		err = errors.Join(failed.err, j.setAside(ctx))
	}
	if j.archived > 0 || j.summarised > 0 {
		j.mark(context.WithoutCancel(ctx))
	}
	return err
}

func (j *job) summarise(ctx context.Context) error {
	w, err := j.s.writer(j.cfg)
	if err != nil {
		return &modelError{err}
	}
	for len(j.old) > 0 {
		n, lines := w.chunk(j.old)
		if lines != "" {
			text, err := w.write(ctx, j.rec.Summary, lines, j.todo)
			if err != nil {
				return &modelError{err}
			}
			j.rec.Summary = text
		}
		if err := j.cover(ctx, n); err != nil {
			return err
		}
	}
	return nil
}

// cover notes that the oldest n messages are in the summary, and then archives those that are not yet.
func (j *job) cover(ctx context.Context, n int) error {
	already := min(n, j.rec.Pending)
	j.rec.Pending -= already
	j.rec.CoveredUpTo += n
	if err := ctx.Err(); err != nil { // a clearing or a deletion came in between: the summary is of what is no more
		return err
	}
	if err := j.s.save(ctx, j.b, j.session, j.rec); err != nil {
		return err
	}
	j.summarised += n
	j.old = j.old[n:]
	return j.archive(ctx, n-already)
}

// setAside archives what is left and notes it as pending first.
func (j *job) setAside(ctx context.Context) error {
	left := len(j.old) - j.rec.Pending
	if left == 0 {
		return nil
	}
	j.rec.Pending += left
	if err := j.s.save(ctx, j.b, j.session, j.rec); err != nil {
		return err
	}
	return j.archive(ctx, left)
}

func (j *job) archive(ctx context.Context, n int) error {
	if n == 0 {
		return nil
	}
	done, err := j.b.ArchiveOldest(ctx, j.session, n)
	j.archived += done
	if err != nil {
		return fmt.Errorf("archiving %d messages of session %q: %w", n, j.session, err)
	}
	return nil
}

// mark leaves in the session what happened, for people who read it. No prompt shows it.
func (j *job) mark(ctx context.Context) {
	text := i18n.SummaryTrimmed(j.archived)
	if j.summarised > 0 {
		text = i18n.SummaryDone(j.summarised)
	}
	m := message.Message{
		Role: message.RoleSystem, Kind: message.KindEventMarker, Content: text.In(i18n.Of(j.s.k)), Timestamp: j.began,
	}
	var err error
	if a, ok := archive.Service.Get(j.s.k); ok {
		err = a.SaveMessage(ctx, j.session, m)
	} else {
		err = j.b.SaveMessage(ctx, j.session, m)
	}
	if err != nil {
		j.s.k.Logger().Warn("Could not save the marker of a summary", "sessionId", j.session, "error", err)
	}
	memory.HistoryChanged.Emit(ctx, j.s.k, memory.Changed{SessionID: j.session})
}
