// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
)

// PodSettings say where and how a bot's pod runs. There is no place here for containers, volumes, a service account, a
// security context or anything of the host.
type PodSettings struct {
	// labels that the pod has besides those of the operator.
	//
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.startsWith('aalis.dev/') && !k.contains('.aalis.dev/') && !k.startsWith('app.kubernetes.io/'))",message="may not have keys of aalis.dev and app.kubernetes.io, which are the operator's own"
	Labels map[string]string `json:"labels,omitempty"`

	// annotations that the pod has besides those of the operator.
	//
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.startsWith('aalis.dev/') && !k.contains('.aalis.dev/'))",message="may not have keys of aalis.dev, which are the operator's own"
	Annotations map[string]string `json:"annotations,omitempty"`

	// nodeSelector that a node must match.
	//
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`

	// tolerations of the pod.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`

	// affinity of the pod.
	//
	// +optional
	Affinity *corev1.Affinity `json:"affinity,omitempty"`

	// topologySpreadConstraints of the pod. One without a labelSelector is over the pods of all bots of the namespace.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	TopologySpreadConstraints []corev1.TopologySpreadConstraint `json:"topologySpreadConstraints,omitempty"`

	// priorityClassName of the pod.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	PriorityClassName string `json:"priorityClassName,omitempty"`

	// imagePullSecrets name Secrets of the namespace by which the image is pulled.
	//
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=8
	ImagePullSecrets []LocalReference `json:"imagePullSecrets,omitempty"`
}
