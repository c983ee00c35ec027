// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"time"

	"github.com/aalis-dev/aalis-operator/runtime/contract/tracing"
	"github.com/aalis-dev/aalis-operator/runtime/host/metrics"
	"github.com/aalis-dev/aalis-operator/runtime/host/report"
	"github.com/aalis-dev/aalis-operator/runtime/host/secrets"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
	"github.com/aalis-dev/aalis-operator/runtime/kernelconfig"
)

// settleTime is how long the runner lets changes that come by themselves, such as plugins that become active one after
// another, settle before it reports. What follows from a new config is reported at once.
const settleTime = 50 * time.Millisecond

// stopGrace is added to the drain timeout for tearing down at the end.
const stopGrace = 15 * time.Second

// RunnerOptions configure a Runner. Modules, Secrets, Logger, Metrics and Now must be set.
type RunnerOptions struct {
	// Modules that plugins may be instances of.
	Modules []kernel.Module
	// Secrets gives the values of Secret keys.
	Secrets secrets.Source
	// Settings are top-level config keys of the host's own, added to those of every config.
	Settings map[string]json.RawMessage
	// LogLevel overrides that of the configs unless empty.
	LogLevel string
	Logger   *slog.Logger
	// Level is set to the log level of the config that runs; it may be nil.
	Level   *slog.LevelVar
	Metrics *metrics.Metrics
	// Tracer makes spans of what the runner does; nil if nobody traces.
	Tracer tracing.Tracer
	Now    func() time.Time
	// Version and DataDir are what plugins may ask the kernel for.
	Version, DataDir string
	// Attach is called with the root context of a kernel before it starts.
	Attach []func(k *kernel.Context)
	// Changed is called, from one goroutine, when the report may have changed. It must not block.
	Changed func(report.Snapshot)
	// Rejected is told of a config that is refused, instead of the log; it may be nil.
	Rejected func(report.Rejected)
}

// Delivery is what a provider has for the kernel.
type Delivery struct {
	// Slots as the provider has them.
	Slots kernelconfig.Slots
	// Err says why Slots.Current could not be read, when it is there and cannot.
	Err error
	// At is when the provider had it.
	At time.Time
}

// Runner runs one kernel by what providers deliver: it starts it with the first usable config, applies later ones in
// place, keeps the old one when a new one is refused, and follows the secrets. All its work is done in Run, by one
// goroutine; the other methods only leave a note and may be called from anywhere.
type Runner struct {
	opts       RunnerOptions
	translator translator
	wake       chan struct{}
	dirty      chan struct{}

	// These belong to the goroutine of Run.
	app       *kernel.App
	active    *translation
	config    kernelconfig.Config
	provided  map[string]func()
	refused   map[string]bool // refused deliveries by revision, of the present watermark
	watermark int64           // the highest sequence that was tried
	trimmed   map[secrets.Key]bool
	problems  map[string][]string // of the active translation

	mu       sync.Mutex
	inbox    *Delivery
	recheck  bool
	ready    bool
	draining bool
	why      string
	applied  *report.Applied
	rejected *report.Rejected
	snapshot report.Snapshot
	current  *kernel.App          // app, for readers
	moved    kernel.RecomputeInfo // the last recompute that changed something
}

// NewRunner makes a Runner. It starts nothing.
func NewRunner(o RunnerOptions) *Runner {
	return &Runner{
		opts:       o,
		translator: newTranslator(o.Modules, o.Secrets, o.Settings, o.LogLevel),
		wake:       make(chan struct{}, 1),
		dirty:      make(chan struct{}, 1),
		provided:   map[string]func(){},
		refused:    map[string]bool{},
		trimmed:    map[secrets.Key]bool{},
		watermark:  -1,
		why:        "no config has been delivered yet",
	}
}

// Deliver hands over what a provider has. Of several deliveries that wait, the one with the higher sequence stays.
func (r *Runner) Deliver(d Delivery) {
	r.mu.Lock()
	if r.inbox == nil || sequenceOf(d) >= sequenceOf(*r.inbox) {
		r.inbox = &d
	}
	r.mu.Unlock()
	poke(r.wake)
}

func sequenceOf(d Delivery) int64 {
	if d.Slots.Current == nil {
		return -1
	}
	return d.Slots.Current.Sequence
}

// SecretsChanged makes the runner look at the secrets again.
func (r *Runner) SecretsChanged() {
	r.mu.Lock()
	r.recheck = true
	r.mu.Unlock()
	poke(r.wake)
}

// poke leaves a note in a channel of capacity one.
func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Ready tells whether a kernel runs a config and is not about to end; if not, why says what is missing.
func (r *Runner) Ready() (ok bool, why string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.draining {
		return false, "draining"
	}
	return r.ready, r.why
}

// App returns the kernel that runs, or nil.
func (r *Runner) App() *kernel.App {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.current
}

// Report returns the last report.
func (r *Runner) Report() report.Snapshot {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.snapshot
}

// Run works until ctx ends, then drains and stops the kernel: running turns may finish within the config's drain
// timeout. It returns what went wrong in that.
func (r *Runner) Run(ctx context.Context) error {
	settle := time.NewTimer(settleTime)
	settle.Stop()
	defer settle.Stop()
	settling := false
	for {
		select {
		case <-ctx.Done():
			return r.stop(ctx)
		case <-r.wake:
			if r.step(ctx) {
				r.publish()
			}
		case <-r.dirty:
			if !settling {
				settling = true
				settle.Reset(settleTime)
			}
		case <-settle.C:
			settling = false
			r.publish()
		}
	}
}

// step does what the notes ask for and tells whether there is something to report: before the first delivery there is not.
func (r *Runner) step(ctx context.Context) bool {
	r.mu.Lock()
	d, recheck := r.inbox, r.recheck
	r.inbox, r.recheck = nil, false
	r.mu.Unlock()
	if d != nil {
		r.take(ctx, *d)
	}
	if recheck && r.app != nil {
		r.refreshSecrets(ctx)
	}
	return d != nil || r.app != nil
}

func (r *Runner) stop(ctx context.Context) error {
	r.mu.Lock()
	r.draining = true
	r.mu.Unlock()
	if r.app == nil {
		return nil
	}
	limit := drainTimeout(r.config) + stopGrace
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	r.opts.Logger.Info("Draining", "timeout", limit-stopGrace)
	err := r.app.Stop(stopping)
	r.setApp(nil)
	return err
}

func (r *Runner) setApp(app *kernel.App) {
	r.app = app
	r.mu.Lock()
	defer r.mu.Unlock()
	r.current = app
	if app == nil {
		r.ready = false
	}
}
