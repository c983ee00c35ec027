// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package shared

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
)

// inUseBound is the longest that a deleted object is kept for its users to let go.
const inUseBound = 2 * time.Minute

// StatusFields point into the status of an object that bots use.
type StatusFields struct {
	Conditions         *[]metav1.Condition
	ObservedGeneration **int64
	Usage              **v1alpha1.UsageStatus
	// State is nil for kinds that have none.
	State *v1alpha1.State
	// Revisions is nil for kinds that keep none.
	Revisions *RevisionFields
}

// UsedKind is what the reconciler of a kind that bots use needs to know of it. T is the type of its objects, a pointer.
type UsedKind[T client.Object] struct {
	// Name of the kind.
	Name string
	// New makes an empty object.
	New func() T
	// Status points into an object's status.
	Status func(T) StatusFields
	// Users lists the bots that use an object, from the cache.
	Users func(ctx context.Context, cache client.Reader, obj T) ([]v1alpha1.AgentInstance, error)
	// Check says what is wrong with the object by itself, whoever uses it; nil if nothing.
	Check func(obj T) *Summary
	// PluginID gives the id that a Plugin has in kernels; nil for other kinds.
	PluginID func(obj T) string
	// Finalizer keeps a deleted object until its users have let go.
	Finalizer bool
}

// UsedReconciler reports how far an object has reached the bots that use it, and holds its deletion until they have let
// go. It is the whole reconciler of Plugin, Persona, ServicePreference, AuthorityPolicy and TenantPolicy.
type UsedReconciler[T client.Object] struct {
	kind     UsedKind[T]
	client   client.Client
	cache    client.Reader
	metrics  *Metrics
	recorder *Recorder
	now      func() time.Time
	passing  *Passing
	live     client.Reader
	sent     *Uncertain
}

// UsedOptions are the dependencies of a UsedReconciler.
type UsedOptions struct {
	// Client reads with the client's own writes visible, and writes. Cache reads without that.
	Client client.Client
	Cache  client.Reader
	// Live reads from the API server.
	Live client.Reader
	// Metrics counts status writes; Recorder sends events.
	Metrics  *Metrics
	Recorder *Recorder
	// Now reads the clock.
	Now func() time.Time
	// PassingAfter is how long a passing state must last before it is written; a second if 0.
	PassingAfter time.Duration
}

// NewUsedReconciler makes the reconciler of a kind.
func NewUsedReconciler[T client.Object](kind UsedKind[T], opts UsedOptions) *UsedReconciler[T] {
	return &UsedReconciler[T]{
		kind: kind, client: opts.Client, cache: opts.Cache, metrics: opts.Metrics, recorder: opts.Recorder,
		now: opts.Now, passing: NewPassing(opts.Now, opts.PassingAfter), live: opts.Live, sent: NewUncertain(),
	}
}

// Reconcile brings the status of one object up to date.
func (r *UsedReconciler[T]) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	obj := r.kind.New()
	if err := r.sent.Get(ctx, r.client, r.live, req.NamespacedName, obj); err != nil {
		if apierrors.IsNotFound(err) {
			r.passing.Done(req.NamespacedName)
			return ctrl.Result{}, nil
		}
		return ctrl.Result{}, fmt.Errorf("reading %s %s: %w", r.kind.Name, req.NamespacedName, err)
	}
	found, err := r.assess(ctx, obj)
	if err != nil {
		return conflictAgain(err)
	}
	usage := found.usage
	deleting := !obj.GetDeletionTimestamp().IsZero()
	if r.kind.Finalizer && usage.Selected > 0 {
		if err := EnsureFinalizer(ctx, r.client, obj, v1alpha1.FinalizerInUse); err != nil {
			return conflictAgain(err)
		}
	}
	if deleting {
		return r.finalize(ctx, obj, found)
	}
	result, err := r.report(ctx, obj, found)
	result.RequeueAfter = sooner(result.RequeueAfter, found.revised.RequeueAfter)
	return result, err
}

// finalize lets a deleted object go once its users have, or says what it waits for.
func (r *UsedReconciler[T]) finalize(ctx context.Context, obj T, found assessment) (ctrl.Result, error) {
	left := r.wait(obj, found.usage)
	if left == 0 {
		r.passing.Done(client.ObjectKeyFromObject(obj))
		return conflictAgain(DropFinalizer(ctx, r.client, obj, v1alpha1.FinalizerInUse))
	}
	result, err := r.report(ctx, obj, found)
	if err == nil && result.RequeueAfter == 0 {
		result.RequeueAfter = left
	}
	return result, err
}

// conflictAgain turns a conflict into a new pass.
func conflictAgain(err error) (ctrl.Result, error) {
	if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) {
		return ctrl.Result{RequeueAfter: 20 * time.Millisecond}, nil
	}
	return ctrl.Result{}, err
}

// assessment is what is found out about an object.
type assessment struct {
	usage   Usage
	summary Summary
	revised revised
	// certain tells that the object is wrong by itself: nothing but a change of it will help.
	certain bool
}

