// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
)

func TestSlim(t *testing.T) {
	p := &v1alpha1.Persona{ObjectMeta: metav1.ObjectMeta{
		ManagedFields: []metav1.ManagedFieldsEntry{{}},
		Annotations:   map[string]string{lastApplied: "all of it again", "keep": "me"},
	}}
	if _, err := slim(p); err != nil {
		t.Fatal(err)
	}
	if p.ManagedFields != nil || len(p.Annotations) != 1 || p.Annotations["keep"] != "me" {
		t.Errorf("cached metadata %+v", p.ObjectMeta)
	}
	if got, err := slim("a marker"); err != nil || got != "a marker" {
		t.Errorf("slim of what is no object: %v, %v", got, err)
	}
}

func TestIdentityOnly(t *testing.T) {
	now := metav1.Now()
	pod := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Name: "aalis-hello-0", Namespace: "a", UID: "u", ResourceVersion: "7", DeletionTimestamp: &now,
		Labels:          map[string]string{v1alpha1.LabelInstance: "hello", "other": "x"},
		Annotations:     map[string]string{"a": "b"},
		OwnerReferences: []metav1.OwnerReference{{Name: "set"}},
	}}
	if _, err := identityOnly(pod); err != nil {
		t.Fatal(err)
	}
	if pod.Name != "aalis-hello-0" || pod.Namespace != "a" || pod.UID != "u" || pod.ResourceVersion != "7" || pod.DeletionTimestamp == nil {
		t.Errorf("the pod lost its identity: %+v", pod.ObjectMeta)
	}
	if len(pod.Labels) != 1 || pod.Annotations != nil || pod.OwnerReferences != nil {
		t.Errorf("the pod kept what nobody reads: %+v", pod.ObjectMeta)
	}
}
