// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
)

// The labels of every child object, beside v1alpha1.LabelInstance.
const (
	LabelName         = "app.kubernetes.io/name"
	LabelInstanceName = "app.kubernetes.io/instance"
	LabelManagedBy    = "app.kubernetes.io/managed-by"

	// ManagedBy is the value of LabelManagedBy. The operator's cache holds only objects that have it.
	ManagedBy = "aalis-operator"

	appName = "aalis"
)

// ChildName is the name of all children of an instance but the AgentReplica.
func ChildName(instance string) string { return "aalis-" + instance }

// PodName is the name of the instance's pod, and of its AgentReplica.
func PodName(instance string) string { return ChildName(instance) + "-0" }

// Labels of the children of an instance, and of its pod.
func Labels(instance string) map[string]string {
	return map[string]string{
		LabelName:              appName,
		LabelInstanceName:      instance,
		LabelManagedBy:         ManagedBy,
		v1alpha1.LabelInstance: instance,
	}
}

// selectorLabels select the pod of an instance. They can never change, because a StatefulSet's selector cannot.
func selectorLabels(instance string) map[string]string {
	return map[string]string{v1alpha1.LabelInstance: instance}
}

// objectMeta is the metadata of a child. The owner reference does not block the owner's deletion: that would need a
// right on the owner's finalizers, and the instance's own finalizer already keeps it until its pod is gone.
func objectMeta(in *v1alpha1.AgentInstance, name string) metav1.ObjectMeta {
	controller := true
	return metav1.ObjectMeta{
		Name:      name,
		Namespace: in.Namespace,
		Labels:    Labels(in.Name),
		OwnerReferences: []metav1.OwnerReference{{
			APIVersion: v1alpha1.GroupVersion.String(),
			Kind:       v1alpha1.KindAgentInstance,
			Name:       in.Name,
			UID:        in.UID,
			Controller: &controller,
		}},
	}
}
