// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// PersonaSpec is a persona card: who the bot is.
type PersonaSpec struct {
	// displayName is the name the bot goes by. Without it the object's name is used.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	DisplayName string `json:"displayName,omitempty"`

	// description of the character in a sentence or two.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	Description string `json:"description,omitempty"`

	// traits of the character.
	//
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=256
	Traits []string `json:"traits,omitempty"`

	// prompt is the text that defines the character to the model.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=65536
	// +kubebuilder:validation:XValidation:rule="self.trim().size() > 0",message="must not be blank: write who the bot is"
	Prompt string `json:"prompt,omitempty"`
}

// ObjectStatus is the status of a kind that bots use: how far it has reached them.
type ObjectStatus struct {
	// conditions of the object: Ready, Reconciling, Stalled.
	//
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// observedGeneration is the generation of the spec that this status is about.
	//
	// +optional
	// +kubebuilder:validation:Minimum=0
	ObservedGeneration *int64 `json:"observedGeneration,omitempty"`

	// usage counts the bots that use this object.
	//
	// +optional
	Usage *UsageStatus `json:"usage,omitempty"`
}

// Persona is a character that bots of the same namespace can speak as. A change reaches every bot that refers
// to it in place, with no restart.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:categories=aalis
// +kubebuilder:printcolumn:name="Display name",type=string,JSONPath=`.spec.displayName`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Selected",type=integer,JSONPath=`.status.usage.selected`
// +kubebuilder:printcolumn:name="Applied",type=integer,JSONPath=`.status.usage.applied`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type Persona struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard object metadata.
	//
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty,omitzero"`

	// spec is the persona card.
	//
	// +required
	Spec PersonaSpec `json:"spec,omitempty,omitzero"`

	// status says how far the persona has reached the bots that use it.
	//
	// +optional
	Status ObjectStatus `json:"status,omitempty,omitzero"`
}

// PersonaList is a list of Personas.
//
// +kubebuilder:object:root=true
type PersonaList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty,omitzero"`

	Items []Persona `json:"items"`
}
