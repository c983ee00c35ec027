// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package agentinstance

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
	"github.com/aalis-dev/aalis-operator/controllers/compose"
	"github.com/aalis-dev/aalis-operator/controllers/shared"
)

// maxInputs is how many inputs a status may name.
const maxInputs = 256

// report writes the status if it says something new. A state that passes by itself is written only once it has lasted
// over a second, except on an object that has no status yet; while it lasts, only its conditions count, not the details.
// The duration, if not 0, is when to look again.
func (r *Reconciler) report(ctx context.Context, p *pass) (time.Duration, error) {
	key := client.ObjectKeyFromObject(p.instance)
	v := p.evaluate()
	after := p.instance.DeepCopy()
	p.fill(&after.Status, v)
	first := len(p.instance.Status.Conditions) == 0
	if !p.differs(&after.Status, v.Progress) {
		r.passing.Done(key)
		return 0, nil
	}
	if v.Progress == shared.Working && !first {
		if left := r.passing.Hold(key); left > 0 {
			return left, nil
		}
	}
	r.passing.Done(key)
	if err := r.sent.PatchStatus(ctx, r.Client, p.instance, after); err != nil {
		return 0, err
	}
	r.Metrics.StatusWritten(v1alpha1.KindAgentInstance)
	r.announce(ctx, p.instance, after, v)
	return 0, nil
}

// differs tells whether a status is worth writing.
func (p *pass) differs(after *v1alpha1.AgentInstanceStatus, progress shared.Progress) bool {
	before := &p.instance.Status
	if progress != shared.Working {
		return !equality.Semantic.DeepEqual(before, after)
	}
	return !equality.Semantic.DeepEqual(before.Conditions, after.Conditions)
}

// announce sends one event when the state, or the reason of Ready, has changed; the first state of a bot is no change.
func (r *Reconciler) announce(ctx context.Context, before, after *v1alpha1.AgentInstance, v verdict) {
	r.countTransition(before, after)
	old := meta.FindStatusCondition(before.Status.Conditions, v1alpha1.ConditionReady)
	changed := before.Status.State != "" && before.Status.State != after.Status.State
	if old != nil && old.Reason == v.Reason && old.Message == v.Message && !changed {
		return
	}
	log.FromContext(ctx).Info("Changed state", "state", string(v.state), "ready", string(v.Ready), "reason", v.Reason)
	switch {
	case v.Progress == shared.Stuck:
		r.Recorder.Warning(after, v.Reason, "Reconcile", transition(before, after, v.Message))
	case changed, v.Progress == shared.Settled && (old == nil || old.Status != metav1.ConditionTrue || old.Reason != v.Reason):
		r.Recorder.Normal(after, v.Reason, "Reconcile", transition(before, after, v.Message))
	}
}

// fill brings a status up to date with the pass. What only a kernel knows stays as it was while no kernel reports.
func (p *pass) fill(status *v1alpha1.AgentInstanceStatus, v verdict) {
	generation := p.instance.Generation
	status.ObservedGeneration = &generation
	status.State = v.state
	p.fillDelivery(status)
	if r := p.world.replica; r != nil {
		status.AppliedRevision = r.Status.AppliedRevision
		status.Model = r.Status.Model
		status.Plugins = slices.Clone(r.Status.Plugins)
		status.LastRecompute = r.Status.LastRecompute.DeepCopy()
	}
	status.PendingChange = p.pendingChange(status, v)
	shared.SetSummary(&status.Conditions, generation, v.Summary)
	p.fillBudgets(status)
	p.fillPluginsPending(status)
	p.fillCatalogMismatch(status)
	p.fillPins(status)
	p.fillPolicyConflict(status)
}

// fillDelivery records what is wanted. Of a config that could not be composed nothing is recorded: the status goes on
// naming the revision and the inputs that are in effect.
func (p *pass) fillDelivery(status *v1alpha1.AgentInstanceStatus) {
	if p.wanted.Current != nil && p.stuck == nil {
		status.Revision = p.wanted.Current.Revision
		sequence := p.wanted.Current.Sequence
		status.Sequence = &sequence
	}
	if p.composed.Deployable() && p.stuck == nil {
		status.Inputs = inputs(p.composed.References)
	}
}

func inputs(references []compose.Reference) []v1alpha1.InputStatus {
	var out []v1alpha1.InputStatus
	for _, ref := range references[:min(len(references), maxInputs)] {
		generation, revision := ref.Generation, ref.Revision
		input := v1alpha1.InputStatus{Kind: ref.Kind, Name: ref.Name, Generation: &generation}
		if revision != 0 {
			input.Revision = &revision
		}
		out = append(out, input)
	}
	return out
}

// pendingChange says what has been delivered and is not acknowledged.
func (p *pass) pendingChange(status *v1alpha1.AgentInstanceStatus, v verdict) *v1alpha1.PendingChange {
	if p.suspended() || p.wanted.Current == nil {
		return nil
	}
	replacing := p.world.rolling || p.world.podUID == ""
	if status.AppliedRevision == p.wanted.Current.Revision && !replacing {
		return nil
	}
	change := &v1alpha1.PendingChange{
		Revision: p.wanted.Current.Revision, Effect: "Reload", Message: shared.Truncate(v.Message, maxPendingMessage),
	}
	if replacing {
		change.Effect = "Restart"
	}
	return change
}

const maxPendingMessage = 1024

// fillPluginsPending says which optional plugins do not run.
func (p *pass) fillPluginsPending(status *v1alpha1.AgentInstanceStatus) {
	_, _, optional := p.sortPlugins()
	if len(optional) == 0 {
		if p.world.replica != nil || p.suspended() {
			shared.RemoveCondition(&status.Conditions, v1alpha1.ConditionPluginsPending)
		}
		return
	}
	shared.SetCondition(&status.Conditions, p.instance.Generation, metav1.Condition{
		Type: v1alpha1.ConditionPluginsPending, Status: metav1.ConditionTrue,
		Reason: v1alpha1.ReasonPluginPending, Message: describe(optional),
	})
}

// fillCatalogMismatch says that the image ships other modules than the operator knows.
func (p *pass) fillCatalogMismatch(status *v1alpha1.AgentInstanceStatus) {
	r := p.world.replica
	switch {
	case r == nil:
	case r.Status.CatalogHash == "" || r.Status.CatalogHash == p.catalogHash:
		shared.RemoveCondition(&status.Conditions, v1alpha1.ConditionCatalogMismatch)
	default:
		shared.SetCondition(&status.Conditions, p.instance.Generation, metav1.Condition{
			Type: v1alpha1.ConditionCatalogMismatch, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonCatalogHashDiffer,
			Message: fmt.Sprintf("the runtime image ships catalog %s, the operator composes for %s: what one of them does not know is refused", r.Status.CatalogHash, p.catalogHash),
		})
	}
}
