// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// PluginSpec declares a configured module that bots of the namespace can use.
type PluginSpec struct {
	// module shipped in the runtime image, in short (llm-openai) or in full (@aalis/plugin-llm-openai).
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	Module string `json:"module,omitempty"`

	// state says whether the plugin runs in the bots that use it.
	//
	// +optional
	// +default="Enabled"
	State RunState `json:"state,omitempty"`

	// config of the module, as its schema in the catalog says. Secret fields are refused here: use secrets.
	//
	// +optional
	// +kubebuilder:validation:Type=object
	// +kubebuilder:validation:MaxProperties=128
	// +kubebuilder:pruning:PreserveUnknownFields
	Config *runtime.RawExtension `json:"config,omitempty"`

	// secrets are config fields whose values come from Secrets of this namespace. The operator never reads
	// them: pods mount them, and a missing key keeps only this plugin pending.
	//
	// +optional
	// +listType=map
	// +listMapKey=path
	// +kubebuilder:validation:MaxItems=32
	Secrets []PluginSecret `json:"secrets,omitempty"`

	// rollout has a change reach the bots that use the plugin in steps. Without it all get it at once.
	//
	// +optional
	Rollout *RolloutSpec `json:"rollout,omitempty"`
}

// PluginSecret takes one config field from a Secret.
type PluginSecret struct {
	// path of the config field, for example apiKey; dots lead into nested objects.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Za-z_][A-Za-z0-9_]*([.][A-Za-z_][A-Za-z0-9_]*)*$')",message="must be a config path such as apiKey or auth.token"
	Path string `json:"path,omitempty"`

	// secretKeyRef names the Secret and the key in it.
	//
	// +required
	SecretKeyRef SecretKeyReference `json:"secretKeyRef,omitempty,omitzero"`
}

// PluginStatusSummary is what is known of a Plugin object over all the bots that use it.
type PluginStatusSummary struct {
	// conditions of the object: Ready, Reconciling, Stalled.
	//
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// observedGeneration is the generation of the spec that this status is about. It is -1 until the
	// operator has looked at the object, so that no tool takes the object for done.
	//
	// +optional
	// +kubebuilder:validation:Minimum=-1
	ObservedGeneration *int64 `json:"observedGeneration,omitempty"`

	// state is the worst state over the bots that use the plugin.
	//
	// +optional
	State State `json:"state,omitempty"`

	// usage counts the bots that use this object.
	//
	// +optional
	Usage *UsageStatus `json:"usage,omitempty"`

	// currentRevision is the last revision that every bot got: what a roll-out falls back to.
	//
	// +optional
	// +kubebuilder:validation:Minimum=0
	CurrentRevision *int64 `json:"currentRevision,omitempty"`

	// updatedRevision is the revision of the present spec.
	//
	// +optional
	// +kubebuilder:validation:Minimum=0
	UpdatedRevision *int64 `json:"updatedRevision,omitempty"`

	// rollout is how far the present spec has come, with spec.rollout.
	//
	// +optional
	Rollout *RolloutStatus `json:"rollout,omitempty"`
}

// Plugin is a configured module that bots of the same namespace can use.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=aplugin,categories=aalis
// +kubebuilder:printcolumn:name="Module",type=string,JSONPath=`.spec.module`
// +kubebuilder:printcolumn:name="State",type=string,JSONPath=`.status.state`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Selected",type=integer,JSONPath=`.status.usage.selected`
// +kubebuilder:printcolumn:name="Applied",type=integer,JSONPath=`.status.usage.applied`
// +kubebuilder:printcolumn:name="Revision",type=integer,JSONPath=`.status.updatedRevision`,priority=1
// +kubebuilder:printcolumn:name="Rollout",type=string,JSONPath=`.status.rollout.phase`,priority=1
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="!format.dns1123Label().validate(self.metadata.name).hasValue()",message="metadata.name must be a DNS label of at most 63 characters: lower case letters, digits and '-'"
type Plugin struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard object metadata. The name is a DNS label.
	//
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty,omitzero"`

	// spec declares the module and its config.
	//
	// +required
	Spec PluginSpec `json:"spec,omitempty,omitzero"`

	// status is what is known of the plugin over all the bots that use it.
	//
	// +optional
	// +default={"observedGeneration":-1}
	Status PluginStatusSummary `json:"status,omitempty,omitzero"`
}

// PluginList is a list of Plugins.
//
// +kubebuilder:object:root=true
type PluginList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty,omitzero"`

	Items []Plugin `json:"items"`
}
