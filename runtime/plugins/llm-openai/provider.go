// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package llmopenai

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

// tools are what tests replace.
type tools struct {
	// wait blocks between the tries of a call, rest between those of the discovery: for d or until ctx ends, and then
	// returns ctx's error.
	wait, rest func(ctx context.Context, d time.Duration) error
	// jitter gives a number from 0 up to 1.
	jitter func() float64
}

func realTools() tools { return tools{wait: sleep, rest: sleep, jitter: rand.Float64} }

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

// provider is one running instance: the models that it offers and the calls that are under way.
type provider struct {
	k     *kernel.Context
	ep    *endpoint
	set   atomic.Pointer[settings]
	tools tools
	calls netx.InFlight

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

func newProvider(k *kernel.Context, ep *endpoint, set *settings, t tools) *provider {
	p := &provider{k: k, ep: ep, tools: t, offered: map[string]*offer{}}
	p.set.Store(set)
	return p
}

// found takes over a new list of the server's models.
func (p *provider) found(ids []string) {
	p.mu.Lock()
	p.discovered = ids
	p.mu.Unlock()
	p.sync()
}

// sync makes the registered models those of the config and the server. Registering calls other plugins, so no lock is
// held meanwhile: one goroutine at a time does the work, another leaves a note and goes.
func (p *provider) sync() {
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
func (p *provider) offer(discovered []string) {
	set := p.set.Load()
	wanted := make(map[string]bool, len(set.custom)+len(discovered))
	for _, ids := range [][]string{set.custom, discovered} {
		for _, id := range ids {
			if wanted[id] {
				continue
			}
			wanted[id] = true
			p.offerOne(id, set)
		}
	}
	for id, o := range p.offered {
		if !wanted[id] {
			delete(p.offered, id)
			o.off()
		}
	}
	p.count.Store(int32(len(p.offered))) //nolint:gosec // bounded by twice maxModels
}

func (p *provider) offerOne(id string, set *settings) {
	info := &llm.Info{
		ID: id, Provider: p.k.ID(), ContextLength: set.contextLength, MaxOutputTokens: set.maxTokens,
		Capabilities: set.capabilities(id),
	}
	if o := p.offered[id]; o != nil {
		o.model.info.Store(info)
		return
	}
	if p.k.Disposed() {
		return
	}
	m := &model{p: p, id: id}
	m.info.Store(info)
	off := llm.Service.Provide(p.k, m,
		kernel.WithEntryID(info.Entry()), kernel.WithLabel("OpenAI ("+p.ep.host+") / "+id))
	p.offered[id] = &offer{model: m, off: off}
}

// drain waits for the calls under way. New ones are still taken: a turn that is under way may need several.
func (p *provider) drain(ctx context.Context) { _ = p.calls.Wait(ctx) }

// close ends what teardown left behind. The calls under way have been cancelled by then.
func (p *provider) close(ctx context.Context) error {
	err := p.calls.Wait(ctx)
	p.ep.transport.CloseIdleConnections()
	return err
}
