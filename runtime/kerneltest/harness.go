// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kerneltest

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/aalis-dev/aalis-operator/runtime/kernel"
	"github.com/aalis-dev/aalis-operator/runtime/recompute"
)

// Patience bounds everything a harness waits for. It is long, because it only matters when a test fails.
const Patience = 30 * time.Second

// Harness is an App under test. It is stopped when the test ends.
type Harness struct {
	App   *kernel.App
	Clock *Clock
	Logs  *Logs
	t     testing.TB
}

// Option refines New and Run.
type Option func(*setup)

type setup struct {
	options   kernel.Options
	unstarted bool
	services  []fakeService
	config    map[string]any // Run only: what the module needs besides its defaults
}

type fakeService struct {
	name    string
	provide func(k *kernel.Context) (off func())
}

// WithModules adds modules that the config may name.
func WithModules(modules ...kernel.Module) Option {
	return func(s *setup) { s.options.Modules = append(s.options.Modules, modules...) }
}

// WithPlugin adds a module and a plugin that is an instance of it. The id may be empty for the module's name, the config nil.
func WithPlugin(m kernel.Module, id string, cfg map[string]any) Option {
	return func(s *setup) {
		if !slices.ContainsFunc(s.options.Modules, func(o kernel.Module) bool { return o.Name == m.Name }) {
			s.options.Modules = append(s.options.Modules, m)
		}
		if id == "" {
			id = m.Name
		}
		s.options.Config.Plugins[id] = kernel.PluginConfig{Module: m.Name, Config: cfg}
	}
}

// WithService has the host provide a service from before the start. [Run] takes away and gives back the required ones.
func WithService[T any](key kernel.Service[T], fake T) Option {
	return func(s *setup) {
		s.services = append(s.services, fakeService{
			name:    key.Name(),
			provide: func(k *kernel.Context) func() { return key.Provide(k, fake) },
		})
	}
}

// WithSetting sets a top-level config key to a value's JSON.
func WithSetting(key string, value any) Option {
	return func(s *setup) {
		raw, err := json.Marshal(value)
		if err != nil {
			panic(err) // a programming error in a test
		}
		s.options.Config.Settings[key] = raw
	}
}

// WithConfig gives [Run] the config that the module under test needs because its defaults alone do not make it start. New
// ignores it.
func WithConfig(cfg map[string]any) Option { return func(s *setup) { s.config = cfg } }

// WithOptions changes the App's options as the options before it have made them.
func WithOptions(change func(*kernel.Options)) Option {
	return func(s *setup) { change(&s.options) }
}

// Unstarted leaves starting the App to the test.
func Unstarted() Option { return func(s *setup) { s.unstarted = true } }

// New makes an App with the given modules and config, starts it and waits until its plugins have come to rest. It logs
// at level debug to Logs, warns in development mode and goes by Clock.
func New(tb testing.TB, opts ...Option) *Harness {
	tb.Helper()
	h := &Harness{t: tb, Clock: NewClock(), Logs: &Logs{}}
	s := newSetup(h, opts)
	app, err := kernel.New(s.options)
	if err != nil {
		tb.Fatalf("making the app: %v", err)
	}
	h.App = app
	tb.Cleanup(h.Stop)
	for _, f := range s.services {
		f.provide(app.Root())
	}
	if !s.unstarted {
		h.Start()
	}
	return h
}

func newSetup(h *Harness, opts []Option) *setup {
	s := &setup{options: kernel.Options{
		Now: h.Clock.Now, Logger: slog.New(h.Logs),
		DevMode: true,
		Version: "test",
		Config: kernel.Config{
			Name: "Test", LogLevel: "debug",
			Plugins: map[string]kernel.PluginConfig{}, Settings: map[string]json.RawMessage{},
			Preferences: map[string][]string{},
		},
	}}
	for _, opt := range opts {
		opt(s)
	}
	return s
}

// Root returns the host's context.
func (h *Harness) Root() *kernel.Context { return h.App.Root() }

// Start starts an [Unstarted] App.
func (h *Harness) Start() {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	if err := h.App.Start(ctx); err != nil {
		h.t.Fatalf("starting: %v", err)
	}
}

// Stop stops the App. It may be called more than once.
func (h *Harness) Stop() {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	if err := h.App.Stop(ctx); err != nil {
		h.t.Errorf("stopping: %v", err)
	}
}

// Idle waits until the plugins have come to rest.
func (h *Harness) Idle() {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	if err := h.App.Plugins().Idle(ctx); err != nil {
		h.t.Fatalf("waiting for plugins to come to rest: %v", err)
	}
}

// Apply applies the present config as changed by change, and fails the test if it is rejected.
func (h *Harness) Apply(change func(cfg *kernel.Config)) kernel.ApplyReport {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	cfg := h.App.Config()
	change(&cfg)
	report, err := h.App.Apply(ctx, cfg)
	if err != nil {
		h.t.Fatalf("applying: %v", err)
	}
	return report
}

// Plugin returns a plugin's status; the test fails if there is no such plugin.
func (h *Harness) Plugin(id string) kernel.PluginStatus {
	h.t.Helper()
	status, ok := h.App.Plugins().Plugin(id)
	if !ok {
		h.t.Fatalf("there is no plugin %s", id)
	}
	return status
}

// WantState waits until the plugins have come to rest and fails the test if a plugin is not in the given state.
func (h *Harness) WantState(id string, want recompute.State) {
	h.t.Helper()
	h.Idle()
	if got := h.Plugin(id); got.State != want {
		h.t.Fatalf("plugin %s is %s (error %q, message %q), want %s", id, got.State, got.Error, got.Message, want)
	}
}
