// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kernel

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aalis-dev/aalis-operator/runtime/recompute"
)

// Defaults of Options.
const (
	// DefaultDisposeTimeout bounds each step of a teardown that runs plugin code.
	DefaultDisposeTimeout = 5 * time.Second
	// DefaultDrainTimeout bounds the draining of a plugin, and of all of them at a stop.
	DefaultDrainTimeout = 60 * time.Second
	// DefaultApplyTimeout bounds a module's Apply.
	DefaultApplyTimeout = 60 * time.Second
	// NoTimeout as a timeout means that there is none.
	NoTimeout = time.Duration(-1)
)

// Options is what the host gives an App. Only Now is required.
type Options struct {
	// Modules lists everything that Config may name.
	Modules []Module
	Config  Config
	// Logger receives all logs, filtered by Config.LogLevel; nil discards them.
	Logger *slog.Logger
	// Now is the clock.
	Now func() time.Time
	// DisposeTimeout, DrainTimeout and ApplyTimeout bound how long plugin code is waited for; 0 means the default.
	DisposeTimeout, DrainTimeout, ApplyTimeout time.Duration
	// DevMode adds warnings that only the authors of plugins need.
	DevMode bool
	// Version is for the log only.
	Version string
	// DataDir is handed to plugins.
	DataDir string
	// Restart is what App.Restart uses; may be nil.
	Restart RestartStrategy
	// Store is where App.SaveConfig saves to; may be nil.
	Store ConfigStore
	// Observer is told what the manager does; may be nil.
	Observer Observer
}

// Errors of App.
var (
	ErrNotStarted        = errors.New("the app is not started")
	ErrStarted           = errors.New("the app was started before")
	ErrStopped           = errors.New("the app is stopped")
	ErrNoRestartStrategy = errors.New("there is no restart strategy")
)

// App is one bot: a root context, its plugins and its config. Apps share nothing.
type App struct {
	opts    Options
	catalog catalog
	root    *Context
	manager *Manager
	level   slog.LevelVar
	logs    LogHub
	config  atomic.Pointer[Config] // what was applied last; never modified
	turn    chan struct{}          // held by Start and Apply, which change the config one at a time

	mu         sync.Mutex
	started    bool
	stopped    chan struct{} // closed when Stop has done its work; nil before it began
	restarting bool
}

// New makes an App and validates the config. Nothing runs before Start.
func New(opts Options) (*App, error) {
	if opts.Now == nil {
		return nil, errors.New("making an app: options.now must be set")
	}
	modules, err := newCatalog(opts.Modules)
	if err != nil {
		return nil, fmt.Errorf("making an app: %w", err)
	}
	if err := modules.validate(opts.Config); err != nil {
		return nil, fmt.Errorf("making an app: %w", err)
	}
	opts.DisposeTimeout = timeoutOf(opts.DisposeTimeout, DefaultDisposeTimeout)
	opts.DrainTimeout = timeoutOf(opts.DrainTimeout, DefaultDrainTimeout)
	opts.ApplyTimeout = timeoutOf(opts.ApplyTimeout, DefaultApplyTimeout)
	a := &App{opts: opts, catalog: modules, turn: make(chan struct{}, 1)}
	a.logs.now = opts.Now
	cfg := opts.Config.normal()
	a.config.Store(&cfg)
	a.root = newContext(a.newShared(cfg), nil, rootID)
	a.root.claim(a.root)
	a.manager = newManager(a.root, opts)
	ServiceApp.Provide(a.root, a)
	ServicePlugins.Provide(a.root, a.manager)
	for service, ids := range cfg.Preferences {
		a.root.services.prefer(newSymbol(service), ids)
	}
	a.root.Logger().Info("Aalis Core", "version", opts.Version, "name", cfg.Name)
	return a, nil
}

// timeoutOf turns an option into a limit in which 0 means none.
func timeoutOf(given, byDefault time.Duration) time.Duration {
	switch {
	case given == 0:
		return byDefault
	case given < 0:
		return 0
	}
	return given
}

