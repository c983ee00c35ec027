// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"testing"
	"time"
)

const (
	// pollEvery is how often a condition is looked at.
	pollEvery = 10 * time.Millisecond
	// patience is how long a condition may take, on a slow machine too.
	patience = 30 * time.Second
)

// Eventually waits until check gives no error, and fails the test with the last one if that takes too long.
func Eventually(t testing.TB, check func() error) {
	t.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		err := check()
		if err == nil {
			return
		}
		select {
		case <-tick.C:
		case <-deadline.C:
			t.Fatalf("still not so after %s: %v", patience, err)
		}
	}
}

// Quiet waits until the operator has written nothing for a while: longer than it may hold a write back.
func (o *Operator) Quiet(t testing.TB) {
	t.Helper()
	const silence = 1500 * time.Millisecond
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	start := time.Now()
	for o.Writes.idleFor(time.Now()) < silence || time.Since(start) < silence {
		select {
		case <-tick.C:
		case <-deadline.C:
			t.Fatalf("the operator still writes after %s: %s", patience, o.Writes)
		}
	}
}
