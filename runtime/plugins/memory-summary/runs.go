// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package memorysummary

import (
	"context"
	"slices"
	"sync"
)

// everySession in runs.block means all of them.
const everySession = ""

// runs knows which sessions are being summarised, and lets each be so once at a time.
type runs struct {
	mu      sync.Mutex
	running map[string]*run
	blocked map[string]int // sessions that are being cleared, everySession included
}

// run is one summarising.
type run struct {
	session string
	// reasons are those for which it was asked for aloud; each is told how it ends.
	reasons []string
	cancel  context.CancelFunc
	done    chan struct{}
}

func newRuns() *runs { return &runs{running: map[string]*run{}, blocked: map[string]int{}} }

// begin registers a run; it gives nil if the session is being cleared, or has one already, which the reason joins then.
func (r *runs) begin(session, reason string) *run {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.blocked[session]+r.blocked[everySession] > 0 {
		return nil
	}
	if there := r.running[session]; there != nil {
		if reason != "" && !slices.Contains(there.reasons, reason) {
			there.reasons = append(there.reasons, reason)
		}
		return nil
	}
	begun := &run{session: session, cancel: func() {}, done: make(chan struct{})}
	if reason != "" {
		begun.reasons = []string{reason}
	}
	r.running[session] = begun
	return begun
}

// cancellable gives the context in which a run works.
func (r *runs) cancellable(ctx context.Context, x *run) context.Context {
	ctx, cancel := context.WithCancel(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	x.cancel = cancel
	if r.blocked[x.session]+r.blocked[everySession] > 0 {
		cancel()
	}
	return ctx
}

// asked tells whether somebody asked for the run aloud.
func (r *runs) asked(x *run) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(x.reasons) > 0
}

// first is the reason for which a run was first asked for aloud.
func (r *runs) first(x *run) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return x.reasons[0]
}

// end takes a run out and gives the reasons to answer.
func (r *runs) end(x *run) (reasons []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	x.cancel()
	delete(r.running, x.session)
	close(x.done)
	return x.reasons
}

// stop ends the run of a session, if there is one.
func (r *runs) stop(session string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if x := r.running[session]; x != nil {
		x.cancel()
	}
}

// active tells whether a session is being summarised.
func (r *runs) active(session string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.running[session] != nil
}

// block ends the run of a session, or all of them with everySession, waits until that has happened, and lets none begin
// until unblock.
func (r *runs) block(ctx context.Context, session string) (unblock func()) {
	r.mu.Lock()
	r.blocked[session]++
	var wait []*run
	for id, x := range r.running {
		if session == everySession || id == session {
			x.cancel()
			wait = append(wait, x)
		}
	}
	r.mu.Unlock()
	for _, x := range wait {
		select {
		case <-x.done:
		case <-ctx.Done():
		}
	}
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.blocked[session]--; r.blocked[session] <= 0 {
			delete(r.blocked, session)
		}
	}
}