func (a *App) newShared(cfg Config) *shared {
	logger := a.opts.Logger
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	level, _ := parseLevel(cfg.LogLevel) // validated
	a.level.Set(level)
	s := &shared{
		logger: slog.New(logHandler{level: &a.level, hub: &a.logs, next: logger.Handler()}),
		now:    a.opts.Now, dataDir: a.opts.DataDir, devMode: a.opts.DevMode,
		disposeTimeout: a.opts.DisposeTimeout,
		appName:        func() string { return a.config.Load().Name },
	}
	s.drainTimeout.Store(int64(a.opts.DrainTimeout))
	s.init()
	s.bus.markSticky(EventReady.symbol)
	s.bus.markSticky(EventAppStarted.symbol)
	s.settings.swap(cfg.Settings)
	s.serviceChanged = func(name string, up bool) {
		if a.manager == nil {
			return // the kernel's own services, before there is a manager
		}
		kind := recompute.ServiceDown
		if up {
			kind = recompute.ServiceUp
		}
		a.manager.request(recompute.Reason{Kind: kind, Service: name})
	}
	return s
}

// Root returns the context of the host, whose id is "root". It lives until Stop has stopped all plugins.
func (a *App) Root() *Context { return a.root }

// Plugins returns the plugin manager.
func (a *App) Plugins() *Manager { return a.manager }

// Logs returns the hub of the App's log records, which also go to Options.Logger.
func (a *App) Logs() *LogHub { return &a.logs }

// Totals counts what went over the bus since the App was made.
func (a *App) Totals() Totals { return a.root.bus.totals() }

// Stats counts what the App holds.
func (a *App) Stats() Stats { return a.root.stats() }

// LastRecompute describes the last recompute that ended; its Count is 0 if there was none.
func (a *App) LastRecompute() RecomputeInfo { return a.manager.lastRecompute() }

// Validate checks a config as Apply would. The error joins one error per problem, each naming its path.
func (a *App) Validate(cfg Config) error { return a.catalog.validate(cfg) }

// SetDrainTimeout changes Options.DrainTimeout, with the same meaning, for drains that begin from now on.
func (a *App) SetDrainTimeout(d time.Duration) {
	a.root.drainTimeout.Store(int64(timeoutOf(d, DefaultDrainTimeout)))
}

// Config returns the config in effect: what was applied last, with what management calls changed since in the plugins.
func (a *App) Config() Config {
	cfg := a.config.Load().Clone()
	a.manager.overlay(cfg.Plugins)
	return cfg
}

// Start registers all plugins, waits until they have come to rest, and emits app:starting, ready and app:started. When ctx
// ends first it returns an error; the App is to be stopped then. An App can be started once.
func (a *App) Start(ctx context.Context) error {
	if err := a.take(ctx); err != nil {
		return fmt.Errorf("starting the app: %w", err)
	}
	defer a.give()
	a.mu.Lock()
	err := a.startable()
	a.started = a.started || err == nil
	a.mu.Unlock()
	if err != nil {
		return fmt.Errorf("starting the app: %w", err)
	}
	cfg := a.config.Load()
	a.manager.begin()
	var errs []error
	for _, id := range cfg.ids() {
		errs = append(errs, a.register(id, cfg.Plugins[id]))
	}
	a.manager.end()
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("starting the app: %w", err)
	}
	if err := a.manager.Idle(ctx); err != nil {
		return fmt.Errorf("starting the app: waiting for plugins: %w", err)
	}
	for _, e := range []Event[struct{}]{EventAppStarting, EventReady, EventAppStarted} {
		done := background(func() error { e.Emit(ctx, a.root, struct{}{}); return nil })
		select {
		case err := <-done:
			if err != nil { // a listener ended the goroutine
				logFailure(a.root.Logger(), err, "Event was not delivered to all", "event", e.name)
			}
		case <-ctx.Done():
			return fmt.Errorf("starting the app: waiting for listeners of %s: %w", e.name, context.Cause(ctx))
		}
	}
	return nil
}

func (a *App) startable() error {
	switch {
	case a.stopped != nil:
		return ErrStopped
	case a.started:
		return ErrStarted
	}
	return nil
}

func (a *App) register(id string, p PluginConfig) error {
	m, err := a.catalog.resolve(id, p)
	if err != nil {
		return fmt.Errorf("plugins[%s]: %w", id, err)
	}
	return a.manager.Register(m, id, p)
}

func (a *App) take(ctx context.Context) error {
	select {
	case a.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (a *App) give() { <-a.turn }
