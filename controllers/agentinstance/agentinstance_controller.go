// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package agentinstance

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
	"github.com/aalis-dev/aalis-operator/controllers/render"
	"github.com/aalis-dev/aalis-operator/controllers/revisions"
	"github.com/aalis-dev/aalis-operator/controllers/shared"
	"github.com/aalis-dev/aalis-operator/runtime/catalog"
)

// Options of the reconciler.
type Options struct {
	// Client reads from the cache, with the client's own writes visible, and writes.
	Client client.Client
	// Cache reads without waiting for own writes: what the operator does not write itself.
	Cache client.Reader
	// Live reads from the API server.
	Live client.Reader
	// Recorder sends events.
	Recorder *shared.Recorder
	// Metrics counts writes.
	Metrics *shared.Metrics
	// Catalog of the modules in the runtime image.
	Catalog catalog.Catalog
	// Render holds the operator's settings for the child objects. Its APIServers are filled in on each pass.
	Render render.Options
	// Now reads the clock.
	Now func() time.Time
	// PassingAfter is how long a passing state must last before it is written; a second if 0.
	PassingAfter time.Duration
}

// Reconciler reconciles AgentInstances.
type Reconciler struct {
	Options

	applier     shared.Applier
	passing     *shared.Passing
	latency     *latency
	sent        *shared.Uncertain
	revisions   *revisions.Store
	catalogHash string
}

// New makes a Reconciler.
func New(opts Options) (*Reconciler, error) {
	hash, err := opts.Catalog.Hash()
	if err != nil {
		return nil, fmt.Errorf("hashing the catalog: %w", err)
	}
	return &Reconciler{
		Options:     opts,
		applier:     shared.Applier{Client: opts.Client, Live: opts.Live, Metrics: opts.Metrics},
		passing:     shared.NewPassing(opts.Now, opts.PassingAfter),
		latency:     newLatency(),
		sent:        shared.NewUncertain(),
		revisions:   revisions.NewStore(opts.Live),
		catalogHash: hash,
	}, nil
}

// Reconcile brings one bot closer to what is declared.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	instance := &v1alpha1.AgentInstance{}
	if err := r.sent.Get(ctx, r.Client, r.Live, req.NamespacedName, instance); err != nil {
		if apierrors.IsNotFound(err) {
			r.passing.Done(req.NamespacedName)
			r.latency.forget(req.NamespacedName)
			return ctrl.Result{}, nil
		}
		return ctrl.Result{}, fmt.Errorf("reading AgentInstance %s: %w", req.NamespacedName, err)
	}
	if !instance.DeletionTimestamp.IsZero() {
		return r.finalize(ctx, instance)
	}
	if err := shared.EnsureFinalizer(ctx, r.Client, instance, v1alpha1.FinalizerInstance); err != nil {
		return quietly(ctx, err)
	}
	began := r.Now()
	p, err := r.gather(ctx, instance)
	if err != nil {
		return ctrl.Result{}, err
	}
	p.compose()
	if err := r.observe(ctx, p); err != nil {
		return ctrl.Result{}, err
	}
	p.deliver(ctx)
	if err := r.apply(ctx, p); err != nil {
		return quietly(ctx, err)
	}
	r.measure(p, began)
	after, err := r.report(ctx, p)
	if err != nil {
		return quietly(ctx, err)
	}
	if p.stuck != nil && after == 0 {
		after = stuckRetry
	}
	if next := p.untilBudget(); next > 0 && (after == 0 || next < after) {
		after = next
	}
	return ctrl.Result{RequeueAfter: after}, nil
}

// measure tells how long a running bot took to acknowledge its config. An edit that replaces the pod is not meant to be live at
// once.
func (r *Reconciler) measure(p *pass, began time.Time) {
	bot := client.ObjectKeyFromObject(p.instance)
	replica := p.world.replica
	if replica == nil || p.wanted.Current == nil {
		return
	}
	if before := p.delivered.Current; before != nil && before.Sequence != p.wanted.Current.Sequence && p.stuck == nil && !p.world.rolling {
		r.latency.begin(bot, p.wanted.Current.Sequence, began)
	}
	if n := replica.Status.AppliedSequence; n != nil {
		if took, ok := r.latency.end(bot, *n, r.Now()); ok {
			r.Metrics.Applied(took)
		}
	}
}

// stuckRetry is how often an object that could not be applied is tried again: nothing tells us when a foreign object
// of the same name is gone, or a quota is raised.
const stuckRetry = time.Minute

// conflictDelay is how long to wait after a conflict: the cache is about to show what the conflict was with.
const conflictDelay = 20 * time.Millisecond

// quietly turns the errors that pass by themselves into a new pass: a conflict, an object that is being deleted, a
// namespace that is.
func quietly(ctx context.Context, err error) (ctrl.Result, error) {
	switch {
	case err == nil:
		return ctrl.Result{}, nil
	case apierrors.IsConflict(err):
		log.FromContext(ctx).V(1).Info("Conflicted, trying again", "error", err.Error())
		return ctrl.Result{RequeueAfter: conflictDelay}, nil
	case errors.Is(err, shared.ErrTerminating), namespaceTerminating(err):
		return ctrl.Result{}, nil
	}
	return ctrl.Result{}, err
}
