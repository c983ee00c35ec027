// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/aalis-dev/aalis-operator/runtime/host/metrics"
	"github.com/aalis-dev/aalis-operator/runtime/host/report"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
	"github.com/aalis-dev/aalis-operator/runtime/kernelconfig"
)

// unreadableRevision stands for the revision of a delivery whose header cannot be read.
const unreadableRevision = "unreadable"

// secretService is the type of the services secret:NAME/KEY: there is nothing to them but being there.
type secretService = struct{}

// take decides about a delivery: the wanted revision if it is new, the last good one when nothing runs and the wanted one
// cannot.
func (r *Runner) take(ctx context.Context, d Delivery) {
	cur := d.Slots.Current
	switch {
	case d.Err != nil:
		r.unreadable(d)
	case cur != nil && r.isNew(*cur):
		if r.try(ctx, *cur, d.At, metrics.Applied) {
			return
		}
	}
	good := d.Slots.LastGood
	if r.app != nil || ctx.Err() != nil {
		return
	}
	if good != nil && (cur == nil || good.Revision != cur.Revision) {
		r.opts.Logger.Warn("Starting with the last good revision", "revision", good.Revision, "sequence", good.Sequence)
		if r.try(ctx, *good, d.At, metrics.FellBack) {
			return
		}
	}
	r.notReady(cur, good)
}

// unreadable refuses a delivery whose sequence is not known: it counts as the next one.
func (r *Runner) unreadable(d Delivery) {
	next := max(r.watermark, 0) + 1
	if good := d.Slots.LastGood; good != nil {
		next = max(next, good.Sequence+1)
	}
	if !r.refused[unreadableRevision] {
		r.refused[unreadableRevision] = true
		r.reject(kernelconfig.Delivery{Revision: unreadableRevision, Sequence: next}, d.Err, d.At)
	}
}

// isNew tells whether a delivery is worth trying: it is newer than all that was tried, or as new and not refused yet.
func (r *Runner) isNew(d kernelconfig.Delivery) bool {
	switch {
	case d.Sequence > r.watermark:
		return true
	case d.Sequence < r.watermark || r.refused[d.Revision]:
		return false
	default:
		a := r.appliedNow()
		return a == nil || a.Sequence < d.Sequence
	}
}

func (r *Runner) appliedNow() *report.Applied {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.applied
}

func (r *Runner) notReady(cur, good *kernelconfig.Delivery) {
	why := "no config has been delivered yet"
	if cur != nil || good != nil {
		why = "no delivered config can run: see the log"
	}
	r.opts.Logger.Error("Not ready: "+why, "hasCurrent", cur != nil, "hasLastGood", good != nil)
	r.mu.Lock()
	r.why = why
	r.mu.Unlock()
}

// try applies one delivery and tells whether it runs now.
func (r *Runner) try(ctx context.Context, d kernelconfig.Delivery, received time.Time, result metrics.Result) bool {
	err := r.applyTraced(ctx, d, result, func(ctx context.Context) error {
		c, err := d.Unpack()
		if err != nil {
			return err
		}
		return r.apply(ctx, c)
	})
	if ctx.Err() != nil && err != nil {
		return false
	}
	if err != nil {
		r.refuse(d, err, received)
		return false
	}
	now := r.opts.Now()
	if d.Sequence > r.watermark {
		r.watermark = d.Sequence
		r.refused = map[string]bool{}
	}
	r.opts.Metrics.ConfigApplied(result, d.Sequence, now, now.Sub(received))
	r.mu.Lock()
	r.applied = &report.Applied{Revision: d.Revision, Sequence: d.Sequence, At: now}
	if result == metrics.Applied {
		r.rejected = nil
	}
	r.ready, r.why = true, ""
	r.mu.Unlock()
	r.opts.Logger.Info("Applied config", "revision", d.Revision, "sequence", d.Sequence, "took", now.Sub(received))
	return true
}

// refuse remembers a delivery that cannot run. What runs goes on running.
func (r *Runner) refuse(d kernelconfig.Delivery, err error, received time.Time) {
	if r.refused[d.Revision] && d.Sequence <= r.watermark {
		return
	}
	if d.Sequence > r.watermark {
		r.watermark = d.Sequence
		r.refused = map[string]bool{}
	}
	r.refused[d.Revision] = true
	r.reject(d, err, received)
}

// reject tells of a refused delivery.
func (r *Runner) reject(d kernelconfig.Delivery, err error, received time.Time) {
	now := r.opts.Now()
	r.opts.Metrics.ConfigApplied(metrics.Rejected, d.Sequence, now, now.Sub(received))
	r.mu.Lock()
	newer := (r.applied == nil || d.Sequence > r.applied.Sequence) && (r.rejected == nil || d.Sequence >= r.rejected.Sequence)
	rejected := report.Rejected{Revision: d.Revision, Sequence: d.Sequence, Message: err.Error()}
	if newer {
		r.rejected = &rejected
	}
	running := r.applied
	r.mu.Unlock()
	if r.opts.Rejected != nil {
		r.opts.Rejected(rejected)
		return
	}
	args := []any{"revision", d.Revision, "sequence", d.Sequence, "error", err}
	if running != nil {
		args = append(args, "running", running.Revision)
	}
	r.opts.Logger.Error("Rejected config", args...)
}

