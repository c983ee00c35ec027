// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package agentinstance

import (
	"errors"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
	"github.com/aalis-dev/aalis-operator/controllers/compose"
	"github.com/aalis-dev/aalis-operator/controllers/render"
	"github.com/aalis-dev/aalis-operator/controllers/shared"
)

// maxSummary bounds the text that sums up several problems, in characters.
const maxSummary = 900

// verdict is what a pass amounts to.
type verdict struct {
	shared.Summary
	state v1alpha1.State
}

func working(state v1alpha1.State, reason, message string) verdict {
	return verdict{shared.Summary{Ready: metav1.ConditionFalse, Progress: shared.Working, Reason: reason, Message: message}, state}
}

func stuck(state v1alpha1.State, reason, message string) verdict {
	return verdict{shared.Summary{Ready: metav1.ConditionFalse, Progress: shared.Stuck, Reason: reason, Message: message}, state}
}

func ready(state v1alpha1.State, reason, message string) verdict {
	return verdict{shared.Summary{Ready: metav1.ConditionTrue, Progress: shared.Settled, Reason: reason, Message: message}, state}
}

// checks are asked in this order; the first that has something to say decides. See the truth table of the package's
// test.
var checks = []func(*pass) (verdict, bool){
	checkComposed,
	checkApplied,
	checkSuspended,
	checkPod,
	checkRejected,
	checkAcknowledged,
	checkWarnings,
	checkPlugins,
	checkModel,
}

// evaluate says how the bot stands.
func (p *pass) evaluate() verdict {
	for _, check := range checks {
		if v, decided := check(p); decided {
			return v
		}
	}
	return ready(v1alpha1.StateActive, v1alpha1.ReasonActive, "the bot runs what is declared")
}

// checkComposed: what is declared does not make a config. What ran before goes on running.
func checkComposed(p *pass) (verdict, bool) {
	if p.composed.Deployable() {
		return verdict{}, false
	}
	problems := withSeverity(p.composed.Problems, compose.SeverityError)
	state := v1alpha1.StateError
	switch {
	case p.runs():
		state = v1alpha1.StateActive
	case problems[0].Reason == v1alpha1.ReasonPersonaNotFound:
		state = v1alpha1.StatePending
	}
	return stuck(state, problems[0].Reason, compose.Summary(problems, maxSummary)), true
}

// checkApplied: a child object could not be applied.
func checkApplied(p *pass) (verdict, bool) {
	if p.stuck == nil {
		return verdict{}, false
	}
	state := v1alpha1.StateError
	if p.runs() {
		state = v1alpha1.StateActive
	}
	reason := v1alpha1.ReasonApplyFailed
	var image *render.ImageNotAllowedError
	if errors.As(p.stuck, &image) {
		reason = v1alpha1.ReasonInvalidSpec
	}
	return stuck(state, reason, strings.ReplaceAll(p.stuck.Error(), "\n", "; ")), true
}

// checkSuspended: no pod is wanted.
func checkSuspended(p *pass) (verdict, bool) {
	if !p.suspended() {
		return verdict{}, false
	}
	if p.world.podUID != "" {
		return working(v1alpha1.StateDisabled, v1alpha1.ReasonSuspended, "waiting for the pod to finish its running turns"), true
	}
	return ready(v1alpha1.StateDisabled, v1alpha1.ReasonSuspended, "spec.state is Suspended: the bot has no pod"), true
}

// checkPod: the pod is not there, not ready or being replaced.
func checkPod(p *pass) (verdict, bool) {
	switch {
	case p.world.ready && p.world.podUID != "" && !p.world.rolling:
		return verdict{}, false
	case p.world.rolling && p.instance.Status.AppliedRevision != "":
		return working(v1alpha1.StateActivating, v1alpha1.ReasonPodNotReady, "waiting for the pod to be replaced"), true
	case p.instance.Status.AppliedRevision != "":
		return working(v1alpha1.StateActivating, v1alpha1.ReasonPodNotReady, "waiting for the pod to be ready"), true
	}
	message := "waiting for the pod to start"
	if failed, pending, _ := p.sortPlugins(); len(failed)+len(pending) > 0 {
		message += "; as planned, " + describe(append(failed, pending...))
	}
	return working(v1alpha1.StateActivating, v1alpha1.ReasonStarting, message), true
}

