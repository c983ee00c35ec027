// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package platformopenai

import (
	"context"
	"sync"

	"github.com/aalis-dev/aalis-operator/runtime/contract/agent"
	"github.com/aalis-dev/aalis-operator/runtime/contract/gateway"
	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
)

// turnBuffer is how many events of a turn may wait for its request. Beyond that the turn waits: a slow client slows its
// own turn, and no longer than a write may take.
const turnBuffer = 64

// eventKind says what happened in a turn.
type eventKind uint8

const (
	evDelta eventKind = iota // the reply grew
	evTool                   // the model writes a tool call
	evSaid                   // something is to be shown
	evEnded                  // the turn has ended
)

// event is what happened in a turn.
type event struct {
	kind      eventKind
	content   string
	reasoning string
	said      *message.Outgoing
	outcome   agent.Outcome // of evEnded; empty if the agent did not say
}

// turn is one request's part of what the bus says.
type turn struct {
	id       string
	session  string
	streamed bool // the request wants deltas
	events   chan event
	gone     chan struct{} // closed when nobody reads events any more
}

func (t *turn) send(e event) {
	select {
	case t.events <- e:
	case <-t.gone:
	}
}

// turns finds the request that an event belongs to. The plugin subscribes once, however many requests there are.
type turns struct {
	mu   sync.RWMutex
	byID map[string]*turn
}

func newTurns() *turns { return &turns{byID: map[string]*turn{}} }

// open begins a turn. Each needs one close.
func (ts *turns) open(id, session string, streamed bool) *turn {
	t := &turn{id: id, session: session, streamed: streamed, events: make(chan event, turnBuffer), gone: make(chan struct{})}
	ts.mu.Lock()
	defer ts.mu.Unlock()
	ts.byID[id] = t
	return t
}

func (ts *turns) close(t *turn) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	delete(ts.byID, t.id)
	close(t.gone)
}

func (ts *turns) find(id string) *turn {
	if id == "" {
		return nil
	}
	ts.mu.RLock()
	defer ts.mu.RUnlock()
	return ts.byID[id]
}

// stream handles outbound:stream.
func (ts *turns) stream(_ context.Context, c message.StreamChunk) error {
	t := ts.find(c.TurnID)
	if t == nil || !t.streamed {
		return nil
	}
	if c.ContentDelta != "" || c.ReasoningDelta != "" {
		t.send(event{kind: evDelta, content: c.ContentDelta, reasoning: c.ReasoningDelta})
	}
	if c.ToolCallProgress != nil {
		t.send(event{kind: evTool})
	}
	return nil
}

// outbound handles outbound:message.
func (ts *turns) outbound(_ context.Context, m message.Outgoing) error {
	if t := ts.find(m.TurnID); t != nil {
		t.send(event{kind: evSaid, said: &m})
	}
	return nil
}

// phase handles gateway:phase:done. A message ends in the phase that does not pass it on, or with the last one.
func (ts *turns) phase(_ context.Context, p gateway.PhaseDone) error {
	if p.ReachedEnd && p.Phase != gateway.PhaseDispatch {
		return nil
	}
	if t := ts.find(p.TurnID); t != nil {
		t.send(event{kind: evEnded})
	}
	return nil
}

// after is in the hook agent:turn:after. The request need not wait for what others do there.
func (ts *turns) after(ctx context.Context, data *agent.TurnData, next kernel.Next) error {
	if t := ts.find(data.Message.TurnID); t != nil {
		t.send(event{kind: evEnded, outcome: data.Outcome})
	}
	return next(ctx)
}
