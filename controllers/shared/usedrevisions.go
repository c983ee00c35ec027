// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package shared

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
	"github.com/aalis-dev/aalis-operator/controllers/revisions"
	"github.com/aalis-dev/aalis-operator/controllers/rollout"
)

// RevisionFields point into the status of a kind that keeps revisions.
type RevisionFields struct {
	Current, Updated **int64
	Rollout          **v1alpha1.RolloutStatus
	// Spec of the roll-out; nil without one.
	Spec *v1alpha1.RolloutSpec
}

// revised is what a pass finds out about the revisions of an object.
type revised struct {
	rollout.Decision
	// updated is the revision of the present spec; 0 for kinds without revisions.
	updated int64
	// failed is why the present spec could not be recorded, if that will not pass by itself.
	failed error
}

// recordRetry is how often a spec that could not be recorded is tried again: nothing tells us when a quota is raised.
const recordRetry = time.Minute

// Decisive is the part of a roll-out's status that decides which bots get a revision: it is written at once, and bots are
// looked at again when it changes. Counts and messages are not in it.
func Decisive(s *v1alpha1.RolloutStatus) *v1alpha1.RolloutStatus {
	if s == nil {
		return nil
	}
	out := s.DeepCopy()
	out.Updated, out.Total, out.Message = nil, nil, ""
	return out
}

// revise records the present spec as a revision, lets those that are no longer needed go, and plans the roll-out.
func (r *UsedReconciler[T]) revise(ctx context.Context, obj T, users []v1alpha1.AgentInstance, wrong *Summary) (revised, error) {
	fields := r.kind.Status(obj).Revisions
	if fields == nil || !obj.GetDeletionTimestamp().IsZero() {
		return revised{}, nil
	}
	list, err := revisions.List(ctx, r.client, obj.GetNamespace(), r.kind.Name, obj.GetName(), obj.GetUID())
	if err != nil {
		return revised{}, err
	}
	list, updated, err := revisions.Record(ctx, r.client, obj, r.kind.Name, list)
	switch {
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return revised{}, nil
	case apierrors.IsForbidden(err) || apierrors.IsInvalid(err):
		return revised{Decision: rollout.Decision{RequeueAfter: recordRetry}, failed: err}, nil
	case err != nil:
		return revised{}, err
	}
	state := rollout.State{
		Spec: fields.Spec, Status: *fields.Rollout, Generation: obj.GetGeneration(), Target: updated,
		Current: baseline(*fields.Rollout, *fields.Current, list, updated),
	}
	state.Same = revisions.Hash(list, state.Current) == revisions.Hash(list, updated)
	if wrong != nil {
		state.Invalid = wrong.Reason + ": " + wrong.Message
	}
	bots := rollout.Observe(users, r.kind.Name, obj.GetName(), updated, *fields.Rollout)
	out := revised{Decision: rollout.Next(state, bots, r.now()), updated: updated}
	if s := out.Status; s != nil {
		s.Message = Truncate(s.Message, maxMessage)
	}
	return out, r.prune(ctx, obj, list, updated, state.Current, out.Current)
}

// baseline is the revision to fall back to. Without a roll-out every bot gets each revision at once, so that when one begins
// it is the revision before; the status may be behind by then.
func baseline(status *v1alpha1.RolloutStatus, current *int64, list []revisions.Revision, updated int64) int64 {
	if status != nil && current != nil {
		return *current
	}
	before := int64(0)
	for _, n := range revisions.Numbers(list) {
		if n < updated {
			before = n
		}
	}
	return before
}

// prune deletes the revisions that nobody needs. Only when there is something to delete are the bots of the namespace asked.
func (r *UsedReconciler[T]) prune(ctx context.Context, obj T, list []revisions.Revision, keep ...int64) error {
	inUse := map[int64]bool{}
	for _, n := range keep {
		inUse[n] = true
	}
	if len(revisions.Surplus(list, inUse, revisions.Limit)) == 0 {
		return nil
	}
	var all v1alpha1.AgentInstanceList
	if err := r.cache.List(ctx, &all, client.InNamespace(obj.GetNamespace()), client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("listing AgentInstances: %w", err)
	}
	for i := range all.Items {
		in := &all.Items[i]
		inUse[rollout.InEffect(in, r.kind.Name, obj.GetName())] = true
		if pin := rollout.Pin(in, r.kind.Name, obj.GetName()); pin != nil {
			inUse[pin.Revision] = true
		}
	}
	return revisions.Prune(ctx, r.client, obj.GetNamespace(), list, inUse)
}

