// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ServicePreferenceSpec orders the providers of one service for the bots that it selects.
type ServicePreferenceSpec struct {
	// service that is ordered, for example llm.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Service string `json:"service,omitempty"`

	// selector of the bots of this namespace, by their labels. An empty selector selects all of them.
	//
	// +required
	Selector *metav1.LabelSelector `json:"selector,omitempty"`

	// priority decides between several preferences for one service and bot: the highest wins, then the first
	// by name.
	//
	// +optional
	// +default=0
	// +kubebuilder:validation:Minimum=-1000
	// +kubebuilder:validation:Maximum=1000
	Priority *int32 `json:"priority,omitempty"`

	// prefer lists providers, best first: the first that a bot has wins.
	//
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	Prefer []ProviderReference `json:"prefer,omitempty"`

	// fallbackOn names the causes for which a call that failed is made again at the next provider of prefer, as
	// long as nothing of the answer has reached anybody. Without it the next provider is used only while those
	// before it are not there. It has a meaning for the service llm.
	//
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=2
	FallbackOn []FallbackCause `json:"fallbackOn,omitempty"`
}

// FallbackCause says why a call of a provider failed.
//
// +kubebuilder:validation:Enum=Unavailable;RateLimited
type FallbackCause string

// The values of FallbackCause.
const (
	// FallbackUnavailable means that the provider cannot be reached, fails, or gives answers that make no sense.
	FallbackUnavailable FallbackCause = "Unavailable"
	// FallbackRateLimited means that the provider is busy or its account has no quota left.
	FallbackRateLimited FallbackCause = "RateLimited"
)

// ProviderReference names a provider of a service.
type ProviderReference struct {
	// plugin is the name of the plugin in spec.plugins of the bots.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Plugin string `json:"plugin,omitempty"`

	// id of the model, for the service llm, where one plugin provides many.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	ID string `json:"id,omitempty"`
}

// ServicePreference says which provider of a service bots use where several are at hand.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=spref,categories=aalis
// +kubebuilder:printcolumn:name="Service",type=string,JSONPath=`.spec.service`
// +kubebuilder:printcolumn:name="Priority",type=integer,JSONPath=`.spec.priority`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Selected",type=integer,JSONPath=`.status.usage.selected`
// +kubebuilder:printcolumn:name="Applied",type=integer,JSONPath=`.status.usage.applied`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type ServicePreference struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard object metadata.
	//
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty,omitzero"`

	// spec orders the providers.
	//
	// +required
	Spec ServicePreferenceSpec `json:"spec,omitempty,omitzero"`

	// status says how far the preference has reached the bots that it selects.
	//
	// +optional
	// +default={"observedGeneration":-1}
	Status ObjectStatus `json:"status,omitempty,omitzero"`
}

// ServicePreferenceList is a list of ServicePreferences.
//
// +kubebuilder:object:root=true
type ServicePreferenceList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty,omitzero"`

	Items []ServicePreference `json:"items"`
}
