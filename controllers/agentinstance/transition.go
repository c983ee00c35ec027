// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package agentinstance

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
)

// countTransition counts a written change of state, and a run of the kernel's state machine that the status names anew.
func (r *Reconciler) countTransition(before, after *v1alpha1.AgentInstance) {
	if before.Status.State != after.Status.State {
		r.Metrics.StateChanged(v1alpha1.KindAgentInstance, string(after.Status.State))
	}
	if last := after.Status.LastRecompute; last != nil && !equality.Semantic.DeepEqual(before.Status.LastRecompute, last) {
		r.Metrics.Recomputed(last.Reason)
	}
}

// transition adds to a message from which state to which the bot went, and the run of the kernel's state machine that is
// told with it for the first time: its reason, the service that came or went and the number of rounds.
func transition(before, after *v1alpha1.AgentInstance, message string) string {
	was, is := before.Status.State, after.Status.State
	if was != "" && was != is {
		message = fmt.Sprintf("%s to %s: %s", was, is, message)
	}
	last := after.Status.LastRecompute
	if last == nil || equality.Semantic.DeepEqual(before.Status.LastRecompute, last) {
		return message
	}
	cause := last.Reason
	if last.Service != "" {
		cause += " of " + last.Service
	}
	rounds := int32(0)
	if last.Rounds != nil {
		rounds = *last.Rounds
	}
	return fmt.Sprintf("%s (%s, rounds: %d)", message, cause, rounds)
}
