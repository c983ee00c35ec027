// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package llmhttp

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aalis-dev/aalis-operator/runtime/contract/llm"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
)

// firstDiscovery is how long Run waits for the first list of models when the config names none.
const firstDiscovery = 2 * time.Second

// Backend is what differs between vendors. Its methods may be called concurrently. Errors are those of Endpoint and the
// sentinels of this package.
type Backend interface {
	// Common are the settings in force.
	Common() *Settings
	// Guess says what a model can do of which the config says nothing.
	Guess(id string) []llm.Capability
	// List asks the server for its models.
	List(ctx context.Context, ep *Endpoint) ([]string, error)
	// Chat makes one attempt at a whole reply.
	Chat(ctx context.Context, c Call, req llm.Request) (llm.Response, error)
	// Stream makes one attempt at a streamed reply. An error of onChunk is returned as it is, or wrapped.
	Stream(ctx context.Context, c Call, req llm.Request, onChunk func(llm.Chunk) error) error
}

// Tools are what tests replace.
type Tools struct {
	// Wait blocks between the tries of a call, Rest between those of the discovery: for d or until ctx ends, and then
	// returns ctx's error.
	Wait, Rest func(ctx context.Context, d time.Duration) error
	// Jitter gives a number from 0 up to 1.
	Jitter func() float64
}

// RealTools use the process's own clock and random numbers.
func RealTools() Tools { return Tools{Wait: Sleep, Rest: Sleep, Jitter: rand.Float64} }

// Sleep blocks for d or until ctx ends, and then returns ctx's error.
func Sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Provider is one running instance: the models that it offers and the calls that are under way.
type Provider struct {
	k       *kernel.Context
	ep      *Endpoint
	backend Backend
	tools   Tools

	mu         sync.Mutex
	dirty      bool
	running    bool
	discovered []string
	offered    map[string]*offer // touched by the running sync only
	count      atomic.Int32      // of offered
}

// offer is one model that is registered.
type offer struct {
	model *model
	off   func()
}

func start(k *kernel.Context, ep *Endpoint, backend Backend, t Tools) *Provider {
	p := &Provider{k: k, ep: ep, backend: backend, tools: t, offered: map[string]*offer{}}
	p.sync()
	first := make(chan struct{})
	k.Go("discovery", func(ctx context.Context) { p.discover(ctx, first) })
	if len(backend.Common().Models.Custom) == 0 {
		p.await(first, firstDiscovery)
	}
	return p
}

func (p *Provider) await(first <-chan struct{}, most time.Duration) {
	limit := time.NewTimer(most)
	defer limit.Stop()
	select {
	case <-first:
	case <-limit.C:
	case <-p.k.Lifetime().Done():
	}
}

// found takes over a new list of the server's models.
func (p *Provider) found(ids []string) {
	p.mu.Lock()
	p.discovered = ids
	p.mu.Unlock()
	p.sync()
}

// sync makes the registered models, and what is said of them, those of the config and the server. Registering calls
// other plugins, so no lock is held meanwhile: one goroutine at a time does the work, another leaves a note and goes.
func (p *Provider) sync() {
	p.mu.Lock()
	p.dirty = true
	if p.running {
		p.mu.Unlock()
		return
	}
	p.running = true
	for p.dirty {
		p.dirty = false
		discovered := p.discovered
		p.mu.Unlock()
		p.offer(discovered)
		p.mu.Lock()
	}
	p.running = false
	p.mu.Unlock()
}

// offer registers and withdraws models. Models of the config come first, so that they win over found ones.
func (p *Provider) offer(discovered []string) {
	custom := p.backend.Common().Models.Custom
	wanted := make(map[string]bool, len(custom)+len(discovered))
	for _, ids := range [][]string{custom, discovered} {
		for _, id := range ids {
			if wanted[id] {
				continue
			}
			wanted[id] = true
			p.offerOne(id)
		}
	}
	for id, o := range p.offered {
		if !wanted[id] {
			delete(p.offered, id)
			o.off()
		}
	}
	p.count.Store(int32(len(p.offered))) //nolint:gosec // bounded by twice MaxModels
}

func (p *Provider) offerOne(id string) {
	set := p.backend.Common()
	info := llm.Info{
		ID: id, Provider: p.k.ID(), ContextLength: set.ContextLength, MaxOutputTokens: set.MaxTokens,
		Capabilities: set.Models.Can(id, p.backend.Guess), Price: set.Models.Price(id),
	}
	if o := p.offered[id]; o != nil {
		o.model.info.Store(&info)
		return
	}
	if p.k.Disposed() {
		return
	}
	m := &model{p: p, id: id}
	m.info.Store(&info)
	off := llm.Service.Provide(p.k, m,
		kernel.WithEntryID(info.Entry()), kernel.WithLabel(p.ep.vendor+" ("+p.ep.Host+") / "+id))
	p.offered[id] = &offer{model: m, off: off}
}
