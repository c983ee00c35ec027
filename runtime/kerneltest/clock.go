// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kerneltest

import (
	"sync"
	"time"
)

// epoch is where a Clock begins.
var epoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// Clock is a clock that moves only when told. The zero value is not usable; see [NewClock].
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// NewClock returns a clock that shows 2026-01-02 03:04:05 UTC.
func NewClock() *Clock { return &Clock{now: epoch} }

// Now returns the time the clock shows. It fits kernel.Options.Now.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Advance moves the clock, forwards or backwards.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// Set puts the clock to a time.
func (c *Clock) Set(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = now
}
