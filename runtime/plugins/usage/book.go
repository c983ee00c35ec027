// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package usage

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/aalis-dev/aalis-operator/runtime/contract/agent"
	"github.com/aalis-dev/aalis-operator/runtime/contract/memory"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
	"github.com/aalis-dev/aalis-operator/runtime/usagebook"
)

const (
	// storeTimeout bounds one write.
	storeTimeout = 5 * time.Second
	// maxOps bounds what one write holds.
	maxOps = 200
)

// book is the running plugin. Calls only write into it; one goroutine stores, as often as the store is ready for more, so that
// a process that is killed loses what it was about to store and nothing else.
type book struct {
	k     *kernel.Context
	retry time.Duration
	wake  chan struct{}

	mu    sync.Mutex
	book  *usagebook.Book
	known bool                       // what was stored has been read
	dirty map[usagebook.Address]bool // to be stored
	gone  map[usagebook.Address]bool // to be removed
}

func newBook(k *kernel.Context, retry time.Duration) *book {
	return &book{
		k: k, retry: retry, wake: make(chan struct{}, 1), book: usagebook.New(),
		dirty: map[usagebook.Address]bool{}, gone: map[usagebook.Address]bool{},
	}
}

// Report implements usage.Book.
func (b *book) Report() usagebook.Report {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.book.Report()
}

func (b *book) add(c agent.CallDone) {
	r := usagebook.Row{
		Persona: c.Persona, Provider: c.Provider, Model: c.Model, Calls: 1,
		Prompt: int64(c.Usage.PromptTokens), Completion: int64(c.Usage.CompletionTokens),
	}
	if n := c.Usage.CachedPromptTokens; n != nil {
		r.Cached = int64(*n)
	}
	if n := c.Usage.ReasoningTokens; n != nil {
		r.Reasoning = int64(*n)
	}
	if c.Estimated {
		r.Estimated = r.Prompt + r.Completion
	}
	if c.Price != nil {
		r.Costs = map[string]int64{c.Price.Currency: int64(c.Price.Cost(c.Usage))}
	}
	b.mu.Lock()
	changed, gone := b.book.Add(b.k.Now(), r)
	for _, a := range changed {
		b.dirty[a] = true
	}
	for _, a := range gone {
		delete(b.dirty, a)
		b.gone[a] = true
	}
	b.mu.Unlock()
	b.poke()
}

// storedKey is where a page is stored.
func storedKey(a usagebook.Address) string {
	return string(a.Span) + "/" + strconv.FormatInt(a.Start, 10)
}

func readKey(text string) (usagebook.Address, bool) {
	span, start, ok := strings.Cut(text, "/")
	n, err := strconv.ParseInt(start, 10, 64)
	a := usagebook.Address{Span: usagebook.Span(span), Start: n}
	return a, ok && err == nil && (a.Span == usagebook.Hour || a.Span == usagebook.Day)
}

// follow reads what was stored in a backend that has come, and stores there from then on.
func (b *book) follow(store memory.Backend) (detach func()) {
	ctx, cancel := context.WithCancel(b.k.Lifetime())
	done := make(chan struct{})
	b.k.Go("usage", func(context.Context) {
		defer close(done)
		if b.load(ctx, store) {
			b.keep(ctx, store)
		}
	})
	return func() {
		cancel()
		<-done
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
		defer cancel()
		if err := b.flush(last, store); err != nil {
			b.k.Logger().Warn("Lost the end of the usage book", "error", err)
		}
	}
}

// load reads until it succeeds or ctx ends, and tells which.
func (b *book) load(ctx context.Context, store memory.Backend) bool {
	for {
		entries, err := store.ListMetadata(ctx, memory.NamespaceUsage)
		if err == nil {
			b.restore(entries)
			return true
		}
		if !b.pause(ctx, "Could not read what was used before, trying again", err) {
			return false
		}
	}
}

func (b *book) restore(entries []memory.Entry) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.known {
		return // the store went and came: what it holds is in the book
	}
	b.known = true
	for _, e := range entries {
		var p usagebook.Page
		a, ok := readKey(e.Key)
		if !ok {
			continue
		}
		if err := json.Unmarshal(e.Data, &p); err != nil {
			b.k.Logger().Warn("Ignored a page of the usage book that cannot be read", "key", e.Key, "error", err)
			continue
		}
		b.book.Restore(a, p)
	}
}

// keep stores what changes until ctx ends.
func (b *book) keep(ctx context.Context, store memory.Backend) {
	for {
		if err := b.flush(ctx, store); err != nil && !b.pause(ctx, "Could not store what was used, trying again", err) {
			return
		}
		select {
		case <-b.wake:
		case <-ctx.Done():
			return
		}
	}
}

// pause waits before another try; false if ctx ended.
func (b *book) pause(ctx context.Context, what string, err error) bool {
	if ctx.Err() != nil {
		return false
	}
	b.k.Logger().Warn(what, "error", err)
	b.poke()
	wait := time.NewTimer(b.retry)
	defer wait.Stop()
	select {
	case <-wait.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func (b *book) poke() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// flush stores what has changed. Before what was stored has been read it stores nothing: it would take that away.
func (b *book) flush(ctx context.Context, store memory.Backend) error {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	ops, written, removed, err := b.changes()
	if err != nil || len(ops) == 0 {
		return err
	}
	if err := store.CommitMetadata(ctx, ops); err != nil {
		b.mu.Lock()
		defer b.mu.Unlock()
		for _, a := range written {
			b.dirty[a] = true
		}
		for _, a := range removed {
			b.gone[a] = true
		}
		return fmt.Errorf("storing %d pages: %w", len(ops), err)
	}
	return nil
}

func (b *book) changes() (ops []memory.Op, written, removed []usagebook.Address, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.known {
		return nil, nil, nil, nil
	}
	for a := range b.dirty {
		page, ok := b.book.Page(a)
		if !ok {
			continue
		}
		op, err := memory.Put(memory.NamespaceUsage, storedKey(a), page)
		if err != nil {
			return nil, nil, nil, fmt.Errorf("encoding a page: %w", err)
		}
		ops, written = append(ops, op), append(written, a)
	}
	clear(b.dirty)
	for a := range b.gone {
		if len(ops) == maxOps {
			b.poke()
			break
		}
		ops, removed = append(ops, memory.Op{Namespace: memory.NamespaceUsage, Key: storedKey(a)}), append(removed, a)
		delete(b.gone, a)
	}
	return ops, written, removed, nil
}
