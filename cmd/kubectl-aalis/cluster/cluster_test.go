// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
	"github.com/aalis-dev/aalis-operator/cmd/kubectl-aalis/cluster"
)

var start = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func meta(name, uid string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: "team-a", Name: name, UID: types.UID(uid), Labels: map[string]string{v1alpha1.LabelInstance: "hello"}}
}

func event(name, kind, object, uid string, minute int) *corev1.Event {
	return &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: name}, Message: name,
		InvolvedObject: corev1.ObjectReference{Kind: kind, Name: object, UID: types.UID(uid)},
		LastTimestamp:  metav1.NewTime(start.Add(time.Duration(minute) * time.Minute)),
	}
}

func newClient(t *testing.T, funcs interceptor.Funcs) client.Client {
	t.Helper()
	scheme, err := cluster.NewScheme()
	if err != nil {
		t.Fatal(err)
	}
	holder := "aalis-hello-1"
	return fake.NewClientBuilder().WithScheme(scheme).WithInterceptorFuncs(funcs).
		WithIndex(&corev1.Event{}, "involvedObject.name", func(o client.Object) []string {
			e, ok := o.(*corev1.Event)
			if !ok {
				return nil
			}
			return []string{e.InvolvedObject.Name}
		}).
		WithObjects(
			&v1alpha1.AgentInstance{ObjectMeta: meta("hello", "bot")},
			&corev1.Pod{ObjectMeta: meta("aalis-hello-1", "p1")}, &corev1.Pod{ObjectMeta: meta("aalis-hello-0", "p0")},
			&v1alpha1.AgentReplica{ObjectMeta: meta("aalis-hello-0", "r0"), Status: v1alpha1.AgentReplicaStatus{PodUID: "p0"}},
			&v1alpha1.AgentReplica{ObjectMeta: meta("aalis-hello-1", "r1"), Status: v1alpha1.AgentReplicaStatus{PodUID: "a pod before"}},
			&appsv1.StatefulSet{ObjectMeta: meta("aalis-hello", "set")},
			&coordinationv1.Lease{ObjectMeta: meta("aalis-hello", "lease"), Spec: coordinationv1.LeaseSpec{HolderIdentity: &holder}},
			event("old", "Pod", "aalis-hello-0", "p0", 1), event("new", "AgentInstance", "hello", "bot", 3),
			event("set", "StatefulSet", "aalis-hello", "set", 2), event("before", "Pod", "aalis-hello-0", "a pod before", 4),
			event("other kind", "Deployment", "hello", "x", 5), event("other bot", "Pod", "aalis-other-0", "y", 6),
		).Build()
}

func TestReadLive(t *testing.T) {
	c := newClient(t, interceptor.Funcs{})
	live, err := cluster.ReadLive(t.Context(), c, "team-a", "hello")
	if err != nil {
		t.Fatal(err)
	}
	if len(live.Pods) != 2 || live.Pods[0].Name != "aalis-hello-0" || live.Holder != "aalis-hello-1" || live.StatefulSet == nil || live.Notes != nil {
		t.Errorf("got %+v", live)
	}
	if live.Replica(live.Pods[0]) == nil || live.Replica(live.Pods[1]) != nil {
		t.Error("a report counts for another pod than that which wrote it")
	}
	events, note, err := cluster.Events(t.Context(), c, live)
	var names []string
	for _, e := range events {
		names = append(names, e.Name)
	}
	if got := strings.Join(names, " "); got != "new set old" || note != "" || err != nil {
		t.Errorf("events %q, %q, %v", got, note, err)
	}
}

// TestRights: what may not be read is left out and said; another error ends it.
func TestRights(t *testing.T) {
	forbidden := apierrors.NewForbidden(schema.GroupResource{}, "x", errors.New("no"))
	deny := func(err error) interceptor.Funcs {
		return interceptor.Funcs{
			Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
				if _, ok := obj.(*coordinationv1.Lease); ok {
					return err
				}
				return c.Get(ctx, key, obj, opts...)
			},
			List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
				switch list.(type) {
				case *corev1.PodList, *corev1.EventList:
					return err
				}
				return c.List(ctx, list, opts...)
			},
		}
	}
	c := newClient(t, deny(forbidden))
	live, err := cluster.ReadLive(t.Context(), c, "team-a", "hello")
	if err != nil || strings.Join(live.Notes, "; ") != "you may not read the Lease of this namespace; you may not read pods of this namespace" || len(live.Replicas) != 2 {
		t.Errorf("got %+v, %v", live, err)
	}
	if _, note, err := cluster.Events(t.Context(), c, live); note == "" || err != nil {
		t.Errorf("got %q, %v", note, err)
	}
	if _, err := cluster.ReadLive(t.Context(), newClient(t, deny(errors.New("cut off"))), "team-a", "hello"); err == nil || !strings.Contains(err.Error(), "reading the Lease of bot hello: cut off") {
		t.Errorf("got %v", err)
	}
}

func TestBot(t *testing.T) {
	c := newClient(t, interceptor.Funcs{})
	for place, want := range map[[2]string]string{
		{"team-a", "nobody"}: `no AgentInstance "nobody" in namespace "team-a"; there is hello`,
		{"team-b", "hello"}:  `no AgentInstance "hello" in namespace "team-b", which has none`,
	} {
		if _, err := cluster.Bot(t.Context(), c, place[0], place[1]); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v", err)
		}
	}
	objects, err := cluster.Gather(t.Context(), c, "team-a")
	if err != nil || len(objects.Instances) != 1 {
		t.Errorf("got %+v, %v", objects, err)
	}
	if config, err := cluster.Delivered(t.Context(), c, &objects.Instances[0]); config != nil || !apierrors.IsNotFound(err) {
		t.Errorf("got %v, %v", config, err)
	}
}

func TestEventTime(t *testing.T) {
	at := func(minute int) time.Time { return start.Add(time.Duration(minute) * time.Minute) }
	for want, e := range map[int]corev1.Event{
		1: {ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(at(1))}},
		2: {EventTime: metav1.NewMicroTime(at(2))},
		3: {LastTimestamp: metav1.NewTime(at(3)), EventTime: metav1.NewMicroTime(at(2))},
		4: {Series: &corev1.EventSeries{LastObservedTime: metav1.NewMicroTime(at(4))}, EventTime: metav1.NewMicroTime(at(2))},
	} {
		if got := cluster.EventTime(e); !got.Equal(at(want)) {
			t.Errorf("got %s, want %s", fmt.Sprint(got), at(want))
		}
	}
}
