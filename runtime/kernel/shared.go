// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kernel

import (
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

// shared is what all contexts of one App have in common.
type shared struct {
	services container
	bus      bus
	hooks    hookRegistry
	points   pointRegistry
	settings settings

	logger  *slog.Logger
	now     func() time.Time
	dataDir string
	appName func() string
	devMode bool
	// disposeTimeout bounds every single step of a teardown that runs plugin code; 0 means no bound.
	disposeTimeout time.Duration
	// drainTimeout bounds the draining of one context, in nanoseconds; 0 means no bound.
	drainTimeout atomic.Int64
	// serviceChanged is told of registrations and withdrawals, after they happened and with no lock held.
	serviceChanged func(name string, up bool)

	mu        sync.Mutex
	contexts  map[string]*Context // those not torn down to the end, by id
	abandoned atomic.Int64
}

func (s *shared) init() {
	s.contexts = map[string]*Context{}
	s.services.init()
	s.bus.init()
	s.hooks.init()
	s.points.init()
}

func (s *shared) drainLimit() time.Duration { return time.Duration(s.drainTimeout.Load()) }

// claim enters a context under its id and reports whether the id was free.
func (s *shared) claim(c *Context) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.contexts[c.id] != nil {
		return false
	}
	s.contexts[c.id] = c
	return true
}

func (s *shared) release(c *Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.contexts[c.id] == c {
		delete(s.contexts, c.id)
	}
}

// Stats counts what an App holds on behalf of its contexts. Two equal states of an App have equal stats, so a difference
// is a leak.
type Stats struct {
	// Contexts is the number of contexts not torn down to the end, with the root.
	Contexts int
	// Disposables is the number of cleanups waiting on all of them: one per registration and OnDispose.
	Disposables int
	// Goroutines is the number of running goroutines that contexts own.
	Goroutines int
	// Services, Handlers, Hooks, Contributions, ServiceWatches and SettingWatches count registrations.
	Services, Handlers, Hooks, Contributions, ServiceWatches, SettingWatches int
	// Abandoned is how often a teardown gave up waiting for plugin code. It only grows.
	Abandoned int64
}

func (s *shared) stats() Stats {
	out := Stats{
		Handlers: s.bus.count(), Hooks: s.hooks.count(), Contributions: s.points.count(),
		SettingWatches: s.settings.count(), Abandoned: s.abandoned.Load(),
	}
	out.Services, out.ServiceWatches = s.services.counts()
	s.mu.Lock()
	contexts := make([]*Context, 0, len(s.contexts))
	for _, c := range s.contexts {
		contexts = append(contexts, c)
	}
	s.mu.Unlock()
	out.Contexts = len(contexts)
	for _, c := range contexts {
		c.mu.Lock()
		out.Disposables += c.chain.n
		out.Goroutines += len(c.owned)
		c.mu.Unlock()
	}
	return out
}
