// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kernel

import "strings"

// Service is the typed key of a service. Two keys of one name and type are equal. Keys are declared as package-level
// variables of contract packages.
type Service[T any] struct {
	_ [0]*T
	symbol
}

// NewService returns the key of the service of that name.
func NewService[T any](name string) Service[T] { return Service[T]{symbol: newSymbol(name)} }

// Name returns the service's name.
func (s Service[T]) Name() string { return s.name }

// Get returns the current winner's instance: the first preferred entry that is registered, otherwise the one of the
// highest priority, otherwise the one registered first. It takes no lock and allocates nothing.
//
// The instance is the raw object: it stays usable by who holds it, and the next Get may return another.
func (s Service[T]) Get(k *Context) (T, bool) {
	if slot := k.services.dir.find(s.symbol); slot != nil {
		if e := slot.winner.Load(); e != nil {
			if v, ok := e.box.(*T); ok {
				return *v, true
			}
		}
	}
	var zero T
	return zero, false
}

// Provided is one registered entry of a service.
type Provided[T any] struct {
	// EntryID is what preferences name: the id of the providing context, or the one given by [WithEntryID].
	EntryID string
	// Label is for people; may be empty.
	Label string
	// Priority is 0 unless given; higher wins.
	Priority int
	// Instance is the raw object.
	Instance T
}

// Entries returns every entry of the service in resolution order: preferred ones in the order of the preference list,
// then by descending priority, then by registration. The first is the one that Get returns.
func (s Service[T]) Entries(k *Context) []Provided[T] {
	slot := k.services.dir.find(s.symbol)
	if slot == nil {
		return nil
	}
	list := slot.entries()
	out := make([]Provided[T], 0, len(list))
	for _, e := range list {
		if v, ok := e.box.(*T); ok {
			out = append(out, Provided[T]{EntryID: e.id, Label: e.label, Priority: e.priority, Instance: *v})
		}
	}
	return out
}

// ProvideOption refines Provide.
type ProvideOption func(*serviceEntry)

// WithPriority sets the entry's priority; the default is 0, higher wins, negative is allowed.
func WithPriority(priority int) ProvideOption { return func(e *serviceEntry) { e.priority = priority } }

// WithLabel sets a label for people.
func WithLabel(label string) ProvideOption { return func(e *serviceEntry) { e.label = label } }

// WithEntryID sets the id that preferences name, for a context that provides one service several times. It should be the
// context's id or begin with the context's id and a slash. An empty id means the default.
func WithEntryID(id string) ProvideOption {
	return func(e *serviceEntry) {
		if id != "" {
			e.id = id
		}
	}
}

// Provide registers an instance until off is called or the context is torn down, and emits [EventServiceRegistered]. On a
// context that is torn down it warns and does nothing.
func (s Service[T]) Provide(k *Context, instance T, opts ...ProvideOption) (off func()) {
	e := &serviceEntry{service: s.symbol, id: k.id, owner: k, box: &instance, raw: instance}
	for _, opt := range opts {
		opt(e)
	}
	if e.id != k.id && !strings.HasPrefix(e.id, k.id+"/") {
		k.devWarn("Entry id does not begin with the context's id", "service", s.name, "entry", e.id)
	}
	return k.provide(e)
}

// When calls attach with the current winner, now if there is one, and keeps that up to date: when the winner changes or
// goes, the detach function that attach returned (may be nil) is called, then attach with the new winner if there is
// one. Entries that do not win change nothing. Calls are never concurrent. Off and the context's teardown detach for
// good. A panic in attach is logged as a warning naming the service and attach is called again at the next change.
func (s Service[T]) When(k *Context, attach func(T) (detach func())) (off func()) {
	w := &watcher{service: s.symbol, owner: k}
	w.attach = func(e *serviceEntry) func() {
		v, ok := e.box.(*T)
		if !ok {
			return nil
		}
		return attach(*v)
	}
	return k.watchService(w)
}
