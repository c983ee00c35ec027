// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package filewatch tells its caller that something in some directories may have changed. The host uses it for
// mounted Secrets and for the manifests of a bot that runs without a cluster.
//
// It watches directories and never files, because editors and the kubelet replace files by renaming. It reads no
// content and compares nothing: the caller looks for itself what is different.
package filewatch

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"
)

// DefaultDebounce is how long a Watcher waits for further events before it tells of them.
const DefaultDebounce = 50 * time.Millisecond

// maxWait bounds how long a steady stream of events can put off the call, in debounce intervals.
const maxWait = 10

// maxDirs bounds the directories that are watched; what is below is found by the poll alone.
const maxDirs = 1024

// Options refine a Watcher. The zero value is useful.
type Options struct {
	// Debounce is how long to wait for further events; 0 means DefaultDebounce.
	Debounce time.Duration
	// Poll calls the caller that often even without an event, for file systems that send none; 0 means never.
	Poll time.Duration
	// Below watches the directories directly below the given ones, too.
	Below bool
	// Logger receives what goes wrong; nil means none.
	Logger *slog.Logger
}

// Watcher watches directories from New on, so that no change after New is missed.
type Watcher struct {
	opts    Options
	roots   []string
	notify  *fsnotify.Watcher // nil where the system gives none
	missing bool              // a root was not there or could not be watched
}

// New starts to watch directories. One that does not exist yet is watched once it does and a poll or an event makes the
// watcher look again. If the system gives no watches at all, only Poll is left, and New says so in the log; it fails only
// if there is no Poll either.
func New(dirs []string, opts Options) (*Watcher, error) {
	if opts.Debounce <= 0 {
		opts.Debounce = DefaultDebounce
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	w := &Watcher{opts: opts, roots: dirs}
	notify, err := fsnotify.NewWatcher()
	if err != nil {
		if opts.Poll <= 0 {
			return nil, fmt.Errorf("watching %v: %w", dirs, err)
		}
		opts.Logger.Warn("Files are polled only: the system gives no watch", "dirs", dirs, "every", opts.Poll, "error", err)
		return w, nil
	}
	w.notify = notify
	w.refresh()
	return w, nil
}

// Close lets go of the watches. Closing twice, or after Run, is harmless.
func (w *Watcher) Close() {
	if w.notify != nil {
		_ = w.notify.Close()
	}
}

// Run calls changed after every burst of changes, from the calling goroutine, until ctx ends. It closes the watcher.
func (w *Watcher) Run(ctx context.Context, changed func()) {
	var (
		events <-chan fsnotify.Event
		errs   <-chan error
		poll   <-chan time.Time
		timer  = time.NewTimer(time.Hour)
		first  time.Time // when the burst began; zero when there is none
	)
	timer.Stop()
	defer timer.Stop()
	if w.notify != nil {
		events, errs = w.notify.Events, w.notify.Errors
		defer w.Close()
	}
	if w.opts.Poll > 0 {
		ticker := time.NewTicker(w.opts.Poll)
		defer ticker.Stop()
		poll = ticker.C
	}
	touch := func() {
		now := time.Now()
		if first.IsZero() {
			first = now
		}
		timer.Reset(max(0, min(w.opts.Debounce, first.Add(maxWait*w.opts.Debounce).Sub(now))))
	}
	for {
		select {
		case <-ctx.Done():
			return
		case e, ok := <-events:
			switch {
			case !ok:
				events = nil // closed early: only the poll is left
			case e.Op != fsnotify.Chmod:
				touch()
			}
		case err, ok := <-errs:
			if !ok {
				errs = nil
				continue
			}
			w.opts.Logger.Warn("Watching files failed, looking again", "error", err)
			touch()
		case <-timer.C:
			first = time.Time{}
			w.refresh()
			changed()
		case <-poll:
			w.refresh()
			changed()
		}
	}
}

// refresh adds watches for directories that appeared. A directory that is watched already stays so; one that went is
// dropped by the system.
func (w *Watcher) refresh() {
	if w.notify == nil {
		return
	}
	for _, root := range w.roots {
		w.add(root)
		if w.opts.Below {
			w.addBelow(root)
		}
	}
}

func (w *Watcher) addBelow(root string) {
	entries, err := os.ReadDir(root)
	if err != nil {
		return
	}
	for _, e := range entries {
		if len(w.notify.WatchList()) >= maxDirs {
			return
		}
		if e.IsDir() {
			w.add(filepath.Join(root, e.Name()))
		}
	}
}

func (w *Watcher) add(dir string) {
	err := w.notify.Add(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !w.missing {
		w.missing = true
		w.opts.Logger.Warn("A directory cannot be watched", "dir", dir, "error", err)
	}
}
