// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package fakellm

import "container/list"

// lru is a map of at most limit entries that forgets the least recently used one. It is not safe for concurrent use;
// its owners hold their own lock.
type lru[K comparable, V any] struct {
	limit int
	order *list.List // of lruItem[K, V]; the front is the most recent
	items map[K]*list.Element
}

type lruItem[K comparable, V any] struct {
	key   K
	value V
}

func newLRU[K comparable, V any](limit int) *lru[K, V] {
	return &lru[K, V]{limit: limit, order: list.New(), items: map[K]*list.Element{}}
}

// get returns the value of key and marks it as used.
func (l *lru[K, V]) get(key K) (V, bool) {
	e, ok := l.items[key]
	if !ok {
		var zero V
		return zero, false
	}
	l.order.MoveToFront(e)
	return e.Value.(lruItem[K, V]).value, true
}

// has reports whether key is present, without marking it as used.
func (l *lru[K, V]) has(key K) bool {
	_, ok := l.items[key]
	return ok
}

// put stores value, marks key as used and evicts the oldest entry when there are too many.
func (l *lru[K, V]) put(key K, value V) {
	item := lruItem[K, V]{key: key, value: value}
	if e, ok := l.items[key]; ok {
		e.Value = item
		l.order.MoveToFront(e)
		return
	}
	l.items[key] = l.order.PushFront(item)
	if l.order.Len() > l.limit {
		oldest := l.order.Back()
		l.order.Remove(oldest)
		delete(l.items, oldest.Value.(lruItem[K, V]).key)
	}
}

func (l *lru[K, V]) clear() {
	l.order.Init()
	clear(l.items)
}
