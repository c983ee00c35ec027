// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kernel

import (
	"context"
	"sync"
)

// maxSyncs is how often a watcher follows changes that come while it is at it. More can only be its own doing.
const maxSyncs = 200

// watcher is one When subscription: it keeps "what is attached is the current winner" true. Whoever changes the service
// calls sync; one goroutine at a time does the work, the others leave a note and go.
type watcher struct {
	service symbol
	owner   *Context
	attach  func(*serviceEntry) (detach func())

	mu       sync.Mutex
	off      bool
	running  bool
	dirty    bool
	idle     chan struct{} // closed when the present run ends; made on demand
	attached *serviceEntry // written by the running goroutine only
	detach   func()
}

// sync brings the subscription up to date, or notes that it must be if that is being done just now.
func (w *watcher) sync() {
	w.mu.Lock()
	w.dirty = true
	if w.running {
		w.mu.Unlock()
		return
	}
	w.running = true
	for n := 0; w.dirty; n++ {
		endless := n == maxSyncs
		w.off = w.off || endless
		w.dirty = false
		off := w.off
		w.mu.Unlock()
		if endless {
			w.owner.Logger().Error("Ended a service callback that changes its own service again and again", "service", w.service.name)
		}
		w.step(off)
		w.mu.Lock()
	}
	w.running = false
	if w.idle != nil {
		close(w.idle)
		w.idle = nil
	}
	w.mu.Unlock()
}

func (w *watcher) step(off bool) {
	var winner *serviceEntry
	if !off {
		winner = w.owner.services.winner(w.service)
	}
	if winner == w.attached {
		return
	}
	if detach := w.detach; detach != nil {
		w.detach = nil
		w.call("detach", func() error { detach(); return nil })
	}
	if w.attached = winner; winner != nil {
		w.call("attach", func() error { w.detach = w.attach(winner); return nil })
	}
}

func (w *watcher) call(what string, fn func() error) {
	if err := safely(fn); err != nil {
		logWarning(w.owner.Logger(), err, "Service callback failed", "service", w.service.name, "callback", what)
	}
}

// stop ends the subscription: it detaches at once, or as soon as the callback that runs just now has returned.
func (w *watcher) stop() {
	w.mu.Lock()
	w.off = true
	w.mu.Unlock()
	w.owner.services.removeWatcher(w)
	w.sync()
}

// join waits until no callback runs.
func (w *watcher) join(ctx context.Context) error {
	w.mu.Lock()
	if !w.running {
		w.mu.Unlock()
		return nil
	}
	if w.idle == nil {
		w.idle = make(chan struct{})
	}
	idle := w.idle
	w.mu.Unlock()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return errTimeout
	}
}
