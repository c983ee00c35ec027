// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"math/rand/v2"
	"time"
)

// The pauses between tries while the API is away. They are short enough that a bot hears of the API's return soon, and
// jittered so that thousands of bots do not come back at one moment.
const (
	firstPause = 250 * time.Millisecond
	lastPause  = 5 * time.Second
)

// backoff doubles from firstPause to lastPause; what is waited is between half and one and a half of that.
type backoff struct {
	wait func(ctx context.Context, d time.Duration) error
	next time.Duration
}

// pause waits for the next pause, or until ctx ends.
func (b *backoff) pause(ctx context.Context) error {
	d := max(b.next, firstPause)
	b.next = min(2*d, lastPause)
	return b.wait(ctx, d/2+rand.N(d))
}

// reset begins anew after a success.
func (b *backoff) reset() { b.next = 0 }

// sleep is the real wait.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
