// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package agentinstance

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
)

func slice(port int32, addresses ...string) *discoveryv1.EndpointSlice {
	s := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: "kubernetes", Labels: map[string]string{discoveryv1.LabelServiceName: "kubernetes"},
		},
		Ports: []discoveryv1.EndpointPort{{Port: &port}},
	}
	for _, a := range addresses {
		s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{Addresses: []string{a}})
	}
	return s
}

func TestAddresses(t *testing.T) {
	got := addresses(slice(6443, "192.0.2.1", "2001:db8::1", "not an address"))
	want := []netip.AddrPort{netip.MustParseAddrPort("192.0.2.1:6443"), netip.MustParseAddrPort("[2001:db8::1]:6443")}
	if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b netip.AddrPort) bool { return a == b })); diff != "" {
		t.Errorf("addresses (-want +got):\n%s", diff)
	}
	other := slice(6443, "192.0.2.1")
	other.Namespace = "team-a"
	if isAPIServerSlice(other) || !isAPIServerSlice(slice(1)) {
		t.Error("only the Service kubernetes in default is the API server")
	}
}

func TestAPIServersMoved(t *testing.T) {
	moved := apiServersMoved()
	same := event.UpdateEvent{ObjectOld: slice(6443, "192.0.2.1"), ObjectNew: slice(6443, "192.0.2.1")}
	other := event.UpdateEvent{ObjectOld: slice(6443, "192.0.2.1"), ObjectNew: slice(6443, "192.0.2.2")}
	if moved.Update(same) || !moved.Update(other) {
		t.Error("only a change of the addresses concerns the policies")
	}
}

func TestInstanceOfPod(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "aalis-hello-0"}}
	if got := instanceOfPod(t.Context(), pod); got != nil {
		t.Errorf("a pod without our label maps to %v", got)
	}
	pod.Labels = map[string]string{v1alpha1.LabelInstance: "hello"}
	if got := instanceOfPod(t.Context(), pod); len(got) != 1 || got[0].String() != "a/hello" {
		t.Errorf("the pod maps to %v", got)
	}
}

func TestChangedLater(t *testing.T) {
	p := changedLater()
	before := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "1"}}
	after := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "2"}}
	if p.Create(event.CreateEvent{Object: before}) || !p.Delete(event.DeleteEvent{Object: before}) {
		t.Error("a child's creation is our own doing, its deletion is not")
	}
	if p.Update(event.UpdateEvent{ObjectOld: before, ObjectNew: before}) || !p.Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after}) {
		t.Error("a resync is no change, another version is")
	}
}
