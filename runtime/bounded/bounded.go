// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package bounded holds a map that cannot grow without limit, for what plugins remember of each session. It forgets what
// was not used for longest, and what is older than a lifetime. It starts no goroutine and holds no clock of its own.
package bounded

import (
	"container/list"
	"sync"
	"time"
)

// Map keeps at most a number of values by key. Reading or writing a value makes it the most recently used. Its methods
// may be called concurrently.
type Map[K comparable, V any] struct {
	limit int
	ttl   time.Duration
	now   func() time.Time

	mu    sync.Mutex
	byKey map[K]*list.Element
	order list.List // of *item[K, V], the least recently used first
}

type item[K comparable, V any] struct {
	key   K
	value V
	used  time.Time
}

// New makes a map of at most limit values; a limit below 1 is 1. A value that was neither read nor written for ttl is
// gone; a ttl of 0 means that values do not age, and now may be nil then.
func New[K comparable, V any](limit int, ttl time.Duration, now func() time.Time) *Map[K, V] {
	return &Map[K, V]{limit: max(limit, 1), ttl: ttl, now: now, byKey: map[K]*list.Element{}}
}

// Get reads a value.
func (m *Map[K, V]) Get(key K) (V, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.expire()
	if el, ok := m.byKey[key]; ok {
		return m.touch(el).value, true
	}
	var zero V
	return zero, false
}

// Set writes a value.
func (m *Map[K, V]) Set(key K, value V) {
	m.Update(key, func(V, bool) V { return value })
}

// Update writes what change makes of the present value. Change runs under the map's lock and must not use the map.
func (m *Map[K, V]) Update(key K, change func(present V, ok bool) V) V {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.expire()
	if el, ok := m.byKey[key]; ok {
		it := m.touch(el)
		it.value = change(it.value, true)
		return it.value
	}
	var zero V
	value := change(zero, false)
	for m.order.Len() >= m.limit {
		m.drop(m.order.Front())
	}
	m.byKey[key] = m.order.PushBack(&item[K, V]{key: key, value: value, used: m.time()})
	return value
}

// Delete removes a value if it is there.
func (m *Map[K, V]) Delete(key K) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if el, ok := m.byKey[key]; ok {
		m.drop(el)
	}
}

// Clear removes all values.
func (m *Map[K, V]) Clear() {
	m.mu.Lock()
	defer m.mu.Unlock()
	clear(m.byKey)
	m.order.Init()
}

// Len counts the values that are not gone.
func (m *Map[K, V]) Len() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.expire()
	return m.order.Len()
}

func (m *Map[K, V]) time() time.Time {
	if m.ttl <= 0 {
		return time.Time{}
	}
	return m.now()
}

// expire drops what has aged. The order of use is the order of age, so it only looks at the front.
func (m *Map[K, V]) expire() {
	if m.ttl <= 0 {
		return
	}
	now := m.now()
	for el := m.order.Front(); el != nil && now.Sub(at[K, V](el).used) >= m.ttl; el = m.order.Front() {
		m.drop(el)
	}
}

func (m *Map[K, V]) touch(el *list.Element) *item[K, V] {
	it := at[K, V](el)
	it.used = m.time()
	m.order.MoveToBack(el)
	return it
}

func (m *Map[K, V]) drop(el *list.Element) {
	delete(m.byKey, at[K, V](el).key)
	m.order.Remove(el)
}

func at[K comparable, V any](el *list.Element) *item[K, V] {
	it, _ := el.Value.(*item[K, V])
	return it
}
