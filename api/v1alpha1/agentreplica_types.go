// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// AgentReplicaStatus is what the kernel in one pod says of itself. Only that kernel writes it; the operator
// believes it only while podUID is that of the living pod.
type AgentReplicaStatus struct {
	// podUID is the UID of the pod that wrote this.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=64
	PodUID string `json:"podUID,omitempty"`

	// startTime of the kernel's process.
	//
	// +optional
	StartTime metav1.Time `json:"startTime,omitempty,omitzero"`

	// version of the runtime.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=128
	Version string `json:"version,omitempty"`

	// catalogHash of the modules that the image ships.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=64
	CatalogHash string `json:"catalogHash,omitempty"`

	// appliedRevision is the revision that the kernel runs.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=64
	AppliedRevision string `json:"appliedRevision,omitempty"`

	// appliedSequence is the sequence number of the delivery that the kernel runs.
	//
	// +optional
	// +kubebuilder:validation:Minimum=0
	AppliedSequence *int64 `json:"appliedSequence,omitempty"`

	// appliedTime says when the kernel finished applying it, in RFC 3339 with microseconds.
	//
	// +optional
	AppliedTime metav1.MicroTime `json:"appliedTime,omitempty,omitzero"`

	// rejected is the newest revision that the kernel refused, if it is newer than the one it runs.
	//
	// +optional
	Rejected *RejectedRevision `json:"rejected,omitempty"`

	// model that answers when a session has chosen none.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Model string `json:"model,omitempty"`

	// modelMessage says why no model answers, when none does.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=512
	ModelMessage string `json:"modelMessage,omitempty"`

	// plugins of the kernel.
	//
	// +optional
	// +listType=map
	// +listMapKey=id
	// +kubebuilder:validation:MaxItems=128
	Plugins []PluginStatus `json:"plugins,omitempty"`

	// budgets of the bot, roughly: usedPercent moves in steps of ten.
	//
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	Budgets []BudgetStatus `json:"budgets,omitempty"`

	// lastRecompute is the last run of the state machine that changed something.
	//
	// +optional
	LastRecompute *RecomputeStatus `json:"lastRecompute,omitempty"`
}

// RejectedRevision is a revision that a kernel refused.
type RejectedRevision struct {
	// revision that was refused.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	Revision string `json:"revision,omitempty"`

	// sequence number of its delivery.
	//
	// +optional
	// +kubebuilder:validation:Minimum=0
	Sequence *int64 `json:"sequence,omitempty"`

	// message says why.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`
}

// AgentReplica is the report of the kernel in one pod of a bot. The operator creates and deletes it; it has no
// spec.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=areplica,categories=aalis
// +kubebuilder:printcolumn:name="Applied",type=string,JSONPath=`.status.appliedRevision`
// +kubebuilder:printcolumn:name="Sequence",type=integer,JSONPath=`.status.appliedSequence`
// +kubebuilder:printcolumn:name="Rejected",type=string,JSONPath=`.status.rejected.revision`
// +kubebuilder:printcolumn:name="Model",type=string,JSONPath=`.status.model`
// +kubebuilder:printcolumn:name="Version",type=string,JSONPath=`.status.version`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type AgentReplica struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard object metadata.
	//
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty,omitzero"`

	// status is the kernel's report.
	//
	// +optional
	Status AgentReplicaStatus `json:"status,omitempty,omitzero"`
}

// AgentReplicaList is a list of AgentReplicas.
//
// +kubebuilder:object:root=true
type AgentReplicaList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty,omitzero"`

	Items []AgentReplica `json:"items"`
}
