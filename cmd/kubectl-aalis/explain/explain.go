// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package explain says in one screen how a bot stands, why it is not Ready, and what to do next. It is pure, and works on
// what package cluster reads.
package explain

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
	"github.com/aalis-dev/aalis-operator/cmd/kubectl-aalis/cluster"
	"github.com/aalis-dev/aalis-operator/cmd/kubectl-aalis/replicas"
)

// The bounds of one screen.
const (
	maxEvents  = 5
	maxPlugins = 12
)

// Report is how a bot stands.
type Report struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Ready is True, False or Unknown; Reason and Message are those of the condition, Since when it holds.
	Ready   metav1.ConditionStatus `json:"ready"`
	Reason  string                 `json:"reason,omitempty"`
	Message string                 `json:"message,omitempty"`
	Since   *time.Time             `json:"since,omitempty"`
	State   v1alpha1.State         `json:"state,omitempty"`
	// Deleting since when; nil if it is not.
	Deleting *time.Time `json:"deleting,omitempty"`
	// Revision is wanted, AppliedRevision is what a kernel runs.
	Revision        string                  `json:"revision,omitempty"`
	AppliedRevision string                  `json:"appliedRevision,omitempty"`
	PendingChange   *v1alpha1.PendingChange `json:"pendingChange,omitempty"`
	Conditions      []metav1.Condition      `json:"conditions,omitempty"`
	// ActivePlugins counts those that run; Plugins are all others.
	ActivePlugins int                     `json:"activePlugins"`
	Plugins       []v1alpha1.PluginStatus `json:"plugins,omitempty"`
	Model         string                  `json:"model,omitempty"`
	// ModelMessage says why no model answers.
	ModelMessage  string                    `json:"modelMessage,omitempty"`
	LastRecompute *v1alpha1.RecomputeStatus `json:"lastRecompute,omitempty"`
	Replicas      []replicas.Replica        `json:"replicas,omitempty"`
	// Events are the newest ones of the bot and its pods.
	Events []Event `json:"events,omitempty"`
	// Notes tell what could not be read.
	Notes []string `json:"notes,omitempty"`
	// Next is what to do.
	Next string `json:"next"`
}

// Event is something that happened.
type Event struct {
	Time    time.Time `json:"time"`
	Type    string    `json:"type"`
	Reason  string    `json:"reason"`
	Object  string    `json:"object"`
	Message string    `json:"message"`
	Count   int32     `json:"count,omitempty"`
}

// Explain makes the report. Events must be sorted, the newest first.
func Explain(live cluster.Live, events []corev1.Event) Report {
	in := live.Instance
	r := Report{
		Namespace: in.Namespace, Name: in.Name, Ready: metav1.ConditionUnknown, State: in.Status.State,
		Revision: in.Status.Revision, AppliedRevision: in.Status.AppliedRevision, PendingChange: in.Status.PendingChange,
		Conditions: in.Status.Conditions, Model: in.Status.Model, LastRecompute: in.Status.LastRecompute,
		Replicas: replicas.Of(live), Notes: live.Notes,
	}
	if in.DeletionTimestamp != nil {
		r.Deleting = &in.DeletionTimestamp.Time
	}
	if c := meta.FindStatusCondition(in.Status.Conditions, v1alpha1.ConditionReady); c != nil {
		r.Ready, r.Reason, r.Message = c.Status, c.Reason, c.Message
		r.Since = &c.LastTransitionTime.Time
	}
	for _, p := range in.Status.Plugins {
		if p.State == v1alpha1.StateActive {
			r.ActivePlugins++
			continue
		}
		r.Plugins = append(r.Plugins, p)
	}
	slices.SortStableFunc(r.Plugins, func(a, b v1alpha1.PluginStatus) int {
		return cmp.Or(cmp.Compare(weight(a.State), weight(b.State)), cmp.Compare(a.ID, b.ID))
	})
	for _, pod := range live.Pods {
		if report := live.Replica(pod); report != nil {
			r.ModelMessage = cmp.Or(r.ModelMessage, report.Status.ModelMessage)
		}
	}
	for _, e := range events[:min(len(events), maxEvents)] {
		r.Events = append(r.Events, Event{
			Time: cluster.EventTime(e), Type: e.Type, Reason: e.Reason, Message: e.Message, Count: count(e),
			Object: e.InvolvedObject.Kind + "/" + e.InvolvedObject.Name,
		})
	}
	r.Next = next(live, r)
	return r
}

func count(e corev1.Event) int32 {
	if e.Series != nil {
		return e.Series.Count
	}
	return e.Count
}

// weight puts what needs attention first.
func weight(s v1alpha1.State) int {
	order := []v1alpha1.State{v1alpha1.StateError, v1alpha1.StatePending, v1alpha1.StateActivating, v1alpha1.StateDisposed, v1alpha1.StateDisabled}
	if i := slices.Index(order, s); i >= 0 {
		return i
	}
	return len(order)
}

// deletionPatience is how long the deletion of a bot may take before it is worth a look.
const deletionPatience = 2 * time.Minute

