// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kernel

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// rootID is the id of an App's root context. No plugin can have it.
const rootID = "root"

// ErrContextDisposed is returned when something that must live in a context is asked of one that is torn down.
var ErrContextDisposed = errors.New("the context is torn down")

// Context is a plugin's access to the kernel and the owner of all that the plugin registers. Each plugin instance has one,
// made when it is activated. All methods may be called from any goroutine.
//
// After teardown has begun, subscriptions (On, Use, Contribute, Provide, When, Watch, Go) log a warning and do nothing,
// constructors (Fork, UseModule) return an error, and OnDispose still sees to it that the cleanup runs.
type Context struct {
	*shared
	id     string
	plugin string // the instance id of the plugin this context belongs to; rootID for the host's
	parent *Context
	log    atomic.Pointer[slog.Logger]

	lifetime context.Context
	cancel   context.CancelFunc
	disposed atomic.Bool // written with mu held

	mu          sync.Mutex
	children    []*Context
	chain       chain
	drained     bool // the chain has been run to its end
	owned       map[*goroutine]struct{}
	drains      []drainItem
	draining    chan struct{} // closed when draining has ended; nil before it began
	applying    chan struct{} // closed when the apply function has returned; nil if there is none
	reconfigure func(ctx context.Context, before, after map[string]any) error
	down        bool          // teardown has begun
	ended       chan struct{} // closed when teardown has ended
}

func newContext(s *shared, parent *Context, id string) *Context {
	c := &Context{shared: s, id: id, plugin: id, parent: parent, ended: make(chan struct{})}
	base := context.Background()
	if parent != nil {
		base = parent.lifetime
		if parent.id != rootID {
			c.plugin = parent.plugin
		}
	}
	c.lifetime, c.cancel = context.WithCancel(base)
	return c
}

// ID returns the context's id, which is unique among living contexts: a plugin's instance id, or for a forked or used
// child the id it was given.
func (c *Context) ID() string { return c.id }

// Logger returns the context's logger, whose attribute "scope" is "aalis:" and the id.
func (c *Context) Logger() *slog.Logger {
	if l := c.log.Load(); l != nil {
		return l
	}
	scope := "aalis"
	if c.id != rootID {
		scope += ":" + c.id
	}
	l := c.logger.With(scopeKey, scope)
	c.log.Store(l)
	return l
}

// Now returns the time by the clock the App was given.
func (c *Context) Now() time.Time { return c.now() }

// DataDir returns the directory for data that outlives the process. The kernel itself never touches it.
func (c *Context) DataDir() string { return c.dataDir }

// AppName returns the bot's name.
func (c *Context) AppName() string { return c.appName() }

// Disposed reports whether teardown has begun.
func (c *Context) Disposed() bool { return c.disposed.Load() }

// Lifetime returns a context that ends when teardown begins, which is after draining.
func (c *Context) Lifetime() context.Context { return c.lifetime }

// Fork makes a child with registrations of its own, which is torn down with its parent or by [Context.Dispose]. The id
// must be unique among living contexts.
func (c *Context) Fork(id string) (*Context, error) {
	if id == "" {
		return nil, errors.New("forking a context: id must be non-empty")
	}
	child := newContext(c.shared, c, id)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.disposed.Load() {
		child.cancel()
		return nil, fmt.Errorf("forking %s from %s: %w", id, c.id, ErrContextDisposed)
	}
	if !c.claim(child) {
		child.cancel()
		return nil, fmt.Errorf("forking %s from %s: a living context has that id", id, c.id)
	}
	c.children = append(c.children, child)
	return child, nil
}

// UseModule applies a module inside this context, without the manager's knowledge: it is not started or stopped by
// services that come and go, and is not part of any status. The config may be nil. Dispose tears it down and waits.
func (c *Context) UseModule(m Module, cfg map[string]any) (dispose func(), err error) {
	cfg, err = m.configure(cfg)
	if err != nil {
		return nil, fmt.Errorf("using module %s in %s: %w", m.Name, c.id, err)
	}
	child, err := c.forkUnique(c.id + "#" + m.Name)
	if err != nil {
		return nil, fmt.Errorf("using module %s in %s: %w", m.Name, c.id, err)
	}
	if err := child.beginApply(m, cfg)(); err != nil {
		_ = child.Dispose(context.Background())
		var p *PanicError
		if errors.As(err, &p) {
			logFailure(child.Logger(), err, "Used module failed")
		}
		return nil, fmt.Errorf("using module %s in %s: %w", m.Name, c.id, err)
	}
	return func() { _ = child.Dispose(context.Background()) }, nil
}

// forkUnique forks under the first free one of id, id~2, id~3, ...
func (c *Context) forkUnique(id string) (*Context, error) {
	for n := 1; ; n++ {
		name := id
		if n > 1 {
			name = fmt.Sprintf("%s~%d", id, n)
		}
		c.shared.mu.Lock()
		taken := c.contexts[name] != nil
		c.shared.mu.Unlock()
		if taken {
			continue
		}
		return c.Fork(name)
	}
}

// beginApply notes that an apply function is about to run, so that a teardown from now on waits for it, and returns the
// function that runs it.
func (c *Context) beginApply(m Module, cfg map[string]any) func() error {
	done := make(chan struct{})
	c.mu.Lock()
	c.applying = done
	c.mu.Unlock()
	return func() error {
		defer close(done)
		if c.Disposed() {
			return ErrContextDisposed
		}
		return safely(func() error { return m.Apply(c, cfg) })
	}
}

// Prefer makes the entries of these ids win over all others of a service, the first registered one first. Ids that are
// not registered have no effect until they are. Preferences belong to the App, not to the context.
func (c *Context) Prefer(service string, entryIDs ...string) {
	c.services.prefer(newSymbol(service), entryIDs)
	c.preferenceChanged(service)
}

// Unprefer drops the preferences of a service.
func (c *Context) Unprefer(service string) { c.Prefer(service) }

// Preferred returns the preference list of a service, nil if there is none.
func (c *Context) Preferred(service string) []string { return c.services.preferred(newSymbol(service)) }

// ServiceNames lists the services that have at least one entry, sorted.
func (c *Context) ServiceNames() []string { return c.services.names() }

func (c *Context) preferenceChanged(service string) {
	c.syncWatchers(newSymbol(service))
	emitOwn(c, EventServicePreferenceChanged, service)
}

// syncWatchers brings everybody's Whens of services up to date. These are other plugins' callbacks: bounded.
func (c *Context) syncWatchers(services ...symbol) {
	var watchers []*watcher
	for _, sym := range services {
		watchers = append(watchers, c.services.watchers(sym)...)
	}
	if len(watchers) == 0 {
		return
	}
	err := bounded(c.disposeTimeout, func(context.Context) error {
		for _, w := range watchers {
			w.sync()
		}
		return nil
	})
	if err != nil {
		c.giveUp("waitingFor", "service callbacks")
	}
}

// devWarn logs a warning that only the authors of plugins need.
func (c *Context) devWarn(msg string, args ...any) {
	if c.devMode {
		c.Logger().Warn(msg, args...)
	}
}

func (c *Context) removeChild(child *Context) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if i := slices.Index(c.children, child); i >= 0 {
		c.children = slices.Delete(c.children, i, i+1)
	}
}
