// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ConfirmRule says when an operation needs a person's confirmation.
//
// +kubebuilder:validation:Enum=Session;Always;Never
type ConfirmRule string

// The values of ConfirmRule.
const (
	// ConfirmSession asks, and may be answered for the whole session.
	ConfirmSession ConfirmRule = "Session"
	// ConfirmAlways asks every time.
	ConfirmAlways ConfirmRule = "Always"
	// ConfirmNever never asks.
	ConfirmNever ConfirmRule = "Never"
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

	// preApproved names what needs no confirmation of those who may run it. It gives nobody a right. If several policies
	// of a bot have one, an operation is approved in advance only if all of them allow it.
	//
	// +optional
	PreApproved *PreApproval `json:"preApproved,omitempty"`

	// autoConfirm switches the confirmation of owners off for a time, except where every use must be confirmed. Of several
	// policies of a bot the one that ends first holds.
	//
	// +optional
	AutoConfirm *AutoConfirm `json:"autoConfirm,omitempty"`

	// network limits the addresses that a model or a chat user may have the bot reach. It says nothing of the endpoints
	// that plugins are configured with.
	//
	// +optional
	Network *NetworkRules `json:"network,omitempty"`

	// lock names what may not be changed in chat: Levels (/level) and AutoConfirm (/auto).
	//
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=8
	Lock []AuthorityLock `json:"lock,omitempty"`
}

// PreApproval names what needs no confirmation.
type PreApproval struct {
	// allow are capabilities. '*' matches any run of characters, for example command:clear*.
	//
	// +required
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=256
	Allow []string `json:"allow,omitempty"`

	// durationSeconds after which it no longer holds, counted from when a running bot takes it. A bot that starts
	// with it does not know that moment, so there it does not hold. Without it there is no end.
	//
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=31536000
	DurationSeconds *int32 `json:"durationSeconds,omitempty"`
}

// AutoConfirmMode says whether owners are asked for confirmation.
//
// +kubebuilder:validation:Enum=Never;Until;Forever
type AutoConfirmMode string

// The values of AutoConfirmMode.
const (
	// AutoConfirmNever asks them.
	AutoConfirmNever AutoConfirmMode = "Never"
	// AutoConfirmUntil does not ask them up to a time.
	AutoConfirmUntil AutoConfirmMode = "Until"
	// AutoConfirmForever does not ask them.
	AutoConfirmForever AutoConfirmMode = "Forever"
)

// AutoConfirm says whether owners are asked for confirmation.
//
// +kubebuilder:validation:XValidation:rule="(self.mode == 'Until') == has(self.until)",message="until must be given with the mode Until, and only with it"
type AutoConfirm struct {
	// mode says whether they are asked.
	//
	// +required
	Mode AutoConfirmMode `json:"mode,omitempty"`

	// until is the time up to which they are not asked; only with the mode Until.
	//
	// +optional
	Until *metav1.Time `json:"until,omitempty"`
}

// AddressRule says whether some addresses may be reached.
//
// +kubebuilder:validation:Enum=Deny;Allow
type AddressRule string

// The values of AddressRule.
const (
	// DenyAddresses is the default.
	DenyAddresses AddressRule = "Deny"
	// AllowAddresses lifts the refusal.
	AllowAddresses AddressRule = "Allow"
)

// NetworkRules limit the addresses that a model or a chat user may have the bot reach.
type NetworkRules struct {
	// privateAddresses says whether private, loopback and link-local addresses may be reached. Of several policies of a
	// bot one that says Deny holds; without any the answer is Deny.
	//
	// +optional
	PrivateAddresses AddressRule `json:"privateAddresses,omitempty"`

	// denyCIDRs are networks that are never reached, for example 10.96.0.0/12. Those of several policies add up.
	//
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=64
	// +kubebuilder:validation:items:XValidation:rule="isCIDR(self)",message="must be a network such as 10.96.0.0/12 or fd00::/8"
	DenyCIDRs []string `json:"denyCIDRs,omitempty"`

	// allowedPorts are the only ports that are reached; without it every port is. Of several policies that have one, a port
	// must be in all of them.
	//
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:Minimum=1
	// +kubebuilder:validation:items:Maximum=65535
	AllowedPorts []int32 `json:"allowedPorts,omitempty"`
}

// AuthorityLock names what may not be changed in chat.
//
// +kubebuilder:validation:Enum=Levels;AutoConfirm
type AuthorityLock string

// The values of AuthorityLock.
const (
	// LockLevels keeps the levels as they are declared.
	LockLevels AuthorityLock = "Levels"
	// LockAutoConfirm keeps autoConfirm as it is declared.
	LockAutoConfirm AuthorityLock = "AutoConfirm"
)

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
	// +default={"observedGeneration":-1}
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