// apply makes the kernel run a config. After an error the kernel is what it was before.
func (r *Runner) apply(ctx context.Context, c kernelconfig.Config) error {
	t, err := r.translator.translate(c)
	if err != nil {
		return err
	}
	if r.app == nil {
		err = r.start(ctx, c, t)
	} else {
		err = r.change(ctx, t)
	}
	if err != nil {
		return err
	}
	r.config = c
	if r.opts.Level != nil {
		r.opts.Level.Set(ParseLevel(t.config.LogLevel))
	}
	r.adopt(t)
	return nil
}

// start makes the kernel with its first config.
func (r *Runner) start(ctx context.Context, c kernelconfig.Config, t translation) error {
	app, err := kernel.New(kernel.Options{
		Modules: r.opts.Modules, Config: t.config, Logger: r.opts.Logger, Now: r.opts.Now,
		DrainTimeout: drainTimeout(c),
		Version:      r.opts.Version, DataDir: r.opts.DataDir, Observer: (*observer)(r),
	})
	if err != nil {
		return err
	}
	r.observe(app.Root())
	for _, attach := range r.opts.Attach {
		attach(app.Root())
	}
	r.app = app
	r.provide(t.services)
	if err := app.Start(ctx); err != nil {
		stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopGrace)
		defer cancel()
		err = errors.Join(err, app.Stop(stopping))
		r.app, r.provided = nil, map[string]func(){}
		return fmt.Errorf("starting the kernel: %w", err)
	}
	r.setApp(app)
	return nil
}

// drainTimeout is how long plugins may drain; the kernel takes 0 as its default, the config as no wait at all.
func drainTimeout(c kernelconfig.Config) time.Duration {
	return max(time.Duration(c.DrainTimeoutSeconds)*time.Second, time.Nanosecond)
}

// change applies a config in place. Secrets that are gone are withdrawn before, so that no plugin sees its field empty;
// new ones are provided after, so that no plugin starts before its field is filled.
func (r *Runner) change(ctx context.Context, t translation) error {
	if err := r.app.Validate(t.config); err != nil {
		return err
	}
	r.withdraw(t.services)
	r.app.SetDrainTimeout(t.drain)
	done, err := r.app.Apply(ctx, t.config)
	switch {
	case ctx.Err() != nil:
		return err
	case err != nil:
		// The config was valid and is in effect: a plugin that did not follow shows that in its own state.
		r.opts.Logger.Error("Config was applied, but not everywhere", "error", err)
	}
	before := len(r.provided)
	r.provide(t.services)
	if len(r.provided) != before {
		if err := r.app.Plugins().Idle(ctx); err != nil {
			return fmt.Errorf("waiting for plugins: %w", err)
		}
	}
	r.opts.Logger.Debug("Changed the kernel", "settings", done.Settings, "preferences", done.Preferences,
		"registered", done.Registered, "unloaded", done.Unloaded, "reconfigured", done.Reconfigured,
		"bounced", done.Bounced, "enabled", done.Enabled, "disabled", done.Disabled)
	return nil
}

// refreshSecrets applies what changed in the secrets to the config that runs.
func (r *Runner) refreshSecrets(ctx context.Context) {
	t, err := r.translator.translate(r.config)
	if err != nil {
		r.opts.Logger.Error("Secrets were not taken over", "error", err)
		return
	}
	if slices.Equal(t.services, r.active.services) && reflect.DeepEqual(t.config, r.active.config) {
		r.adopt(t)
		return
	}
	if err := r.change(ctx, t); err != nil {
		if ctx.Err() == nil {
			r.opts.Logger.Error("Secrets were not taken over", "error", err)
		}
		return
	}
	r.opts.Logger.Info("Took over changed secrets", "available", t.services)
	r.adopt(t)
}

// adopt makes a translation the one that runs and tells of what was odd about its secrets.
func (r *Runner) adopt(t translation) {
	trimmed := make(map[secretKey]bool, len(t.trimmed))
	for _, k := range t.trimmed {
		trimmed[k] = true
		if !r.trimmed[k] {
			r.opts.Logger.Info("Removed trailing line breaks of a Secret's value", "secret", k.Name, "key", k.Key)
		}
	}
	r.trimmed = trimmed
	old := r.problems
	r.problems = t.problems
	for _, id := range slices.Sorted(maps.Keys(t.problems)) {
		if !slices.Equal(old[id], t.problems[id]) {
			r.opts.Logger.Warn("A Secret's value cannot be used", "plugin", id, "problems", t.problems[id])
		}
	}
	r.active = &t
}

func (r *Runner) provide(services []string) {
	for _, name := range services {
		if r.provided[name] == nil {
			r.provided[name] = kernel.NewService[secretService](name).Provide(r.app.Root(), secretService{})
		}
	}
}

// withdraw takes back the services that are not among those to keep.
func (r *Runner) withdraw(keep []string) {
	for _, name := range slices.Sorted(maps.Keys(r.provided)) {
		if !slices.Contains(keep, name) {
			r.provided[name]()
			delete(r.provided, name)
		}
	}
}
