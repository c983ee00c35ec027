// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kernel

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/aalis-dev/aalis-operator/runtime/recompute"
)

// serviceEntry is one registration of a service. It does not change once registered.
type serviceEntry struct {
	service  symbol
	id       string
	label    string
	priority int
	owner    *Context
	seq      uint64
	box      any // *T
	raw      any // the instance itself
}

// serviceSlot is what the container keeps of one service.
type serviceSlot struct {
	winner   atomic.Pointer[serviceEntry]
	list     atomic.Pointer[[]*serviceEntry] // in resolution order
	prefer   []string                        // entry ids; guarded by the container
	watchers []*watcher                      // guarded by the container, replaced and never modified
}

func (s *serviceSlot) entries() []*serviceEntry {
	if l := s.list.Load(); l != nil {
		return *l
	}
	return nil
}

// container holds the entries of all services. Its lock guards writes only and is never held while plugin code runs.
type container struct {
	mu       sync.Mutex
	dir      directory[serviceSlot]
	seq      uint64
	n        int
	watching int
	// unregisterers are the registered instances that want to know of contexts that go.
	unregisterers []*serviceEntry
}

func (c *container) init() {
	c.dir.idle = func(s *serviceSlot) bool {
		return s.winner.Load() == nil && len(s.prefer) == 0 && len(s.watchers) == 0
	}
}

// PluginUnregisterer may be implemented by a service's instance that keeps things on behalf of its users. It is called
// when a context has been torn down, with the context's id, once per distinct instance.
type PluginUnregisterer interface{ UnregisterByPlugin(contextID string) }

// store puts a list in resolution order and makes it the slot's. The lock is held.
func (c *container) store(s *serviceSlot, list []*serviceEntry) {
	if len(list) == 1 {
		s.list.Store(&list)
		s.winner.Store(list[0])
		return
	}
	rank := func(e *serviceEntry) int {
		if i := slices.Index(s.prefer, e.id); i >= 0 {
			return i
		}
		return len(s.prefer)
	}
	slices.SortFunc(list, func(a, b *serviceEntry) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(b.priority, a.priority), cmp.Compare(a.seq, b.seq))
	})
	s.list.Store(&list)
	if len(list) == 0 {
		s.winner.Store(nil)
	} else {
		s.winner.Store(list[0])
	}
}

// add registers an entry.
func (c *container) add(e *serviceEntry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seq++
	e.seq = c.seq
	c.n++
	s := c.dir.obtain(e.service)
	old := s.entries()
	c.store(s, append(append(make([]*serviceEntry, 0, len(old)+1), old...), e))
	if _, ok := e.raw.(PluginUnregisterer); ok {
		c.unregisterers = append(slices.Clone(c.unregisterers), e)
	}
}

// remove withdraws entries and returns the services of those that were still registered.
func (c *container) remove(es ...*serviceEntry) (names []symbol) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, e := range es {
		s := c.dir.find(e.service)
		if s == nil {
			continue
		}
		old := s.entries()
		i := slices.Index(old, e)
		if i < 0 {
			continue
		}
		c.n--
		c.store(s, slices.Delete(slices.Clone(old), i, i+1))
		if i := slices.Index(c.unregisterers, e); i >= 0 {
			c.unregisterers = slices.Delete(slices.Clone(c.unregisterers), i, i+1)
		}
		if !slices.Contains(names, e.service) {
			names = append(names, e.service)
		}
	}
	return names
}

// prefer replaces the preference list of a service and reports whether that changed it.
func (c *container) prefer(sym symbol, ids []string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(ids) == 0 && c.dir.find(sym) == nil {
		return false
	}
	s := c.dir.obtain(sym)
	if slices.Equal(s.prefer, ids) {
		return false
	}
	s.prefer = slices.Clone(ids)
	c.store(s, slices.Clone(s.entries()))
	return true
}

func (c *container) preferred(sym symbol) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.dir.find(sym); s != nil {
		return slices.Clone(s.prefer)
	}
	return nil
}

// winner returns the entry that Get resolves to, or nil.
func (c *container) winner(sym symbol) *serviceEntry {
	if s := c.dir.find(sym); s != nil {
		return s.winner.Load()
	}
	return nil
}

// names lists the services with at least one entry, sorted.
func (c *container) names() (names []string) {
	c.dir.each(func(name string, s *serviceSlot) {
		if s.winner.Load() != nil {
			names = append(names, name)
		}
	})
	slices.Sort(names)
	return names
}

// providers appends every registration, those of one service in resolution order, to a list for the planner.
func (c *container) providers(out []recompute.Provider) []recompute.Provider {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dir.each(func(_ string, s *serviceSlot) {
		for _, e := range s.entries() {
			out = append(out, e.provider())
		}
	})
	return out
}

func (e *serviceEntry) provider() recompute.Provider {
	return recompute.Provider{Service: e.service.name, Owner: e.owner.plugin, Epoch: e.seq}
}

// ownedBy reports whether a plugin has an entry of a service.
func (c *container) ownedBy(sym symbol, plugin string) bool {
	s := c.dir.find(sym)
	return s != nil && slices.ContainsFunc(s.entries(), func(e *serviceEntry) bool { return e.owner.plugin == plugin })
}

func (c *container) addWatcher(w *watcher) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.dir.obtain(w.service)
	s.watchers = append(slices.Clone(s.watchers), w)
	c.watching++
}

func (c *container) removeWatcher(w *watcher) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.dir.find(w.service)
	if s == nil {
		return
	}
	if i := slices.Index(s.watchers, w); i >= 0 {
		s.watchers = slices.Delete(slices.Clone(s.watchers), i, i+1)
		c.watching--
	}
}

func (c *container) watchers(sym symbol) []*watcher {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.dir.find(sym); s != nil {
		return s.watchers
	}
	return nil
}

// listeners returns the instances that want to know of contexts that go.
func (c *container) listeners() []*serviceEntry {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.unregisterers
}

func (c *container) counts() (services, watches int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n, c.watching
}
