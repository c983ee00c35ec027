// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ConfirmRule says when an operation needs a person's confirmation.
//
// +kubebuilder:validation:Enum=Session;Always;Off
type ConfirmRule string

// The values of ConfirmRule.
const (
	// ConfirmSession asks, and may be answered for the whole session.
	ConfirmSession ConfirmRule = "Session"
	// ConfirmAlways asks every time.
	ConfirmAlways ConfirmRule = "Always"
	// ConfirmOff never asks.
	ConfirmOff ConfirmRule = "Off"
)

// AuthorityPolicySpec says who may do what in the bots that it selects.
type AuthorityPolicySpec struct {
	// selector of the bots of this namespace, by their labels. An empty selector selects all of them.
	//
	// +required
	Selector *metav1.LabelSelector `json:"selector,omitempty"`

	// owners stand outside the levels: they may do all that is not denied.
	//
	// +optional
	// +listType=map
	// +listMapKey=platform
	// +listMapKey=userId
	// +kubebuilder:validation:MaxItems=64
	Owners []Identity `json:"owners,omitempty"`

	// levels of people; who is not listed has level 0. A negative level is a ban.
	//
	// +optional
	// +listType=map
	// +listMapKey=platform
	// +listMapKey=userId
	// +kubebuilder:validation:MaxItems=512
	Levels []IdentityLevel `json:"levels,omitempty"`

	// deniedCapabilities are switched off for everybody, owners too. '*' matches any run of characters, for
	// example tool:exec*.
	//
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=256
	DeniedCapabilities []string `json:"deniedCapabilities,omitempty"`

	// authorityOverrides replace the level that an operation needs.
	//
	// +optional
	// +listType=map
	// +listMapKey=capability
	// +kubebuilder:validation:MaxItems=256
	AuthorityOverrides []AuthorityOverride `json:"authorityOverrides,omitempty"`

	// confirmOverrides replace whether an operation needs confirmation.
	//
	// +optional
	// +listType=map
	// +listMapKey=capability
	// +kubebuilder:validation:MaxItems=256
	ConfirmOverrides []ConfirmOverride `json:"confirmOverrides,omitempty"`
}

// Identity is a person on a platform.
type Identity struct {
	// platform of the person, for example onebot or openai.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Platform string `json:"platform,omitempty"`

	// userId of the person on that platform.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	UserID string `json:"userId,omitempty"`
}

// IdentityLevel gives a person a level.
type IdentityLevel struct {
	// platform of the person.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Platform string `json:"platform,omitempty"`

	// userId of the person on that platform.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	UserID string `json:"userId,omitempty"`

	// level of the person; negative is a ban.
	//
	// +required
	// +kubebuilder:validation:Minimum=-1000000
	// +kubebuilder:validation:Maximum=1000000
	Level *int32 `json:"level,omitempty"`
}

// AuthorityOverride replaces the level that an operation needs.
type AuthorityOverride struct {
	// capability in the form kind:name, for example command:clear.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Capability string `json:"capability,omitempty"`

	// minLevel that a person needs.
	//
	// +required
	// +kubebuilder:validation:Minimum=-1000000
	// +kubebuilder:validation:Maximum=1000000
	MinLevel *int32 `json:"minLevel,omitempty"`
}

// ConfirmOverride replaces whether an operation needs confirmation.
type ConfirmOverride struct {
	// capability in the form kind:name, for example tool:file_delete.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Capability string `json:"capability,omitempty"`

	// confirm says when to ask.
	//
	// +required
	Confirm ConfirmRule `json:"confirm,omitempty"`
}

// AuthorityPolicy says who may do what in the bots that it selects.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=authpol,categories=aalis
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Selected",type=integer,JSONPath=`.status.usage.selected`
// +kubebuilder:printcolumn:name="Applied",type=integer,JSONPath=`.status.usage.applied`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type AuthorityPolicy struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard object metadata.
	//
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty,omitzero"`

	// spec says who may do what.
	//
	// +required
	Spec AuthorityPolicySpec `json:"spec,omitempty,omitzero"`

	// status says how far the policy has reached the bots that it selects.
	//
	// +optional
	Status ObjectStatus `json:"status,omitempty,omitzero"`
}

// AuthorityPolicyList is a list of AuthorityPolicies.
//
// +kubebuilder:object:root=true
type AuthorityPolicyList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty,omitzero"`

	Items []AuthorityPolicy `json:"items"`
}
