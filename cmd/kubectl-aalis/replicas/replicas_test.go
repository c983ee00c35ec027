// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package replicas_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
	"github.com/aalis-dev/aalis-operator/cmd/kubectl-aalis/cluster"
	"github.com/aalis-dev/aalis-operator/cmd/kubectl-aalis/replicas"
)

var now = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func pod(name string, status corev1.PodStatus) corev1.Pod {
	return corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: name, UID: types.UID("uid-" + name), CreationTimestamp: metav1.NewTime(now.Add(-time.Hour)),
	}, Status: status}
}

func report(name, uid, revision string) v1alpha1.AgentReplica {
	sequence := int64(3)
	return v1alpha1.AgentReplica{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: v1alpha1.AgentReplicaStatus{
		PodUID: uid, AppliedRevision: revision, AppliedSequence: &sequence, AppliedTime: metav1.NewMicroTime(now.Add(-5 * time.Minute)),
	}}
}

var ready = corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}}

func TestOf(t *testing.T) {
	live := cluster.Live{
		Instance: &v1alpha1.AgentInstance{Status: v1alpha1.AgentInstanceStatus{Revision: "new"}}, Holder: "b-1",
		Pods:     []corev1.Pod{pod("b-0", ready), pod("b-1", ready), pod("b-2", corev1.PodStatus{Phase: corev1.PodPending})},
		Replicas: []v1alpha1.AgentReplica{report("b-0", "uid-b-0", "old"), report("b-1", "uid-b-1", "new"), report("b-2", "uid-before", "new")},
	}
	list := replicas.Of(live)
	var got []string
	for _, row := range replicas.Rows(list, now) {
		got = append(got, strings.Join(row, " "))
	}
	want := []string{
		"b-0 standby old no 5m ago Ready 0 60m ", "b-1 active new yes 5m ago Ready 0 60m ", "b-2 standby  no  Pending 0 60m ",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if list[1].Sequence != 3 {
		t.Errorf("got %+v", list[1])
	}
}

func TestPodState(t *testing.T) {
	waiting := func(reason, message string, last *corev1.ContainerStateTerminated) corev1.PodStatus {
		return corev1.PodStatus{Phase: corev1.PodPending, ContainerStatuses: []corev1.ContainerStatus{{
			State:                corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}},
			LastTerminationState: corev1.ContainerState{Terminated: last},
		}}}
	}
	gone := pod("gone", ready)
	gone.DeletionTimestamp = &metav1.Time{Time: now}
	tests := map[string]struct {
		pod            corev1.Pod
		state, message string
	}{
		"ready":       {pod("p", ready), "Ready", ""},
		"terminating": {gone, "Terminating", ""},
		"creating":    {pod("p", waiting("ContainerCreating", "", nil)), "Pending", ""},
		"image":       {pod("p", waiting("ImagePullBackOff", "no such image", nil)), "ImagePullBackOff", "no such image"},
		"crash": {pod("p", waiting("CrashLoopBackOff", "back-off", &corev1.ContainerStateTerminated{ExitCode: 2, Message: "bad flag"})),
			"CrashLoopBackOff", "exit code 2: bad flag"},
		"unschedulable": {pod("p", corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "0/1 nodes"}}}),
			"Unschedulable", "0/1 nodes"},
		"not ready": {pod("p", corev1.PodStatus{Phase: corev1.PodRunning}), "NotReady", ""},
		"no status": {pod("p", corev1.PodStatus{}), "Pending", ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if state, message := replicas.PodState(tc.pod); state != tc.state || message != tc.message {
				t.Errorf("got %q, %q; want %q, %q", state, message, tc.state, tc.message)
			}
		})
	}
}
