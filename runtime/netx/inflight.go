// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package netx

import (
	"context"
	"sync"
)

// InFlight counts requests under way and tells when there are none. The zero value is ready. Its methods may be called
// concurrently.
type InFlight struct {
	mu   sync.Mutex
	n    int
	idle chan struct{} // closed when n falls to 0; nil if nobody waits
}

// Enter counts a request in. Each call needs one of Leave.
func (f *InFlight) Enter() {
	f.mu.Lock()
	f.n++
	f.mu.Unlock()
}

// TryEnter counts a request in unless limit requests are under way already.
func (f *InFlight) TryEnter(limit int) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.n >= limit {
		return false
	}
	f.n++
	return true
}

// Leave counts a request out.
func (f *InFlight) Leave() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.n--; f.n == 0 && f.idle != nil {
		close(f.idle)
		f.idle = nil
	}
}

// Count is the number of requests under way.
func (f *InFlight) Count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.n
}

// Wait returns nil once no request is under way, or the cause of ctx's end.
func (f *InFlight) Wait(ctx context.Context) error {
	f.mu.Lock()
	if f.n == 0 {
		f.mu.Unlock()
		return nil
	}
	if f.idle == nil {
		f.idle = make(chan struct{})
	}
	idle := f.idle
	f.mu.Unlock()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
