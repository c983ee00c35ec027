// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package replicas says, for each pod of a bot, what its kernel runs: the revision, since when, and how the pod is. It is
// pure, and works on what package cluster reads.
package replicas

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
	"github.com/aalis-dev/aalis-operator/cmd/kubectl-aalis/cluster"
	"github.com/aalis-dev/aalis-operator/cmd/kubectl-aalis/output"
)

// The roles of a pod.
const (
	// Active takes turns: the only pod of a bot, or the one that holds its Lease.
	Active = "active"
	// Standby waits to take over.
	Standby = "standby"
)

// Replica is one pod and the report of its kernel.
type Replica struct {
	Pod  string `json:"pod"`
	Role string `json:"role,omitempty"`
	// Revision and Sequence that the kernel runs; empty if it has not reported.
	Revision string `json:"revision,omitempty"`
	Sequence int64  `json:"sequence,omitempty"`
	// AppliedTime is when it finished applying it.
	AppliedTime *time.Time `json:"appliedTime,omitempty"`
	// Current says whether that is the revision that is wanted.
	Current bool `json:"current"`
	// State is Ready, the reason for which a container waits, or the phase of the pod.
	State string `json:"state"`
	// Message says more where something is wrong: what the container waits for, or why a revision was refused.
	Message  string `json:"message,omitempty"`
	Restarts int32  `json:"restarts,omitempty"`
	Node     string `json:"node,omitempty"`
	Version  string `json:"version,omitempty"`
	// StartTime of the pod.
	StartTime *time.Time `json:"startTime,omitempty"`
}

// Of lists the replicas of a bot, sorted by pod. A report without a pod is not one.
func Of(live cluster.Live) []Replica {
	out := make([]Replica, 0, len(live.Pods))
	for _, pod := range live.Pods {
		r := Replica{Pod: pod.Name, Role: role(live, pod), Node: pod.Spec.NodeName}
		r.State, r.Message = PodState(pod)
		for _, s := range pod.Status.ContainerStatuses {
			r.Restarts += s.RestartCount
		}
		if !pod.CreationTimestamp.IsZero() {
			r.StartTime = &pod.CreationTimestamp.Time
		}
		if report := live.Replica(pod); report != nil {
			r.report(report.Status, live.Instance.Status.Revision)
		}
		out = append(out, r)
	}
	return out
}

func (r *Replica) report(s v1alpha1.AgentReplicaStatus, wanted string) {
	r.Revision, r.Version = s.AppliedRevision, s.Version
	r.Current = s.AppliedRevision != "" && s.AppliedRevision == wanted
	if s.AppliedSequence != nil {
		r.Sequence = *s.AppliedSequence
	}
	if !s.AppliedTime.IsZero() {
		r.AppliedTime = &s.AppliedTime.Time
	}
	if s.Rejected != nil {
		r.Message = cmp.Or(r.Message, fmt.Sprintf("refused %s: %s", s.Rejected.Revision, s.Rejected.Message))
	}
}

func role(live cluster.Live, pod corev1.Pod) string {
	switch {
	case live.Holder == pod.Name, live.Holder == "" && len(live.Pods) == 1:
		return Active
	case live.Holder != "":
		return Standby
	}
	return ""
}

// PodState is the state of a pod in a word, and what is wrong if something is.
func PodState(pod corev1.Pod) (state, message string) {
	if pod.DeletionTimestamp != nil {
		return "Terminating", ""
	}
	for _, s := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		switch {
		case s.State.Waiting != nil && ordinary.Has(s.State.Waiting.Reason):
		case s.State.Waiting != nil:
			message = s.State.Waiting.Message
			if t := s.LastTerminationState.Terminated; t != nil {
				message = fmt.Sprintf("exit code %d: %s", t.ExitCode, cmp.Or(t.Message, t.Reason))
			}
			return s.State.Waiting.Reason, message
		case s.State.Terminated != nil && s.State.Terminated.ExitCode != 0:
			t := s.State.Terminated
			return cmp.Or(t.Reason, "Error"), fmt.Sprintf("exit code %d: %s", t.ExitCode, t.Message)
		}
	}
	for _, c := range pod.Status.Conditions {
		switch {
		case c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue:
			return "Ready", ""
		case c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse:
			return cmp.Or(c.Reason, "Unschedulable"), c.Message
		}
	}
	if pod.Status.Phase == corev1.PodRunning {
		return "NotReady", ""
	}
	return cmp.Or(string(pod.Status.Phase), string(corev1.PodPending)), pod.Status.Message
}

// ordinary are the reasons for which every container waits for a moment.
var ordinary = sets.New("ContainerCreating", "PodInitializing")

// Header of the table.
var Header = []string{"POD", "ROLE", "REVISION", "CURRENT", "APPLIED", "STATE", "RESTARTS", "AGE", "MESSAGE"}

// Rows are the replicas as a table.
func Rows(list []Replica, now time.Time) [][]string {
	rows := make([][]string, 0, len(list))
	for _, r := range list {
		current := "no"
		if r.Current {
			current = "yes"
		}
		applied := ""
		if age := output.Age(now, value(r.AppliedTime)); age != "" {
			applied = age + " ago"
		}
		rows = append(rows, []string{
			r.Pod, r.Role, r.Revision, current, applied, r.State, fmt.Sprint(r.Restarts),
			output.Age(now, value(r.StartTime)), r.Message,
		})
	}
	return rows
}

func value(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return *t
}
