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
	"github.com/aalis-dev/aalis-operator/runtime/netx"
)

// firstDiscovery is how long Start waits for the first list of models when the config names none.
const firstDiscovery = 2 * time.Second

// Backend is what differs between vendors. Its methods may be called concurrently. Errors are those of Endpoint and the
// sentinels of this package.
type Backend interface {
	// Timeout bounds a call, all its attempts included; 0 means no limit.
	Timeout() time.Duration
	// Custom are the models of the config.
	Custom() []string
	// Describe says all of a model but its id and its provider.
	Describe(id string) llm.Info
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
	label   string // before the host in the labels of models
	backend Backend
	tools   Tools
	calls   netx.InFlight

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

// Start offers the models of a backend in a plugin's context until that is torn down. It waits a short while for the
// server's list if the config names no model, so that a bot whose server is up has its models from its first moment.
func Start(k *kernel.Context, ep *Endpoint, backend Backend, t Tools) *Provider {
	p := &Provider{k: k, ep: ep, label: ep.vendor, backend: backend, tools: t, offered: map[string]*offer{}}
	k.OnDispose("connections", p.close)
	k.OnDrain("calls", p.drain)
	p.Sync()
	first := make(chan struct{})
	k.Go("discovery", func(ctx context.Context) { p.discover(ctx, first) })
	if len(backend.Custom()) == 0 {
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
	p.Sync()
}

// Sync makes the registered models, and what is said of them, those of the config and the server. Registering calls other
// plugins, so no lock is held meanwhile: one goroutine at a time does the work, another leaves a note and goes.
func (p *Provider) Sync() {
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
	custom := p.backend.Custom()
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
	info := p.backend.Describe(id)
	info.ID, info.Provider = id, p.k.ID()
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
		kernel.WithEntryID(info.Entry()), kernel.WithLabel(p.label+" ("+p.ep.Host+") / "+id))
	p.offered[id] = &offer{model: m, off: off}
}

// drain waits for the calls under way. New ones are still taken: a turn that is under way may need several.
func (p *Provider) drain(ctx context.Context) { _ = p.calls.Wait(ctx) }

// close ends what teardown left behind. The calls under way have been cancelled by then.
func (p *Provider) close(ctx context.Context) error {
	err := p.calls.Wait(ctx)
	p.ep.Close()
	return err
}
