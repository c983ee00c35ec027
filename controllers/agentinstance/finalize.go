// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package agentinstance

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
	"github.com/aalis-dev/aalis-operator/controllers/render"
	"github.com/aalis-dev/aalis-operator/controllers/shared"
)

// deletionBound is the longest that a deleted bot is kept for its pod to drain, beyond the declared drain timeout.
const deletionBound = 2 * time.Minute

// finalize takes a deleted bot down: its StatefulSet to zero, then, once the pod has drained and is gone, the finalizer
// away. The Role and the NetworkPolicy outlive the pod that way; the garbage collector removes them with the rest.
func (r *Reconciler) finalize(ctx context.Context, in *v1alpha1.AgentInstance) (ctrl.Result, error) {
	key := client.ObjectKeyFromObject(in)
	if !controllerutil.ContainsFinalizer(in, v1alpha1.FinalizerInstance) {
		r.passing.Done(key)
		return ctrl.Result{}, nil
	}
	_, skip := in.Annotations[v1alpha1.AnnotationSkipWait]
	left := deletionBound + drainTimeout(in) - r.Now().Sub(in.DeletionTimestamp.Time)
	if !skip && left > 0 {
		gone, err := r.takeDown(ctx, in)
		if err != nil {
			return quietly(ctx, err)
		}
		if !gone {
			return r.reportDeleting(ctx, in, left)
		}
	} else {
		log.FromContext(ctx).Info("Stopped waiting for the pod of a deleted AgentInstance", "skipped", skip)
	}
	r.passing.Done(key)
	if err := shared.DropFinalizer(ctx, r.Client, in, v1alpha1.FinalizerInstance); err != nil {
		return quietly(ctx, err)
	}
	return ctrl.Result{}, nil
}

func drainTimeout(in *v1alpha1.AgentInstance) time.Duration {
	if in.Spec.DrainTimeoutSeconds == nil {
		return time.Minute
	}
	return time.Duration(*in.Spec.DrainTimeoutSeconds) * time.Second
}

// takeDown scales the bot to zero and tells whether its pod is gone.
func (r *Reconciler) takeDown(ctx context.Context, in *v1alpha1.AgentInstance) (bool, error) {
	var set appsv1.StatefulSet
	ok, err := r.owned(ctx, in, render.ChildName(in.Name), &set)
	if err != nil {
		return false, err
	}
	if ok && set.DeletionTimestamp.IsZero() && (set.Spec.Replicas == nil || *set.Spec.Replicas != 0) {
		before := set.DeepCopy()
		zero := int32(0)
		set.Spec.Replicas = &zero
		err := r.Client.Patch(ctx, &set, client.MergeFrom(before), client.FieldOwner(v1alpha1.FieldOwner))
		if err != nil && !apierrors.IsNotFound(err) {
			return false, fmt.Errorf("scaling StatefulSet %s to zero: %w", set.Name, err)
		}
	}
	uid, err := r.podUID(ctx, in)
	return uid == "", err
}

// reportDeleting says what a deletion waits for, once it has waited for over a second.
func (r *Reconciler) reportDeleting(ctx context.Context, in *v1alpha1.AgentInstance, left time.Duration) (ctrl.Result, error) {
	key := client.ObjectKeyFromObject(in)
	after := in.DeepCopy()
	after.Status.State = v1alpha1.StateDisposed
	shared.SetSummary(&after.Status.Conditions, in.Generation, shared.Summary{
		Ready: metav1.ConditionFalse, Progress: shared.Working, Reason: v1alpha1.ReasonDeleting,
		Message: fmt.Sprintf("waiting for pod %s to finish its running turns; the annotation %s ends the wait", render.PodName(in.Name), v1alpha1.AnnotationSkipWait),
	})
	p := &pass{instance: in}
	if !p.differs(&after.Status, shared.Working) {
		return ctrl.Result{RequeueAfter: left}, nil
	}
	if hold := r.passing.Hold(key); hold > 0 {
		return ctrl.Result{RequeueAfter: hold}, nil
	}
	r.passing.Done(key)
	if err := r.sent.PatchStatus(ctx, r.Client, in, after); err != nil {
		return quietly(ctx, err)
	}
	r.Metrics.StatusWritten(v1alpha1.KindAgentInstance)
	r.countTransition(in, after)
	return ctrl.Result{RequeueAfter: left}, nil
}