// mayPass tells whether the state may pass without anybody's doing.
func (a assessment) mayPass() bool { return a.summary.Ready != metav1.ConditionTrue && !a.certain }

// assess counts the users and sums up.
func (r *UsedReconciler[T]) assess(ctx context.Context, obj T) (assessment, error) {
	var wrong *Summary
	if r.kind.Check != nil {
		wrong = r.kind.Check(obj)
	}
	users, err := r.kind.Users(ctx, r.cache, obj)
	if err != nil && wrong == nil {
		return assessment{}, err
	}
	pluginID := ""
	if r.kind.PluginID != nil {
		pluginID = r.kind.PluginID(obj)
	}
	found := assessment{}
	if found.revised, err = r.revise(ctx, obj, users, wrong); err != nil {
		return assessment{}, err
	}
	found.usage = CountRevision(users, r.kind.Name, obj.GetName(), obj.GetGeneration(), found.revised.updated, pluginID)
	found.summary = found.usage.Summary()
	switch {
	case !obj.GetDeletionTimestamp().IsZero():
		found.summary = Summary{
			Ready: metav1.ConditionFalse, Progress: Working, Reason: v1alpha1.ReasonDeleting,
			Message: fmt.Sprintf("waiting for the bots that run it to let go: %s; the annotation %s ends the wait", names(found.usage.Holding), v1alpha1.AnnotationSkipWait),
		}
	case wrong != nil:
		found.summary, found.certain = *wrong, true
	default:
		if summary, rolling := found.revised.summary(); rolling {
			found.summary = summary
		}
	}
	return found, nil
}

// wait says how much longer a deleted object is kept; 0 is no longer.
func (r *UsedReconciler[T]) wait(obj T, usage Usage) time.Duration {
	_, skip := obj.GetAnnotations()[v1alpha1.AnnotationSkipWait]
	if skip || len(usage.Holding) == 0 {
		return 0
	}
	return max(0, inUseBound-r.now().Sub(obj.GetDeletionTimestamp().Time))
}

// report writes the status if it says something new. What may pass by itself is held back for a second: on the way to
// its users an object is not ready for a moment, and a user that was stuck before the object changed has yet to look at
// it again. An object that has no status yet gets one at once, so that nobody takes it for ready.
func (r *UsedReconciler[T]) report(ctx context.Context, obj T, found assessment) (ctrl.Result, error) {
	key := client.ObjectKeyFromObject(obj)
	after, ok := obj.DeepCopyObject().(T)
	if !ok {
		return ctrl.Result{}, fmt.Errorf("%T is not an API object", obj)
	}
	before, fields := r.kind.Status(obj), r.kind.Status(after)
	generation := obj.GetGeneration()
	*fields.ObservedGeneration = &generation
	*fields.Usage = found.usage.Status()
	if fields.State != nil {
		*fields.State = found.usage.State
	}
	SetSummary(fields.Conditions, generation, found.summary)
	found.revised.fill(fields.Revisions, fields.Conditions, generation)
	if equality.Semantic.DeepEqual(before, fields) {
		r.passing.Done(key)
		return ctrl.Result{}, nil
	}
	if found.mayPass() && len(*before.Conditions) > 0 && !decided(before.Revisions, fields.Revisions) {
		if left := r.passing.Hold(key); left > 0 {
			return ctrl.Result{RequeueAfter: left}, nil
		}
	}
	r.passing.Done(key)
	if err := r.sent.PatchStatus(ctx, r.client, obj, after); err != nil {
		return conflictAgain(err)
	}
	r.metrics.StatusWritten(r.kind.Name)
	r.announce(ctx, before, fields, after, found)
	r.announceRollout(after, before.Revisions, fields.Revisions)
	return ctrl.Result{}, nil
}

// announce counts a change of a Plugin's state, and sends an event of it, or when an object has become stuck. The first
// state is no change.
func (r *UsedReconciler[T]) announce(ctx context.Context, before, after StatusFields, obj T, found assessment) {
	summary, note, changed := found.summary, found.summary.Message, false
	if before.State != nil && *before.State != *after.State {
		r.metrics.StateChanged(r.kind.Name, string(*after.State))
		if changed = *before.State != "" && *after.State != ""; changed {
			note = fmt.Sprintf("%s to %s in bot %s: %s", *before.State, *after.State, found.usage.StateOf, cmp.Or(found.usage.StateMessage, note))
		}
	}
	old := meta.FindStatusCondition(*before.Conditions, v1alpha1.ConditionReady)
	if old != nil && old.Reason == summary.Reason && old.Message == summary.Message && !changed {
		return
	}
	log.FromContext(ctx).V(1).Info("Changed status", "kind", r.kind.Name, "ready", string(summary.Ready), "reason", summary.Reason)
	switch {
	case summary.Progress == Stuck:
		r.recorder.Warning(obj, summary.Reason, "Reconcile", note)
	case changed:
		r.recorder.Normal(obj, summary.Reason, "Reconcile", note)
	}
}
