// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kernel

import (
	"errors"
	"time"
)

// worker runs functions one after the other in a goroutine that it keeps, so that the stack that the first of them grows
// serves all. One goroutine at a time uses it.
type worker struct {
	jobs  chan func() error // nil while there is no goroutine
	done  chan error
	timer *time.Timer
}

// start has the goroutine run fn and returns where its error will be. A panic becomes a [PanicError].
func (w *worker) start(fn func() error) <-chan error {
	if w.jobs == nil {
		w.jobs, w.done = make(chan func() error), make(chan error, 1)
		go work(w.jobs, w.done)
	}
	w.jobs <- fn
	return w.done
}

func work(jobs <-chan func() error, done chan<- error) {
	for fn := range jobs {
		func() {
			err := errExited // fn may end the goroutine instead of returning
			defer func() { done <- err }()
			err = safely(fn)
		}()
	}
}

// ended takes note of a result that start promised.
func (w *worker) ended(err error) {
	if errors.Is(err, errExited) {
		w.jobs = nil
	}
}

// leave gives the goroutine up: it ends when what it is at has returned. The next start makes another.
func (w *worker) leave() {
	if w.jobs != nil {
		close(w.jobs)
		w.jobs = nil
	}
	if w.timer != nil {
		w.timer.Stop()
	}
}

// alarm returns a channel that receives after a limit, never for a limit of 0. It replaces the one of the call before.
func (w *worker) alarm(limit time.Duration) <-chan time.Time {
	switch {
	case limit <= 0:
		return nil
	case w.timer == nil:
		w.timer = time.NewTimer(limit)
	default:
		w.timer.Reset(limit)
	}
	return w.timer.C
}