// checkRejected: the kernel refused what is wanted. It may say so long after it took the revision, when it starts anew.
func checkRejected(p *pass) (verdict, bool) {
	r := p.world.replica
	if r == nil || r.Status.Rejected == nil || p.wanted.Current == nil {
		return verdict{}, false
	}
	rejected, current := r.Status.Rejected, p.wanted.Current
	if rejected.Revision != current.Revision || r.Status.AppliedRevision == current.Revision {
		return verdict{}, false
	}
	message := fmt.Sprintf("the kernel refused revision %s: %s", rejected.Revision, rejected.Message)
	if r.Status.AppliedRevision == "" {
		return stuck(v1alpha1.StateError, v1alpha1.ReasonRevisionRejected, message), true
	}
	return stuck(v1alpha1.StateActive, v1alpha1.ReasonRevisionRejected, message), true
}

// checkAcknowledged: the kernel has not said yet that it runs what is wanted.
func checkAcknowledged(p *pass) (verdict, bool) {
	current := p.wanted.Current
	if r := p.world.replica; r != nil && current != nil && r.Status.AppliedRevision == current.Revision {
		return verdict{}, false
	}
	state := v1alpha1.StateActive
	if p.world.replica == nil || p.world.replica.Status.AppliedRevision == "" {
		state = v1alpha1.StateActivating
	}
	return working(state, v1alpha1.ReasonWaitingForKernel, "waiting for the kernel to acknowledge the revision"), true
}

// checkWarnings: the bot runs without something that is declared.
func checkWarnings(p *pass) (verdict, bool) {
	if !p.composed.Degraded() {
		return verdict{}, false
	}
	warnings := withSeverity(p.composed.Problems, compose.SeverityWarning)
	return stuck(v1alpha1.StateActive, warnings[0].Reason, compose.Summary(warnings, maxSummary)), true
}

// checkPlugins: a required plugin does not run.
func checkPlugins(p *pass) (verdict, bool) {
	failed, pending, _ := p.sortPlugins()
	if len(failed) > 0 {
		return stuck(v1alpha1.StateError, v1alpha1.ReasonPluginError, describe(failed)), true
	}
	if len(pending) > 0 {
		return working(v1alpha1.StatePending, v1alpha1.ReasonPluginPending, describe(pending)), true
	}
	return verdict{}, false
}

// checkModel: no model answers. The bot stays up and tells its users.
func checkModel(p *pass) (verdict, bool) {
	r := p.world.replica
	if r == nil || r.Status.ModelMessage == "" {
		return verdict{}, false
	}
	return stuck(v1alpha1.StateActive, v1alpha1.ReasonModelNotFound, r.Status.ModelMessage), true
}

// runs tells whether a kernel runs some revision in a ready pod.
func (p *pass) runs() bool {
	return p.world.ready && p.world.replica != nil && p.world.replica.Status.AppliedRevision != ""
}

func withSeverity(problems []compose.Problem, severity compose.Severity) []compose.Problem {
	var out []compose.Problem
	for _, problem := range problems {
		if problem.Severity == severity {
			out = append(out, problem)
		}
	}
	return out
}

// describe lists plugins with what is wrong with each.
func describe(plugins []v1alpha1.PluginStatus) string {
	parts := make([]string, 0, len(plugins))
	for _, plugin := range plugins {
		text := plugin.ID + " is " + string(plugin.State)
		if plugin.Message != "" {
			text += ": " + plugin.Message
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, "; ")
}
