// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/aalis-dev/aalis-operator/runtime/budget"
	"github.com/aalis-dev/aalis-operator/runtime/contract/memory"
)

const (
	// storeTimeout bounds one write. A call of a model waits for it.
	storeTimeout = 2 * time.Second
	// maxOps bounds one write of accounts that are over.
	maxOps = 500
)

// storedKey is where an account is stored. No part of it holds a slash.
func storedKey(key budget.Key) string { return key.Limit + "/" + key.Unit + "/" + key.Subject }

func readKey(text string) (budget.Key, bool) {
	parts := strings.Split(text, "/")
	if len(parts) != 3 {
		return budget.Key{}, false
	}
	return budget.Key{Limit: parts[0], Unit: parts[1], Subject: parts[2]}, true
}

// follow reads what was spent from a backend that has come. What is known stays known when it goes.
func (b *keeper) follow(store memory.Backend, retry time.Duration) (detach func()) {
	ctx, cancel := context.WithCancel(b.k.Lifetime())
	done := make(chan struct{})
	b.k.Go("read budgets", func(context.Context) {
		defer close(done)
		b.load(ctx, store, retry)
	})
	return func() {
		cancel()
		<-done
		b.mu.Lock()
		defer b.mu.Unlock()
		b.backend = nil
	}
}

// load reads until it succeeds or ctx ends.
func (b *keeper) load(ctx context.Context, store memory.Backend, retry time.Duration) {
	for {
		entries, err := store.ListMetadata(ctx, memory.NamespaceBudget)
		if err == nil {
			b.restore(store, entries)
			return
		}
		if ctx.Err() != nil {
			return
		}
		b.k.Logger().Warn("Could not read what was spent, trying again: with budgets declared no model is called", "error", err)
		wait := time.NewTimer(retry)
		select {
		case <-ctx.Done():
			wait.Stop()
			return
		case <-wait.C:
		}
	}
}

func (b *keeper) restore(store memory.Backend, entries []memory.Entry) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range entries {
		var a budget.Account
		key, ok := readKey(e.Key)
		if !ok {
			continue // another plugin's
		}
		if err := json.Unmarshal(e.Data, &a); err != nil {
			b.k.Logger().Error("Ignored a stored account that cannot be read", "key", e.Key, "error", err)
			continue
		}
		b.ledger.Restore(key, a)
	}
	b.backend, b.loaded = store, true
}

// sweep drops accounts that are over. It is called with the lock held.
func (b *keeper) sweep(now time.Time) {
	if now.Sub(b.swept) < sweepEvery {
		return
	}
	b.swept = now
	for _, key := range b.ledger.Sweep(b.limits, now) {
		delete(b.warned, key)
		b.gone[key] = true
	}
}

// flush stores what has changed. Calls that come together share one write. A store that fails does not stop the bot: what is
// spent is known as long as the process lives, and stored with the next write that succeeds.
func (b *keeper) flush(ctx context.Context) {
	b.storing.Lock()
	defer b.storing.Unlock()
	store, ops, written, removed := b.changes()
	if store == nil || len(ops) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	if err := store.CommitMetadata(ctx, ops); err != nil {
		b.mu.Lock()
		for _, key := range written {
			b.dirty[key] = true
		}
		for _, key := range removed {
			b.gone[key] = true
		}
		b.mu.Unlock()
		if !b.failing {
			b.k.Logger().Error("Could not store what was spent, going on without", "error", err)
		}
		b.failing = true
		return
	}
	b.failing = false
}

// changes takes what is to be stored.
func (b *keeper) changes() (store memory.Backend, ops []memory.Op, written, removed []budget.Key) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.backend == nil {
		return nil, nil, nil, nil
	}
	for key := range b.dirty {
		op, err := memory.Put(memory.NamespaceBudget, storedKey(key), b.ledger.Stored(key))
		if err != nil {
			b.k.Logger().Error("Could not encode an account", "error", fmt.Errorf("%s: %w", storedKey(key), err))
			continue
		}
		ops = append(ops, op)
		written = append(written, key)
		delete(b.gone, key)
	}
	clear(b.dirty)
	for key := range b.gone {
		if len(ops) >= maxOps {
			break
		}
		ops = append(ops, memory.Op{Namespace: memory.NamespaceBudget, Key: storedKey(key)})
		removed = append(removed, key)
		delete(b.gone, key)
	}
	return b.backend, ops, written, removed
}
