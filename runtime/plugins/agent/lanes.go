// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"errors"
	"sync"
)

// Why a turn was ended early by the agent itself.
var (
	errSuperseded = errors.New("a newer message of the same lane came")
	errAborted    = errors.New("the turn was aborted")
	errStopping   = errors.New("the agent stops")
)

// defaultSource is the lane of messages that name none.
const defaultSource = "user"

// lanes holds the running turn of every lane. A lane is a session and a source; it has at most one turn that is not
// aborted. What is in the table is bounded by what the gateway lets in.
type lanes struct {
	mu       sync.Mutex
	sessions map[string]map[string]*lane
	running  int // turns that have not ended, aborted ones too
	closed   bool
	empty    chan struct{} // closed when running becomes 0; made by who waits
}

// lane is the running turn of a lane.
type lane struct {
	session, source string
	turn            string // of the message, or empty
	cancel          context.CancelCauseFunc
}

func newLanes() *lanes { return &lanes{sessions: map[string]map[string]*lane{}} }

// begin aborts the lane's running turn, without waiting for it, and enters a new one; ok is false when no more turns are
// taken. The context ends when the turn is aborted. The caller calls end.
func (l *lanes) begin(ctx context.Context, session, source, turn string) (_ context.Context, t *lane, ok bool) {
	if source == "" {
		source = defaultSource
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return ctx, nil, false
	}
	t = &lane{session: session, source: source, turn: turn}
	ctx, t.cancel = context.WithCancelCause(ctx)
	sources := l.sessions[session]
	if sources == nil {
		sources = map[string]*lane{}
		l.sessions[session] = sources
	}
	if old := sources[source]; old != nil {
		old.cancel(errSuperseded)
	}
	sources[source] = t
	l.running++
	return ctx, t, true
}

func (l *lanes) end(t *lane) {
	t.cancel(nil)
	l.mu.Lock()
	defer l.mu.Unlock()
	if sources := l.sessions[t.session]; sources[t.source] == t {
		if delete(sources, t.source); len(sources) == 0 {
			delete(l.sessions, t.session)
		}
	}
	if l.running--; l.running == 0 && l.empty != nil {
		close(l.empty)
		l.empty = nil
	}
}

// abort ends the turns of a session and forgets them.
func (l *lanes) abort(session string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, t := range l.sessions[session] {
		t.cancel(errAborted)
	}
	delete(l.sessions, session)
}

// abortTurn ends the turn of one message, if it still runs.
func (l *lanes) abortTurn(turn string) {
	if turn == "" {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, sources := range l.sessions {
		for _, t := range sources {
			if t.turn == turn {
				t.cancel(errAborted)
			}
		}
	}
}

// drain takes no more turns and waits for the running ones, or until ctx ends.
func (l *lanes) drain(ctx context.Context) { l.wait(ctx, nil) }

// stop takes no more turns, ends the running ones, and waits for them, or until ctx ends.
func (l *lanes) stop(ctx context.Context) { l.wait(ctx, errStopping) }

func (l *lanes) wait(ctx context.Context, cause error) {
	l.mu.Lock()
	l.closed = true
	if cause != nil {
		for _, sources := range l.sessions {
			for _, t := range sources {
				t.cancel(cause)
			}
		}
	}
	if l.running == 0 {
		l.mu.Unlock()
		return
	}
	if l.empty == nil {
		l.empty = make(chan struct{})
	}
	empty := l.empty
	l.mu.Unlock()
	select {
	case <-empty:
	case <-ctx.Done():
	}
}
