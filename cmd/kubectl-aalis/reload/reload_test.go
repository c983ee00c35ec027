// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package reload_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
	"github.com/aalis-dev/aalis-operator/cmd/kubectl-aalis/cluster"
	"github.com/aalis-dev/aalis-operator/cmd/kubectl-aalis/reload"
)

func meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: "team-a", Name: name, UID: "u", Labels: map[string]string{v1alpha1.LabelInstance: "hello"}}
}

func replica(state v1alpha1.State, message string) *v1alpha1.AgentReplica {
	return &v1alpha1.AgentReplica{ObjectMeta: meta("aalis-hello-0"), Status: v1alpha1.AgentReplicaStatus{
		PodUID: "u", Plugins: []v1alpha1.PluginStatus{{ID: "llm:main", State: state, Message: message}},
	}}
}

func newClient(t *testing.T, objects ...client.Object) client.Client {
	t.Helper()
	scheme, err := cluster.NewScheme()
	if err != nil {
		t.Fatal(err)
	}
	bot := &v1alpha1.AgentInstance{ObjectMeta: meta("hello")}
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(append(objects, bot)...).Build()
}

func TestTouch(t *testing.T) {
	c := newClient(t, &corev1.Pod{ObjectMeta: meta("aalis-hello-0")})
	live, err := cluster.ReadLive(t.Context(), c, "team-a", "hello")
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 1, 1, 12, 0, 0, 5, time.UTC)
	names, err := reload.Touch(t.Context(), c, live, now)
	if err != nil || fmt.Sprint(names) != "[aalis-hello-0]" {
		t.Fatalf("got %v, %v", names, err)
	}
	var pod corev1.Pod
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: "team-a", Name: "aalis-hello-0"}, &pod); err != nil {
		t.Fatal(err)
	}
	if got := pod.Annotations["aalis.dev/reload"]; got != "2026-01-01T12:00:00.000000005Z" {
		t.Errorf("got %q", got)
	}
	if err := c.Delete(t.Context(), &pod); err != nil {
		t.Fatal(err)
	}
	if names, err := reload.Touch(t.Context(), c, live, now); err != nil || len(names) != 0 {
		t.Errorf("a pod that is gone: got %v, %v", names, err)
	}
	live.Pods = nil
	if _, err := reload.Touch(t.Context(), c, live, now); err == nil || !strings.Contains(err.Error(), "it has no pod") {
		t.Errorf("got %v", err)
	}
}

func TestWait(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: meta("aalis-hello-0")}
	tests := map[string]struct {
		objects []client.Object
		want    string
	}{
		"seen":         {[]client.Object{pod, replica(v1alpha1.StateActive, "")}, ""},
		"waits":        {[]client.Object{pod, replica(v1alpha1.StatePending, "waiting for secret:llm/api-key")}, "llm:main: waiting for secret:llm/api-key"},
		"other things": {[]client.Object{pod, replica(v1alpha1.StatePending, "waiting for memory")}, ""},
		"no report":    {[]client.Object{pod}, "aalis-hello-0: has not reported yet"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			err := reload.Wait(t.Context(), newClient(t, tc.objects...), "team-a", "hello", 50*time.Millisecond, 10*time.Millisecond)
			if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}
