// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TenantPolicySpec says what the bots of a namespace may have and what they get.
//
// +kubebuilder:validation:MinProperties=1
type TenantPolicySpec struct {
	// allowedModules are the modules that Plugins and bots of the namespace may name, in short or in full; '*' matches any
	// run of characters. What every bot has by default needs no entry. Without the list every module is allowed.
	//
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=128
	AllowedModules []string `json:"allowedModules,omitempty"`

	// allowedImages are the images that bots may name in spec.image; '*' matches any run of characters. The operator's own
	// list must allow the image too. Without the list the operator's list decides.
	//
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=512
	AllowedImages []string `json:"allowedImages,omitempty"`

	// allowedSecretNames are the Secrets of the namespace that bots may mount; '*' matches any run of characters. Without the
	// list a bot may mount every Secret of its namespace that a Plugin names.
	//
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	AllowedSecretNames []string `json:"allowedSecretNames,omitempty"`

	// customEgress says whether bots may name egress rules of their own in spec.network.
	//
	// +optional
	// +default="Allow"
	CustomEgress AddressRule `json:"customEgress,omitempty"`

	// unsafe says whether bots may use spec.unsafe.
	//
	// +optional
	// +default="Allow"
	Unsafe AddressRule `json:"unsafe,omitempty"`

	// defaults are for bots that do not say themselves.
	//
	// +optional
	Defaults *TenantDefaults `json:"defaults,omitempty"`
}

// TenantDefaults are for bots that do not say themselves.
type TenantDefaults struct {
	// resources of the kernel's container.
	//
	// +optional
	Resources *corev1.ResourceRequirements `json:"resources,omitempty"`

	// network adjusts the NetworkPolicy of the pods.
	//
	// +optional
	Network *NetworkSpec `json:"network,omitempty"`
}

// TenantPolicy says what the bots of its namespace may have and what they get. It is for whoever runs the cluster: people
// who may edit bots may not edit it.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=tenpol,categories=aalis
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Selected",type=integer,JSONPath=`.status.usage.selected`
// +kubebuilder:printcolumn:name="Applied",type=integer,JSONPath=`.status.usage.applied`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type TenantPolicy struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard object metadata.
	//
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty,omitzero"`

	// spec says what the bots of the namespace may have and what they get.
	//
	// +required
	Spec TenantPolicySpec `json:"spec,omitempty,omitzero"`

	// status says how far the policy has reached the bots of the namespace.
	//
	// +optional
	// +default={"observedGeneration":-1}
	Status ObjectStatus `json:"status,omitempty,omitzero"`
}

// TenantPolicyList is a list of TenantPolicies.
//
// +kubebuilder:object:root=true
type TenantPolicyList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty,omitzero"`

	Items []TenantPolicy `json:"items"`
}
