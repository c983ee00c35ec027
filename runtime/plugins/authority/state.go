// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/aalis-dev/aalis-operator/runtime/contract/memory"
	"github.com/aalis-dev/aalis-operator/runtime/policy"
)

const (
	// maxLevels bounds the people to whom chat may give a level.
	maxLevels = 10_000
	// maxPlatform and maxUser bound a name of a person in bytes: those of an AuthorityPolicy in characters of any kind.
	maxPlatform, maxUser = 4 * 63, 4 * 256

	levelPrefix = "level:"
	keyAuto     = "autoConfirm"
)

var errNoMemory = errors.New("there is no memory backend")

// storedLevel is one level that chat has given.
type storedLevel struct {
	Platform string `json:"platform"`
	UserID   string `json:"userId"`
	Level    int64  `json:"level"`
}

// storedAuto is what /auto has set.
type storedAuto struct {
	Until int64 `json:"until"`
}

func levelKey(id policy.Identity) string { return levelPrefix + id.Platform + ":" + id.UserID }

// follow reads what is set from a backend that has come, and forgets it when the backend goes.
func (a *authority) follow(b memory.Backend, retry time.Duration) (detach func()) {
	ctx, cancel := context.WithCancel(a.k.Lifetime())
	done := make(chan struct{})
	a.mu.Lock()
	a.backend, a.loaded = b, false
	a.mu.Unlock()
	a.k.Go("read authority", func(context.Context) {
		defer close(done)
		a.load(ctx, b, retry)
	})
	return func() {
		cancel()
		<-done
		a.mu.Lock()
		defer a.mu.Unlock()
		a.backend, a.loaded, a.levels, a.autoConfirm = nil, false, nil, nil
	}
}

// load reads until it succeeds or ctx ends.
func (a *authority) load(ctx context.Context, b memory.Backend, retry time.Duration) {
	for {
		err := a.read(ctx, b)
		if err == nil || ctx.Err() != nil {
			return
		}
		a.k.Logger().Warn("Could not read who may do what, trying again: only what is harmless runs", "error", err)
		select {
		case <-ctx.Done():
			return
		case <-time.After(retry):
		}
	}
}

func (a *authority) read(ctx context.Context, b memory.Backend) error {
	a.storing.Lock()
	defer a.storing.Unlock()
	entries, err := b.ListMetadata(ctx, memory.NamespaceAuthority)
	if err != nil {
		return fmt.Errorf("reading the namespace %s: %w", memory.NamespaceAuthority, err)
	}
	levels, auto := map[policy.Identity]int64{}, (*int64)(nil)
	for _, e := range entries {
		if e.Key == keyAuto {
			var s storedAuto
			if err := json.Unmarshal(e.Data, &s); err != nil {
				a.k.Logger().Warn("Ignored a stored value that cannot be read", "key", e.Key, "error", err)
				continue
			}
			auto = &s.Until
			continue
		}
		id, level, err := parseLevel(e)
		if err != nil {
			// What cannot be read may be a ban, so nothing more than what is harmless runs until somebody looks at it.
			return err
		}
		levels[id] = level
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.levels, a.autoConfirm, a.loaded = levels, auto, true
	return nil
}

func parseLevel(e memory.Entry) (policy.Identity, int64, error) {
	var s storedLevel
	if err := json.Unmarshal(e.Data, &s); err != nil {
		return policy.Identity{}, 0, fmt.Errorf("reading %s in the namespace %s: %w", e.Key, memory.NamespaceAuthority, err)
	}
	id := policy.Identity{Platform: s.Platform, UserID: s.UserID}
	if e.Key != levelKey(id) {
		return policy.Identity{}, 0, fmt.Errorf("reading the namespace %s: the value of %s is that of %s",
			memory.NamespaceAuthority, e.Key, levelKey(id))
	}
	return id, s.Level, nil
}

// setLevel stores a level, and only then has it hold. A nil level takes it back. Grants of somebody who loses rank end.
func (a *authority) setLevel(ctx context.Context, id policy.Identity, level *int64) error {
	a.storing.Lock()
	defer a.storing.Unlock()
	b, err := a.store()
	if err != nil {
		return err
	}
	op := memory.Op{Namespace: memory.NamespaceAuthority, Key: levelKey(id)}
	if level != nil {
		if op, err = memory.Put(op.Namespace, op.Key, storedLevel{id.Platform, id.UserID, *level}); err != nil {
			return err
		}
	}
	if err := b.CommitMetadata(ctx, []memory.Op{op}); err != nil {
		return fmt.Errorf("storing a level: %w", err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.backend != b {
		return nil // what is stored is read when the backend comes back
	}
	before := a.rules.Standing(id, a.levels)
	a.levels = withLevel(a.levels, id, level)
	if below(a.rules.Standing(id, a.levels), before) {
		a.grants.keep(func(who policy.Identity) bool { return who != id })
	}
	return nil
}

// setAuto stores until when owners are not asked.
func (a *authority) setAuto(ctx context.Context, until int64) error {
	a.storing.Lock()
	defer a.storing.Unlock()
	b, err := a.store()
	if err != nil {
		return err
	}
	op, err := memory.Put(memory.NamespaceAuthority, keyAuto, storedAuto{until})
	if err != nil {
		return err
	}
	if err := b.CommitMetadata(ctx, []memory.Op{op}); err != nil {
		return fmt.Errorf("storing the automatic confirmation: %w", err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.backend == b {
		a.autoConfirm = &until
	}
	return nil
}

// store gives the backend that changes go to. There is none until what is stored has been read.
func (a *authority) store() (memory.Backend, error) {
	a.mu.RLock()
	defer a.mu.RUnlock()
	if a.backend == nil || !a.loaded {
		return nil, errNoMemory
	}
	return a.backend, nil
}
