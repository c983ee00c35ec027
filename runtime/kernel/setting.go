// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kernel

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Setting is the typed key of a top-level config key, as "persona" or "agent". Settings change without any bounce.
type Setting[T any] struct {
	_ [0]*T
	symbol
}

// NewSetting returns the key of the setting of that name.
func NewSetting[T any](key string) Setting[T] { return Setting[T]{symbol: newSymbol(key)} }

// Key returns the top-level config key.
func (s Setting[T]) Key() string { return s.name }

// Get returns the setting as it is now. Present is false if the key is absent or null. The error says that the value does
// not fit T; unknown fields are ignored.
func (s Setting[T]) Get(k *Context) (v T, present bool, err error) {
	return decodeSetting[T](s.name, k.settings.get(s.name))
}

// Watch calls fn with the present value before it returns, and again each time the key's bytes change, until off is called
// or the context is torn down. Calls are never concurrent. A value that does not fit T is logged as a warning: the first
// call then reports the key as absent, later on fn is not called and so what it last saw stays.
func (s Setting[T]) Watch(k *Context, fn func(ctx context.Context, v T, present bool)) (off func()) {
	w := &settingWatch{key: s.name, owner: k}
	w.deliver = func(ctx context.Context, raw json.RawMessage, first bool) error {
		v, present, err := decodeSetting[T](s.name, raw)
		if err == nil || first {
			fn(ctx, v, present && err == nil)
		}
		return err
	}
	return k.watchSetting(w)
}

func decodeSetting[T any](key string, raw json.RawMessage) (v T, present bool, err error) {
	if len(raw) == 0 || string(raw) == "null" {
		return v, false, nil
	}
	if err := json.Unmarshal(raw, &v); err != nil {
		var zero T
		return zero, true, fmt.Errorf("decoding config.%s: %w", key, err)
	}
	return v, true, nil
}

// settingWatch is one Watch subscription. As with watcher, one goroutine at a time delivers.
type settingWatch struct {
	key     string
	owner   *Context
	deliver func(ctx context.Context, raw json.RawMessage, first bool) error

	mu      sync.Mutex
	off     bool
	running bool
	dirty   bool
	seen    bool // written by the running goroutine only
	last    json.RawMessage
}

// sync delivers the present value if it differs from the one delivered last.
func (w *settingWatch) sync(ctx context.Context) {
	w.mu.Lock()
	w.dirty = true
	if w.running {
		w.mu.Unlock()
		return
	}
	w.running = true
	for w.dirty {
		w.dirty = false
		off := w.off
		w.mu.Unlock()
		if !off {
			w.step(ctx)
		}
		w.mu.Lock()
	}
	w.running = false
	w.mu.Unlock()
}

func (w *settingWatch) step(ctx context.Context) {
	raw := w.owner.settings.get(w.key)
	first := !w.seen
	if !first && bytes.Equal(raw, w.last) {
		return
	}
	w.seen, w.last = true, raw
	if err := safely(func() error { return w.deliver(ctx, raw, first) }); err != nil {
		logWarning(w.owner.Logger(), err, "Setting was not taken over", "key", w.key)
	}
}

// settings holds the top-level keys of the config and who watches them.
type settings struct {
	values  atomic.Pointer[map[string]json.RawMessage] // never modified
	mu      sync.Mutex
	watches []*settingWatch // replaced and never modified
}

func (s *settings) get(key string) json.RawMessage {
	if m := s.values.Load(); m != nil {
		return (*m)[key]
	}
	return nil
}

// swap replaces all values and returns the keys that changed, sorted.
func (s *settings) swap(next map[string]json.RawMessage) (changed []string) {
	old := map[string]json.RawMessage{}
	if m := s.values.Load(); m != nil {
		old = *m
	}
	next = maps.Clone(next)
	s.values.Store(&next)
	for key, raw := range next {
		if was, ok := old[key]; !ok || !bytes.Equal(was, raw) {
			changed = append(changed, key)
		}
	}
	for key := range old {
		if _, ok := next[key]; !ok {
			changed = append(changed, key)
		}
	}
	slices.Sort(changed)
	return changed
}

func (s *settings) add(w *settingWatch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.watches = append(slices.Clone(s.watches), w)
}

func (s *settings) remove(w *settingWatch) {
	w.mu.Lock()
	w.off = true
	w.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.Index(s.watches, w); i >= 0 {
		s.watches = slices.Delete(slices.Clone(s.watches), i, i+1)
	}
}

// notify tells the watchers of the given keys, in order of registration. When the limit is over they are still told, but
// no longer waited for.
func (s *settings) notify(ctx context.Context, keys []string, limit time.Duration) {
	s.mu.Lock()
	watches := s.watches
	s.mu.Unlock()
	over, cancel := limitContext(limit)
	defer cancel()
	for _, w := range watches {
		if !slices.Contains(keys, w.key) {
			continue
		}
		done := background(func() error { w.sync(ctx); return nil })
		select {
		case err := <-done:
			if err != nil { // the watch ended the goroutine
				logWarning(w.owner.Logger(), err, "Setting was not taken over", "key", w.key)
			}
		case <-over.Done():
			w.owner.giveUpAfter(limit, "waitingFor", "watch of setting "+w.key)
		}
	}
}

func (s *settings) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.watches)
}
