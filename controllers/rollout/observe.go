// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
)

// blamed are the reasons for which a bot is stuck that a new revision can be the cause of.
var blamed = []string{
	v1alpha1.ReasonRevisionRejected, v1alpha1.ReasonPluginError, v1alpha1.ReasonInvalidConfig, v1alpha1.ReasonInvalidSpec,
	v1alpha1.ReasonUnknownModule, v1alpha1.ReasonConfigTooLarge, v1alpha1.ReasonModelNotFound,
}

// Observe reads from the statuses of the bots that use an object how they stand with its revision target. Bots that are
// being deleted, and those that have pinned another revision, are left out.
func Observe(users []v1alpha1.AgentInstance, kind, name string, target int64, status *v1alpha1.RolloutStatus) []Bot {
	var start metav1.Time
	if status != nil && value(status.Revision) == target {
		start = status.StartTime
	}
	var out []Bot
	for i := range users {
		in := &users[i]
		if !in.DeletionTimestamp.IsZero() || Pinned(in, kind, name, target) {
			continue
		}
		b := Bot{Name: in.Name, Labels: in.Labels, Revision: InEffect(in, kind, name)}
		stalled := meta.FindStatusCondition(in.Status.Conditions, v1alpha1.ConditionStalled)
		if stalled != nil && stalled.Status == metav1.ConditionTrue {
			b.Excused = !since(stalled, start)
			if !b.Excused && slices.Contains(blamed, stalled.Reason) {
				b.Failure = stalled.Reason + ": " + stalled.Message
			}
		}
		b.Acknowledged = acknowledged(in, start)
		out = append(out, b)
	}
	return out
}

// since tells whether a condition began at or after a time; with no time nothing did.
func since(c *metav1.Condition, start metav1.Time) bool {
	return !start.IsZero() && !c.LastTransitionTime.Before(&start)
}

// acknowledged tells whether the kernel runs what is wanted, or there is none, and the bot is as well as it was before.
func acknowledged(in *v1alpha1.AgentInstance, start metav1.Time) bool {
	ready := meta.FindStatusCondition(in.Status.Conditions, v1alpha1.ConditionReady)
	if ready == nil {
		return false
	}
	suspended := ready.Reason == v1alpha1.ReasonSuspended && ready.Status == metav1.ConditionTrue
	runs := in.Status.Revision != "" && in.Status.AppliedRevision == in.Status.Revision
	return suspended || runs && (ready.Status == metav1.ConditionTrue || !since(ready, start))
}

// InEffect is the revision of an object that a bot's status names; 0 if it names none.
func InEffect(in *v1alpha1.AgentInstance, kind, name string) int64 {
	for i := range in.Status.Inputs {
		if input := &in.Status.Inputs[i]; input.Kind == kind && input.Name == name {
			return value(input.Revision)
		}
	}
	return 0
}

// Pin finds the pin of a bot on an object; nil if there is none.
func Pin(in *v1alpha1.AgentInstance, kind, name string) *v1alpha1.PinnedRevision {
	for i := range in.Spec.Pin {
		if p := &in.Spec.Pin[i]; string(p.Kind) == kind && p.Name == name {
			return p
		}
	}
	return nil
}

// Pinned tells whether a bot runs a pinned revision of an object whose newest revision is given.
func Pinned(in *v1alpha1.AgentInstance, kind, name string, newest int64) bool {
	p := Pin(in, kind, name)
	return p != nil && PinHolds(*p, newest)
}
