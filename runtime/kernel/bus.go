// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kernel

import (
	"errors"
	"sort"
	"sync"
	"sync/atomic"
)

const (
	// maxInFlight bounds the emissions of one event, and the runs of one hook, that are under way at a time, so that
	// one that emits itself ends as a logged error and not as a stack overflow.
	maxInFlight = 16384
	// maxAddedDuringEmit bounds how many handlers added during an emission it still visits.
	maxAddedDuringEmit = 1024
)

var errTooDeep = errors.New("too many nested or concurrent emissions")

// handler is one registered event handler.
type handler struct {
	event symbol
	owner *Context
	seq   uint64
	fn    any // func(context.Context, T) error
	gone  atomic.Bool
	seen  atomic.Uint64 // the number of the last emission delivered; sticky events only
}

func (h *handler) report(err error) {
	logFailure(h.owner.Logger(), err, "Event handler failed", "event", h.event.name)
}

// handlerList is an immutable list of handlers in order of registration, that is of ascending seq.
type handlerList struct {
	items []*handler
	next  uint64 // the seq that the next handler will have
}

// after returns the index of the first handler registered after the one with that seq.
func (l *handlerList) after(seq uint64) int {
	return sort.Search(len(l.items), func(i int) bool { return l.items[i].seq > seq })
}

// eventSlot is what the bus keeps of one event.
type eventSlot struct {
	handlers atomic.Pointer[handlerList]
	inFlight atomic.Int32
	emitted  atomic.Uint64
	failed   atomic.Uint64
	dropped  atomic.Uint64
	sticky   bool // set before the bus is shared
	last     stickyValue
}

// stickyValue is the last emission of a sticky event. It is guarded by the bus's lock.
type stickyValue struct {
	value any // *T, nil if there was none or it was cleared
	n     uint64
}

// bus holds the handlers of all events. Its lock guards writes only and is never held while handlers run.
type bus struct {
	mu  sync.Mutex
	dir directory[eventSlot]
	n   int
	// past is of events that nobody listens to any more.
	past Totals
}

// Totals counts what went over a bus. The figures only grow.
type Totals struct {
	// Emitted counts emissions that met at least one handler.
	Emitted uint64
	// HandlerFailures counts errors and panics of handlers.
	HandlerFailures uint64
	// Dropped counts emissions that were given up because too many of the event were under way.
	Dropped uint64
}

func (b *bus) init() {
	b.dir.idle = func(s *eventSlot) bool {
		l := s.handlers.Load()
		return !s.sticky && s.inFlight.Load() == 0 && (l == nil || len(l.items) == 0)
	}
	b.dir.dropped = func(s *eventSlot) { b.past.add(s) }
}

// markSticky makes an event sticky. Called before the bus is shared.
func (b *bus) markSticky(sym symbol) { b.dir.obtain(sym).sticky = true }

// remember keeps the value of a sticky event and numbers the emission, from 1.
func (b *bus) remember(slot *eventSlot, value any) uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	slot.last = stickyValue{value: value, n: slot.last.n + 1}
	return slot.last.n
}

// clearSticky forgets the values of all sticky events.
func (b *bus) clearSticky() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.dir.each(func(_ string, s *eventSlot) { s.last.value = nil })
}

// add registers a handler and returns the last value if the event is sticky and has one.
func (b *bus) add(h *handler) (last stickyValue) {
	b.mu.Lock()
	defer b.mu.Unlock()
	slot := b.dir.obtain(h.event)
	next := &handlerList{next: 1}
	if old := slot.handlers.Load(); old != nil {
		next.next = old.next
		next.items = append(make([]*handler, 0, len(old.items)+1), old.items...)
	}
	h.seq = next.next
	next.next++
	next.items = append(next.items, h)
	slot.handlers.Store(next)
	b.n++
	return slot.last
}

// remove withdraws handlers; those already gone are ignored.
func (b *bus) remove(hs ...*handler) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, h := range hs {
		if h.gone.Swap(true) {
			continue
		}
		b.n--
		slot := b.dir.find(h.event)
		old := slot.handlers.Load()
		next := &handlerList{next: old.next, items: make([]*handler, 0, len(old.items)-1)}
		for _, o := range old.items {
			if o != h {
				next.items = append(next.items, o)
			}
		}
		slot.handlers.Store(next)
	}
}

func (t *Totals) add(s *eventSlot) {
	t.Emitted += s.emitted.Load()
	t.HandlerFailures += s.failed.Load()
	t.Dropped += s.dropped.Load()
}

func (b *bus) totals() Totals {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := b.past
	b.dir.each(func(_ string, s *eventSlot) { out.add(s) })
	return out
}

// heard reports whether an event has handlers.
func (b *bus) heard(sym symbol) bool {
	slot := b.dir.find(sym)
	if slot == nil {
		return false
	}
	list := slot.handlers.Load()
	return list != nil && len(list.items) > 0
}

func (b *bus) count() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.n
}
