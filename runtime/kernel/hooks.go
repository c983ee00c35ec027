// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kernel

import (
	"slices"
	"sync"
	"sync/atomic"
)

// hookHandler is one registered hook handler.
type hookHandler struct {
	hook  symbol
	owner *Context
	fn    any // func(context.Context, *T, Next) error
	gone  atomic.Bool
}

// hookSlot is what the registry keeps of one hook.
type hookSlot struct {
	list     atomic.Pointer[[]*hookHandler]
	inFlight atomic.Int32
}

func (s *hookSlot) handlers() []*hookHandler {
	if l := s.list.Load(); l != nil {
		return *l
	}
	return nil
}

// hookRegistry holds the handlers of all hooks. Its lock guards writes only and is never held while handlers run.
type hookRegistry struct {
	mu  sync.Mutex
	dir directory[hookSlot]
	n   int
}

func (r *hookRegistry) init() {
	r.dir.idle = func(s *hookSlot) bool { return s.inFlight.Load() == 0 && len(s.handlers()) == 0 }
}

func (r *hookRegistry) add(h *hookHandler) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.dir.obtain(h.hook)
	list := append(slices.Clone(s.handlers()), h)
	s.list.Store(&list)
	r.n++
}

// remove withdraws handlers; those already gone are ignored.
func (r *hookRegistry) remove(hs ...*hookHandler) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, h := range hs {
		if h.gone.Swap(true) {
			continue
		}
		r.n--
		s := r.dir.find(h.hook)
		list := slices.DeleteFunc(slices.Clone(s.handlers()), func(o *hookHandler) bool { return o == h })
		s.list.Store(&list)
	}
}

func (r *hookRegistry) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.n
}
