// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kernel

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// Point is the typed key of a contribution point.
type Point[T any] struct {
	_ [0]*T
	symbol
}

// NewPoint returns the key of the contribution point of that name.
func NewPoint[T any](name string) Point[T] { return Point[T]{symbol: newSymbol(name)} }

// Name returns the point's name.
func (p Point[T]) Name() string { return p.name }

// Contribution is what Collect returns: the spec and its global key, the context's id, a slash and the local id.
type Contribution[T any] struct {
	Key  string
	Spec T
}

// Contribute adds a spec under an id that is local to the context, until off is called or the context is torn down. The id
// must not be empty or contain a slash. Contributing the same id again replaces the spec; the older off then does nothing.
// On a context that is torn down it warns and does nothing.
func (p Point[T]) Contribute(k *Context, id string, spec T) (off func(), err error) {
	if id == "" || strings.Contains(id, "/") {
		return func() {}, fmt.Errorf("contributing to %s: id must be non-empty and may not contain a slash, got %q", p.name, id)
	}
	return k.contribute(&contribution{point: p.symbol, owner: k, key: k.id + "/" + id, id: id, spec: &spec}), nil
}

// Collect returns the contributions of all contexts, sorted by key. Specs are returned as they were given.
func (p Point[T]) Collect(k *Context) []Contribution[T] {
	slot := k.points.dir.find(p.symbol)
	if slot == nil {
		return nil
	}
	list := slot.contributions()
	if len(list) == 0 {
		return nil
	}
	out := make([]Contribution[T], 0, len(list))
	for _, c := range list {
		if spec, ok := c.spec.(*T); ok {
			out = append(out, Contribution[T]{Key: c.key, Spec: *spec})
		}
	}
	return out
}

type contribution struct {
	point symbol
	owner *Context
	key   string
	id    string
	spec  any         // *T
	item  *disposable // on the owner's chain; guarded by the owner's lock
}

type pointSlot struct {
	list atomic.Pointer[[]*contribution] // sorted by key
}

func (s *pointSlot) contributions() []*contribution {
	if l := s.list.Load(); l != nil {
		return *l
	}
	return nil
}

// pointRegistry holds all contributions. It never calls anything on a spec.
type pointRegistry struct {
	mu  sync.Mutex
	dir directory[pointSlot]
	n   int
}

func (r *pointRegistry) init() {
	r.dir.idle = func(s *pointSlot) bool { return len(s.contributions()) == 0 }
}

func byKey(c *contribution, key string) int { return strings.Compare(c.key, key) }

// add adds a contribution and returns the one of the same key that it replaces, or nil. Living contexts have distinct ids,
// so both are of one context.
func (r *pointRegistry) add(c *contribution) (replaced *contribution) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.dir.obtain(c.point)
	list := slices.Clone(s.contributions())
	i, found := slices.BinarySearchFunc(list, c.key, byKey)
	if found {
		replaced = list[i]
		list[i] = c
	} else {
		list = slices.Insert(list, i, c)
		r.n++
	}
	s.list.Store(&list)
	return replaced
}

// remove withdraws contributions; those already gone or replaced are ignored.
func (r *pointRegistry) remove(cs ...*contribution) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range cs {
		s := r.dir.find(c.point)
		if s == nil {
			continue
		}
		i, found := slices.BinarySearchFunc(s.contributions(), c.key, byKey)
		if !found || s.contributions()[i] != c {
			continue
		}
		list := slices.Delete(slices.Clone(s.contributions()), i, i+1)
		s.list.Store(&list)
		r.n--
	}
}

func (r *pointRegistry) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.n
}
