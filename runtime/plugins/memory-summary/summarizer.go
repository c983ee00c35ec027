// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package memorysummary

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/aalis-dev/aalis-operator/runtime/bounded"
	"github.com/aalis-dev/aalis-operator/runtime/contract/agent"
	"github.com/aalis-dev/aalis-operator/runtime/contract/memory"
	"github.com/aalis-dev/aalis-operator/runtime/i18n"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
)

const (
	// atATime bounds the sessions that are summarised at a time; others wait.
	atATime = 4
	// autoPause is how long a session is not compressed again by itself: the usage is told before each call of a model,
	// and stays high until the turn ends.
	autoPause = time.Minute
	// maxPaused bounds the sessions whose last automatic compression is remembered.
	maxPaused = 10000
)

// summarizer is the running plugin.
type summarizer struct {
	k     *kernel.Context
	cfg   atomic.Pointer[Config]
	runs  *runs
	slots chan struct{}
	autos *bounded.Map[string, time.Time]
}

func newSummarizer(k *kernel.Context, cfg Config) *summarizer {
	s := &summarizer{
		k: k, runs: newRuns(), slots: make(chan struct{}, atATime),
		autos: bounded.New[string, time.Time](maxPaused, 0, nil),
	}
	s.cfg.Store(&cfg)
	memory.MessagesDeleted.On(k, func(_ context.Context, d memory.Deleted) error {
		s.runs.stop(d.SessionID) // what it counted is not so any more
		return nil
	})
	return s
}

// turnAfter looks after each turn whether the session has grown.
func (s *summarizer) turnAfter(ctx context.Context, d *agent.TurnData, next kernel.Next) error {
	err := next(ctx)
	if d.Outcome == agent.Replied || d.Outcome == agent.Silent {
		s.start(d.SessionID, "")
	}
	return err
}

// usage asks for a summary when the context window fills.
func (s *summarizer) usage(ctx context.Context, u agent.TokenUsage) error {
	limit := s.cfg.Load().AutoCompressThreshold
	if limit <= 0 || u.UsageRatio < limit || u.SessionID == "" || s.runs.active(u.SessionID) {
		return nil
	}
	now, due := s.k.Now(), false
	s.autos.Update(u.SessionID, func(last time.Time, ok bool) time.Time {
		if due = !ok || now.Sub(last) >= autoPause; due {
			return now
		}
		return last
	})
	if due {
		memory.Compress.Emit(ctx, s.k, memory.CompressRequest{SessionID: u.SessionID, Reason: memory.CompressAuto})
	}
	return nil
}

// compress does what session:compress asks for. Reasons other than auto and manual are like the end of a turn.
func (s *summarizer) compress(_ context.Context, r memory.CompressRequest) error {
	switch r.Reason {
	case memory.CompressAuto, memory.CompressManual:
		s.start(r.SessionID, r.Reason)
	default:
		s.start(r.SessionID, "")
	}
	return nil
}

// start summarises a session in the background. With a reason it does so whatever the session's length, and tells of it.
func (s *summarizer) start(session, reason string) {
	if session == "" {
		return
	}
	x := s.runs.begin(session, reason)
	if x == nil {
		return
	}
	s.k.Go("summarise", func(ctx context.Context) { s.execute(ctx, x) })
}

// execute does a run and tells whoever asked for it aloud. The one that a reason joined on the way is told of the start
// together with the end.
func (s *summarizer) execute(ctx context.Context, x *run) {
	inner := s.runs.cancellable(ctx, x)
	told := 0
	err := errors.New("the run broke off") // stays if what follows panics
	defer func() {
		for i, reason := range s.runs.end(x) {
			if i >= told {
				s.tell(ctx, x.session, reason, memory.CompressStart, nil)
			}
			s.tell(ctx, x.session, reason, phaseOf(err), err)
		}
	}()
	for {
		aloud := s.runs.asked(x)
		if aloud && told == 0 {
			told = 1
			s.tell(ctx, x.session, s.runs.first(x), memory.CompressStart, nil)
		}
		var did bool
		did, err = s.inTurn(inner, x.session, aloud)
		if did || aloud || err != nil || !s.runs.asked(x) {
			break
		}
	}
	if err != nil && inner.Err() == nil {
		s.k.Logger().Warn("Could not summarise a session", "sessionId", x.session, "error", err)
	}
}

// inTurn is work when there is room for one more.
func (s *summarizer) inTurn(ctx context.Context, session string, aloud bool) (did bool, err error) {
	select {
	case s.slots <- struct{}{}:
	case <-ctx.Done():
		return false, ctx.Err()
	}
	defer func() { <-s.slots }()
	return s.work(ctx, session, aloud)
}

func phaseOf(err error) memory.CompressPhase {
	if err != nil {
		return memory.CompressError
	}
	return memory.CompressDone
}

func (s *summarizer) tell(ctx context.Context, session, reason string, phase memory.CompressPhase, err error) {
	p := memory.CompressProgress{SessionID: session, Phase: phase, Reason: reason}
	if err != nil {
		p.Error = s.explain(err)
	}
	memory.Compressing.Emit(context.WithoutCancel(ctx), s.k, p)
}

// explain says for people why a summarising failed.
func (s *summarizer) explain(err error) string {
	lang := i18n.Of(s.k)
	switch {
	case errors.Is(err, errNoMemory):
		return i18n.SummaryNoMemory().In(lang)
	case errors.Is(err, errNoModel):
		return i18n.NoModel().In(lang)
	default:
		return i18n.SummaryFailed().In(lang)
	}
}
