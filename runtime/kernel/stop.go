// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kernel

import (
	"context"
	"fmt"
	"time"
)

// Stop emits app:stopping, waits until the plugins have come to rest, drains and tears them down, consumers before
// providers, and then the root context. What does not return is given up after its timeout, so Stop ends by itself. When
// ctx ends first, draining is cut short and Stop returns an error while the rest goes on. Later calls join the first.
func (a *App) Stop(ctx context.Context) error {
	a.mu.Lock()
	first := a.stopped == nil
	if first {
		a.stopped = make(chan struct{})
	}
	stopped := a.stopped
	a.mu.Unlock()
	if first {
		go a.stop()
	}
	select {
	case <-stopped:
		return nil
	case <-ctx.Done():
		a.manager.abortF()
		a.manager.rush()
		return fmt.Errorf("stopping the app: %w", context.Cause(ctx))
	}
}

func (a *App) stop() {
	defer close(a.stopped)
	emitOwn(a.root, EventAppStopping, struct{}{})
	a.settle()
	a.manager.stopAll()
	a.root.bus.clearSticky()
	_ = a.root.Dispose(context.Background())
	a.manager.rush()
}

// settle lets a recompute or a bounce under way come to its end, because a consumer that is stopped while its provider is
// down could not flush. Plugins that are still being applied after the dispose timeout are given up, and the wait as a whole
// ends when a bounce had time to drain and to tear down: what keeps asking for recomputes does not keep the App from
// stopping.
func (a *App) settle() {
	wait := a.manager.hurry
	if limit := a.root.disposeTimeout; limit > 0 {
		timer := time.AfterFunc(limit, a.manager.abortF)
		defer timer.Stop()
		if drain := a.root.drainLimit(); drain > 0 {
			var cancel context.CancelFunc
			wait, cancel = context.WithTimeout(wait, drain+2*limit)
			defer cancel()
		}
	}
	_ = a.manager.Idle(wait)
}

// RestartStrategy replaces the running process, or asks somebody to.
type RestartStrategy interface {
	Restart(ctx context.Context, r RestartRequest) error
}

// RestartRequest is what a restart strategy needs to know.
type RestartRequest struct {
	// Stop stops the App.
	Stop func(ctx context.Context) error
	// Rollback is what the caller of App.Restart passed, for strategies that can undo a change that does not come up.
	Rollback any
}

// HasRestartStrategy reports whether Restart can do anything.
func (a *App) HasRestartStrategy() bool { return a.opts.Restart != nil }

// Restart emits restarting and hands over to the restart strategy. A second restart while one is under way is ignored. A
// failure of the strategy is logged as a warning, not returned; having none is an error.
func (a *App) Restart(ctx context.Context, rollback any) error {
	if a.opts.Restart == nil {
		return fmt.Errorf("restarting the app: %w", ErrNoRestartStrategy)
	}
	a.mu.Lock()
	busy := a.restarting
	a.restarting = true
	a.mu.Unlock()
	if busy {
		a.root.Logger().Debug("Ignored restart: one is under way")
		return nil
	}
	defer func() {
		a.mu.Lock()
		a.restarting = false
		a.mu.Unlock()
	}()
	a.root.bus.clearSticky()
	emitOwn(a.root, EventRestarting, struct{}{})
	err := safely(func() error { return a.opts.Restart.Restart(ctx, RestartRequest{Stop: a.Stop, Rollback: rollback}) })
	if err != nil {
		logWarning(a.root.Logger(), err, "Restart failed")
	}
	return nil
}

// SaveConfig saves the config in effect to the store. Without a store it does nothing.
func (a *App) SaveConfig(ctx context.Context) error {
	if a.opts.Store == nil {
		return nil
	}
	if err := a.opts.Store.Save(ctx, a.Config()); err != nil {
		return fmt.Errorf("saving the config: %w", err)
	}
	a.root.Logger().Info("Saved config")
	return nil
}
