// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package shared

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
	"github.com/aalis-dev/aalis-operator/controllers/rollout"
)

// maxNames is how many bots a message names.
const maxNames = 5

// Usage is how far an object has reached the bots that use it.
type Usage struct {
	// Selected bots use the object. Applied ones run it as it now stands; Rejected ones cannot, and go on with what they
	// ran before; Waiting ones are on their way. The latter three are names, sorted.
	Selected                   int32
	Applied, Rejected, Waiting []string
	// Pinned is the number of bots that run another revision on purpose.
	Pinned int32
	// Holding bots have a running pod and still have the object, of whatever generation, in what they run.
	Holding []string
	// State is the worst state of the plugin over the bots, for a Plugin; StateOf names the bot and StateMessage says why.
	State        v1alpha1.State
	StateOf      string
	StateMessage string
}

// CountUsage counts how far an object has reached its users. PluginID is the id of a Plugin in the kernels, empty for
// other kinds. Bots that are being deleted do not count.
func CountUsage(users []v1alpha1.AgentInstance, kind, name string, generation int64, pluginID string) Usage {
	return CountRevision(users, kind, name, generation, 0, pluginID)
}

// CountRevision is CountUsage for a kind that keeps revisions: a bot has applied the object only with this revision of
// it. A bot that has pinned another one counts apart.
func CountRevision(users []v1alpha1.AgentInstance, kind, name string, generation, revision int64, pluginID string) Usage {
	var u Usage
	for i := range users {
		in := &users[i]
		if !in.DeletionTimestamp.IsZero() {
			continue
		}
		u.Selected++
		composed := inputGeneration(in, kind, name)
		running := in.Status.AppliedRevision != "" && !suspended(in)
		if composed != nil && running {
			u.Holding = append(u.Holding, in.Name)
		}
		inEffect := revision == 0 || rollout.InEffect(in, kind, name) == revision
		switch {
		case revision != 0 && rollout.Pinned(in, kind, name, revision):
			u.Pinned++
		case composed != nil && *composed == generation && inEffect && taken(in):
			u.Applied = append(u.Applied, in.Name)
		case meta.IsStatusConditionTrue(in.Status.Conditions, v1alpha1.ConditionStalled) && current(in):
			u.Rejected = append(u.Rejected, in.Name)
		default:
			u.Waiting = append(u.Waiting, in.Name)
		}
		u.worsen(in, pluginID)
	}
	for _, names := range [][]string{u.Applied, u.Rejected, u.Waiting, u.Holding} {
		slices.Sort(names)
	}
	return u
}

// taken tells whether a bot's kernel has acknowledged what is wanted, or the bot has no kernel and will start with it.
func taken(in *v1alpha1.AgentInstance) bool {
	return in.Status.Revision != "" && in.Status.AppliedRevision == in.Status.Revision || suspended(in)
}

// current tells whether a bot's status is about its present spec.
func current(in *v1alpha1.AgentInstance) bool {
	return in.Status.ObservedGeneration != nil && *in.Status.ObservedGeneration == in.Generation
}

func suspended(in *v1alpha1.AgentInstance) bool {
	ready := meta.FindStatusCondition(in.Status.Conditions, v1alpha1.ConditionReady)
	return ready != nil && ready.Reason == v1alpha1.ReasonSuspended && ready.Status == metav1.ConditionTrue
}

func inputGeneration(in *v1alpha1.AgentInstance, kind, name string) *int64 {
	for i := range in.Status.Inputs {
		if input := &in.Status.Inputs[i]; input.Kind == kind && input.Name == name && input.Generation != nil {
			return input.Generation
		}
	}
	return nil
}

// badness orders the states of plugins, the worst last.
var badness = []v1alpha1.State{
	v1alpha1.StateActive, v1alpha1.StateDisabled, v1alpha1.StateActivating, v1alpha1.StatePending, v1alpha1.StateDisposed,
	v1alpha1.StateError,
}

func (u *Usage) worsen(in *v1alpha1.AgentInstance, pluginID string) {
	if pluginID == "" {
		return
	}
	for _, p := range in.Status.Plugins {
		if p.ID != pluginID {
			continue
		}
		worse := slices.Index(badness, p.State) - slices.Index(badness, u.State)
		if worse > 0 || worse == 0 && cmp.Less(in.Name, u.StateOf) {
			u.State, u.StateOf, u.StateMessage = p.State, in.Name, p.Message
		}
	}
}

// Status gives the counts as the API has them.
func (u Usage) Status() *v1alpha1.UsageStatus {
	applied, rejected := int32(len(u.Applied)), int32(len(u.Rejected))
	status := &v1alpha1.UsageStatus{Selected: &u.Selected, Applied: &applied, Rejected: &rejected}
	if u.Pinned > 0 {
		status.Pinned = &u.Pinned
	}
	return status
}

// Summary says how the object stands, by its users alone.
func (u Usage) Summary() Summary {
	switch {
	case u.Selected == 0:
		return Summary{Ready: metav1.ConditionTrue, Reason: v1alpha1.ReasonUnused, Message: "no bot uses it"}
	case len(u.Rejected) > 0:
		return Summary{
			Ready: metav1.ConditionFalse, Progress: Stuck, Reason: v1alpha1.ReasonRevisionRejected,
			Message: fmt.Sprintf("%d of %d bots cannot take it and go on with what they ran before: %s; see their conditions", len(u.Rejected), u.Selected, names(u.Rejected)),
		}
	case len(u.Waiting) > 0:
		return Summary{
			Ready: metav1.ConditionFalse, Progress: Working, Reason: v1alpha1.ReasonWaitingForKernel,
			Message: fmt.Sprintf("%d of %d bots have not acknowledged it yet: %s", len(u.Waiting), u.Selected, names(u.Waiting)),
		}
	case u.State == v1alpha1.StateError:
		return Summary{Ready: metav1.ConditionFalse, Progress: Stuck, Reason: v1alpha1.ReasonPluginError, Message: u.stateText()}
	case u.State == v1alpha1.StatePending || u.State == v1alpha1.StateActivating:
		return Summary{Ready: metav1.ConditionFalse, Progress: Working, Reason: v1alpha1.ReasonPluginPending, Message: u.stateText()}
	}
	if u.Pinned > 0 {
		return Summary{
			Ready: metav1.ConditionTrue, Reason: v1alpha1.ReasonApplied,
			Message: fmt.Sprintf("every bot that uses it runs it as it now stands, but for %d that pinned another revision", u.Pinned),
		}
	}
	return Summary{Ready: metav1.ConditionTrue, Reason: v1alpha1.ReasonApplied, Message: "every bot that uses it runs it as it now stands"}
}

func (u Usage) stateText() string {
	text := fmt.Sprintf("%s in bot %s", u.State, u.StateOf)
	if u.StateMessage != "" {
		text += ": " + u.StateMessage
	}
	return text
}

// names lists the first few names.
func names(all []string) string {
	if len(all) <= maxNames {
		return strings.Join(all, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(all[:maxNames], ", "), len(all)-maxNames)
}
