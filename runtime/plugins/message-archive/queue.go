// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package messagearchive

import (
	"context"
	"fmt"
	"slices"
	"sync"
)

// maxWaiting bounds the calls that wait for their turn in one session. Each has a caller that waits, so this is reached
// only when memory hangs.
const maxWaiting = 1024

// queues lets the calls of one session in one at a time, in the order in which they came.
type queues struct {
	mu sync.Mutex
	// waiting holds the sessions with a call inside, and the calls that wait behind it. A closed channel is a call's
	// turn.
	waiting map[string][]chan struct{}
}

func newQueues() *queues { return &queues{waiting: map[string][]chan struct{}{}} }

// enter waits for the caller's turn. Without an error the caller must call leave.
func (q *queues) enter(ctx context.Context, session string) error {
	q.mu.Lock()
	line, busy := q.waiting[session]
	if !busy {
		q.waiting[session] = nil
		q.mu.Unlock()
		return nil
	}
	if len(line) >= maxWaiting {
		q.mu.Unlock()
		return fmt.Errorf("%d calls wait for memory in this session already", len(line))
	}
	turn := make(chan struct{})
	q.waiting[session] = append(line, turn)
	q.mu.Unlock()
	select {
	case <-turn:
		return nil
	case <-ctx.Done():
		q.giveUp(session, turn)
		return fmt.Errorf("waiting for earlier messages of the session: %w", ctx.Err())
	}
}

// giveUp takes a call out of the line. If its turn came meanwhile, the next one gets it.
func (q *queues) giveUp(session string, turn chan struct{}) {
	q.mu.Lock()
	i := slices.Index(q.waiting[session], turn)
	if i >= 0 {
		q.waiting[session] = slices.Delete(q.waiting[session], i, i+1)
	}
	q.mu.Unlock()
	if i < 0 {
		q.leave(session)
	}
}

func (q *queues) leave(session string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	line := q.waiting[session]
	if len(line) == 0 {
		delete(q.waiting, session)
		return
	}
	close(line[0])
	q.waiting[session] = slices.Delete(line, 0, 1)
}
