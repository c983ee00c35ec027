// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package explain_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
	"github.com/aalis-dev/aalis-operator/cmd/kubectl-aalis/cluster"
	"github.com/aalis-dev/aalis-operator/cmd/kubectl-aalis/explain"
)

var now = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// bot is a bot with a condition Ready; an empty reason is a bot that the operator has not seen.
func bot(ready metav1.ConditionStatus, reason, message string) *v1alpha1.AgentInstance {
	in := &v1alpha1.AgentInstance{ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "hello"}}
	if reason != "" {
		in.Status = v1alpha1.AgentInstanceStatus{State: v1alpha1.StatePending, Revision: "r2", AppliedRevision: "r1",
			Conditions: []metav1.Condition{{
				Type: "Ready", Status: ready, Reason: reason, Message: message, LastTransitionTime: metav1.NewTime(now.Add(-3 * time.Minute)),
			}}}
	}
	return in
}

func pod(state corev1.ContainerState) corev1.Pod {
	return corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "aalis-hello-0", UID: "u"}, Status: corev1.PodStatus{
		Phase: corev1.PodPending, ContainerStatuses: []corev1.ContainerStatus{{State: state}},
	}}
}

func TestExplain(t *testing.T) {
	waiting := func(reason string) corev1.ContainerState {
		return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: "because"}}
	}
	pending := bot(metav1.ConditionFalse, "PluginPending", "plugin x waits")
	pending.Status.Plugins = []v1alpha1.PluginStatus{
		{ID: "off", State: v1alpha1.StateDisabled}, {ID: "works", State: v1alpha1.StateActive},
		{ID: "llm:main", State: v1alpha1.StatePending, Message: "waiting for secret:llm/api-key"},
	}
	pending.Status.PendingChange = &v1alpha1.PendingChange{Effect: "Reload", Revision: "r2", Message: "not yet"}
	deleting := bot(metav1.ConditionTrue, "Active", "")
	deleting.DeletionTimestamp = &metav1.Time{Time: now.Add(-time.Minute)}
	edited := bot(metav1.ConditionTrue, "Active", "")
	seen := int64(1)
	edited.Generation, edited.Status.ObservedGeneration = 2, &seen
	optional := bot(metav1.ConditionTrue, "Active", "it runs")
	optional.Status.Plugins = pending.Status.Plugins
	events := []corev1.Event{{
		InvolvedObject: corev1.ObjectReference{Kind: "Pod", Name: "aalis-hello-0"}, Type: "Warning", Reason: "Failed",
		Message: "no such image\x1b[2J", LastTimestamp: metav1.NewTime(now.Add(-10 * time.Second)),
	}}
	tests := map[string]struct {
		live   cluster.Live
		events []corev1.Event
		want   []string
	}{
		"unseen": {cluster.Live{Instance: bot("", "", "")}, nil,
			[]string{"team-a/hello is not looked at yet\n", "Pods: none", "Next: The operator has not looked at this bot"}},
		"ready": {cluster.Live{Instance: bot(metav1.ConditionTrue, "Active", "the bot runs")}, nil,
			[]string{"is Ready since 3m", "Next: Nothing to do"}},
		"pending plugin": {cluster.Live{Instance: pending, Pods: []corev1.Pod{pod(corev1.ContainerState{})}}, nil,
			[]string{"is not Ready since 3m, state Pending", "Why: PluginPending: plugin x waits", "Revision: r2 wanted, r1 runs",
				"Pending change: Reload to r2: not yet", "Plugins: 1 active, 2 not", "llm:main   Pending    waiting for secret:llm/api-key",
				"Next: Give the plugin what it waits for", "kubectl aalis reload hello -n team-a"}},
		"image": {cluster.Live{Instance: bot(metav1.ConditionFalse, "Starting", ""), Pods: []corev1.Pod{pod(waiting("ImagePullBackOff"))}}, events,
			[]string{"ImagePullBackOff", "because", "10s   Warning   Failed   Pod/aalis-hello-0   no such image^[", "kubectl describe pod aalis-hello-0 -n team-a"}},
		"crash": {cluster.Live{Instance: bot(metav1.ConditionFalse, "Starting", ""), Pods: []corev1.Pod{pod(waiting("CrashLoopBackOff"))}}, nil,
			[]string{"kubectl logs --previous aalis-hello-0 -n team-a"}},
		"no pod":   {cluster.Live{Instance: bot(metav1.ConditionFalse, "Starting", "")}, nil, []string{"kubectl describe statefulset aalis-hello -n team-a"}},
		"deleting": {cluster.Live{Instance: deleting}, nil, []string{"Deleting: since 60s", "aalis.dev/skip-deletion-wait=true"}},
		"edited":   {cluster.Live{Instance: edited}, nil, []string{"has not looked at the latest edit"}},
		"optional": {cluster.Live{Instance: optional}, nil, []string{"Nothing needs the plugins that wait"}},
		"no rights": {cluster.Live{Instance: bot(metav1.ConditionTrue, "Active", ""), Notes: []string{"you may not read pods"}}, nil,
			[]string{"Note: you may not read pods"}},
		"other reason": {cluster.Live{Instance: bot(metav1.ConditionFalse, "Newer", "of a newer operator")}, nil, []string{"The message above"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var b strings.Builder
			if err := explain.Print(&b, explain.Explain(tc.live, tc.events), now); err != nil {
				t.Fatal(err)
			}
			for _, want := range tc.want {
				if !strings.Contains(b.String(), want) {
					t.Errorf("no %q in\n%s", want, b.String())
				}
			}
			if strings.Contains(b.String(), "\x1b") {
				t.Errorf("an escape sequence got through:\n%q", b.String())
			}
		})
	}
}

// TestOneScreen: however much there is to say, it fits on a screen.
func TestOneScreen(t *testing.T) {
	in := bot(metav1.ConditionFalse, "PluginError", strings.Repeat("long ", 100))
	for range 128 {
		in.Status.Plugins = append(in.Status.Plugins, v1alpha1.PluginStatus{ID: "p", State: v1alpha1.StateError, Message: "a\nb"})
	}
	var b strings.Builder
	if err := explain.Print(&b, explain.Explain(cluster.Live{Instance: in}, make([]corev1.Event, 50)), now); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(b.String(), "\n"); n > 40 {
		t.Errorf("%d lines:\n%s", n, b.String())
	}
}

// TestEveryReasonHasAStep: each reason for which a bot is not Ready has a next step of its own.
func TestEveryReasonHasAStep(t *testing.T) {
	for _, reason := range []string{
		v1alpha1.ReasonInvalidSpec, v1alpha1.ReasonPersonaNotFound, v1alpha1.ReasonPluginNotFound, v1alpha1.ReasonUnknownModule,
		v1alpha1.ReasonInvalidConfig, v1alpha1.ReasonConfigTooLarge, v1alpha1.ReasonRevisionRejected, v1alpha1.ReasonPluginPending,
		v1alpha1.ReasonPluginError, v1alpha1.ReasonModelNotFound, v1alpha1.ReasonStarting, v1alpha1.ReasonPodNotReady,
		v1alpha1.ReasonWaitingForKernel, v1alpha1.ReasonApplyFailed, v1alpha1.ReasonSuspended,
	} {
		r := explain.Explain(cluster.Live{Instance: bot(metav1.ConditionFalse, reason, "m")}, nil)
		if strings.Contains(r.Next, "message above") || strings.Contains(r.Next, "%!") || !strings.Contains(r.Next, "hello -n team-a") {
			t.Errorf("%s: %s", reason, r.Next)
		}
	}
}