// next says what to do.
func next(live cluster.Live, r Report) string {
	name := fmt.Sprintf("%s -n %s", r.Name, r.Namespace)
	switch {
	case r.Deleting != nil:
		return fmt.Sprintf("It is being deleted and waits for its pod to finish running turns, for at most %s. To end the wait: "+
			"kubectl annotate agentinstance %s %s=true", deletionPatience, name, v1alpha1.AnnotationSkipWait)
	case r.Reason == "":
		return "The operator has not looked at this bot. See whether it runs and watches this namespace: " +
			"kubectl get deployments -A -l app.kubernetes.io/name=aalis-operator"
	case live.Instance.Status.ObservedGeneration != nil && *live.Instance.Status.ObservedGeneration < live.Instance.Generation:
		return "The operator has not looked at the latest edit yet. Wait a moment; if this stays, see its log: " +
			"kubectl logs -n aalis-system deploy/aalis-operator"
	}
	if step := podStep(r, name); step != "" {
		return step
	}
	if step, ok := steps[r.Reason]; ok {
		return fmt.Sprintf(step, name)
	}
	if r.Ready == metav1.ConditionTrue {
		return readyStep(r)
	}
	return "The message above says what is wrong."
}

func readyStep(r Report) string {
	for _, p := range r.Plugins {
		if p.State != v1alpha1.StateDisabled {
			return "It runs what is declared. Nothing needs the plugins that wait; give them what they wait for to use them."
		}
	}
	return "Nothing to do: it runs what is declared."
}

// podSteps say what to do about the state of a pod. Each has a place for the pod's name and namespace.
var podSteps = map[string]string{
	"ImagePullBackOff":           "The image cannot be pulled. See spec.image and the pull secrets: kubectl describe pod %s",
	"ErrImagePull":               "The image cannot be pulled. See spec.image and the pull secrets: kubectl describe pod %s",
	"InvalidImageName":           "spec.image is not an image name. See: kubectl describe pod %s",
	"CrashLoopBackOff":           "The kernel ends by itself again and again. Its last words: kubectl logs --previous %s",
	"OOMKilled":                  "The kernel needed more memory than its limit. Raise spec.resources. Its last words: kubectl logs --previous %s",
	"CreateContainerConfigError": "The kubelet cannot make the container. See: kubectl describe pod %s",
	"Unschedulable":              "No node takes the pod. See resources and node selectors: kubectl describe pod %s",
}

func podStep(r Report, bot string) string {
	if r.Ready == metav1.ConditionTrue {
		return ""
	}
	for _, p := range r.Replicas {
		if step, ok := podSteps[p.State]; ok {
			return fmt.Sprintf(step, p.Pod+" -n "+r.Namespace)
		}
	}
	if len(r.Replicas) == 0 && len(r.Notes) == 0 && (r.Reason == v1alpha1.ReasonStarting || r.Reason == v1alpha1.ReasonPodNotReady) {
		return "There is no pod. A quota or an admission policy may refuse it; the StatefulSet says so: " +
			"kubectl describe statefulset aalis-" + bot
	}
	return ""
}

// steps say what to do for the reason of the condition Ready. Each has a place for the bot's name and namespace.
var steps = map[string]string{
	v1alpha1.ReasonSuspended:        "To run it: kubectl patch agentinstance %s --type merge -p '{\"spec\":{\"state\":\"Running\"}}'",
	v1alpha1.ReasonInvalidSpec:      "Correct the field that the message names; what ran before goes on until then: kubectl edit agentinstance %s",
	v1alpha1.ReasonInvalidConfig:    "Correct the config field that the message names, or take it back: kubectl aalis rollback %s",
	v1alpha1.ReasonConfigTooLarge:   "Shorten the persona or the config, or take the last change back: kubectl aalis rollback %s",
	v1alpha1.ReasonUnknownModule:    "The image has no such module. Correct the name in the Plugin, or in: kubectl edit agentinstance %s",
	v1alpha1.ReasonPersonaNotFound:  "Create the Persona that the message names, or name another one: kubectl edit agentinstance %s",
	v1alpha1.ReasonPluginNotFound:   "Create the Plugin that the message names, or take it out of spec.plugins: kubectl edit agentinstance %s",
	v1alpha1.ReasonRevisionRejected: "The kernel goes on with what it ran. Correct what it complains of, or take it back: kubectl aalis rollback %s",
	v1alpha1.ReasonPluginPending: "Give the plugin what it waits for. Of a Secret that exists by now the kubelet may take a minute " +
		"to notice; to have it look at once: kubectl aalis reload %s",
	v1alpha1.ReasonPluginError: "The plugin failed to start. The log says more: kubectl aalis logs %s",
	v1alpha1.ReasonModelNotFound: "No plugin offers the model. See spec.model and the plugin's customModels, and the log: " +
		"kubectl aalis logs %s",
	v1alpha1.ReasonStarting:         "Its pod is starting. If this stays for over a minute: kubectl aalis logs %s",
	v1alpha1.ReasonPodNotReady:      "Its pod is not ready. If this stays for over a minute: kubectl aalis logs %s",
	v1alpha1.ReasonWaitingForKernel: "The kernel is taking the change over; running turns may finish first. If this stays: kubectl aalis logs %s",
	v1alpha1.ReasonApplyFailed: "An object of the bot could not be written: it belongs to somebody else, or a quota or policy forbids it. " +
		"See: kubectl describe agentinstance %s",
}