// summary says how the object stands by its roll-out; false if that has nothing to say.
func (d revised) summary() (Summary, bool) {
	if d.failed != nil {
		return Summary{Ready: metav1.ConditionFalse, Progress: Stuck, Reason: v1alpha1.ReasonApplyFailed, Message: d.failed.Error()}, true
	}
	if d.Status == nil {
		return Summary{}, false
	}
	s := Summary{
		Ready: metav1.ConditionFalse, Progress: Working, Reason: v1alpha1.ReasonRollingOut,
		Message: fmt.Sprintf("revision %d: %s", d.updated, d.Status.Message),
	}
	switch d.Status.Phase {
	case v1alpha1.RolloutCompleted:
		return Summary{}, false
	case v1alpha1.RolloutPaused:
		s.Reason = v1alpha1.ReasonRolloutPaused
	case v1alpha1.RolloutRolledBack:
		s.Progress, s.Reason = Stuck, v1alpha1.ReasonRolledBack
		s.Message = fmt.Sprintf("revision %d was taken back, revision %d is in effect: %s", d.updated, d.Current, d.Status.Message)
	}
	return s, true
}

// fill writes what was found out into the status of an object.
func (d revised) fill(fields *RevisionFields, conditions *[]metav1.Condition, generation int64) {
	if fields == nil || d.updated == 0 {
		return
	}
	*fields.Updated, *fields.Current = &d.updated, &d.Current
	if d.Current == 0 {
		*fields.Current = nil
	}
	*fields.Rollout = d.Status
	if d.Status == nil || d.Status.Phase != v1alpha1.RolloutRolledBack {
		RemoveCondition(conditions, v1alpha1.ConditionRolledBack)
		return
	}
	SetCondition(conditions, generation, metav1.Condition{
		Type: v1alpha1.ConditionRolledBack, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonNewErrors,
		Message: fmt.Sprintf("revision %d: %s", d.updated, d.Status.Message),
	})
}

// decided tells whether a status holds a decision that bots wait for.
func decided(before, after *RevisionFields) bool {
	if before == nil || after == nil || *after.Rollout == nil {
		return false
	}
	return !equality.Semantic.DeepEqual(Decisive(*before.Rollout), Decisive(*after.Rollout)) ||
		!equality.Semantic.DeepEqual(*before.Current, *after.Current)
}

// announceRollout sends an event when a roll-out has taken a step. That it was taken back is told as the reason of Ready.
func (r *UsedReconciler[T]) announceRollout(obj T, before, after *RevisionFields) {
	if before == nil || after == nil || *after.Rollout == nil {
		return
	}
	was, is := *before.Rollout, *after.Rollout
	same := was != nil && was.Phase == is.Phase && equality.Semantic.DeepEqual(was.Step, is.Step) &&
		equality.Semantic.DeepEqual(was.Revision, is.Revision)
	if same {
		return
	}
	switch is.Phase {
	case v1alpha1.RolloutCompleted:
		if was != nil {
			r.recorder.Normal(obj, v1alpha1.ReasonRolloutCompleted, "RollOut", fmt.Sprintf("every bot gets revision %d", *is.Revision))
		}
	case v1alpha1.RolloutPaused:
		r.recorder.Normal(obj, v1alpha1.ReasonRolloutPaused, "RollOut", fmt.Sprintf("revision %d: %s", *is.Revision, is.Message))
	case v1alpha1.RolloutProgressing, v1alpha1.RolloutWaiting:
		r.recorder.Normal(obj, v1alpha1.ReasonRollingOut, "RollOut", fmt.Sprintf("revision %d: %s", *is.Revision, is.Message))
	}
}

// sooner is the shorter of two waits, of which 0 is none.
func sooner(a, b time.Duration) time.Duration {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}
