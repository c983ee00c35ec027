// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package agentinstance

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// latency remembers when configs were found changed whose acknowledgement is awaited, one a bot. What an operator does not see
// to its end, because it is restarted, is not measured.
type latency struct {
	mu    sync.Mutex
	since map[types.NamespacedName]awaited
}

type awaited struct {
	sequence int64
	began    time.Time
}

func newLatency() *latency { return &latency{since: map[types.NamespacedName]awaited{}} }

// begin notes that a config of a sequence is awaited. A later one takes the place of one that was not acknowledged.
func (l *latency) begin(bot types.NamespacedName, sequence int64, at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.since[bot] = awaited{sequence, at}
}

// end gives how long the sequence took, once.
func (l *latency) end(bot types.NamespacedName, sequence int64, at time.Time) (took time.Duration, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a, ok := l.since[bot]
	if !ok || a.sequence != sequence {
		return 0, false
	}
	delete(l.since, bot)
	return at.Sub(a.began), true
}

// forget drops a bot that is gone.
func (l *latency) forget(bot types.NamespacedName) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.since, bot)
}
