// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// State is the life-cycle state of a bot or of a plugin in it, with the names of the kernel's own state machine.
//
// +kubebuilder:validation:Enum=Pending;Activating;Active;Disabled;Disposed;Error
type State string

// The states of the kernel's state machine.
const (
	// StatePending: something required is not there yet; the message says what.
	StatePending State = "Pending"
	// StateActivating: the plugin is starting, or the bot's pod is.
	StateActivating State = "Activating"
	// StateActive: running.
	StateActive State = "Active"
	// StateDisabled: switched off by its declaration.
	StateDisabled State = "Disabled"
	// StateDisposed: taken down for good.
	StateDisposed State = "Disposed"
	// StateError: failed to start; the message says why. Changing or bouncing it tries again.
	StateError State = "Error"
)

// RunState says whether something declared should run.
//
// +kubebuilder:validation:Enum=Enabled;Disabled
type RunState string

// The values of RunState.
const (
	// RunStateEnabled is the default: it runs.
	RunStateEnabled RunState = "Enabled"
	// RunStateDisabled: declared, but switched off.
	RunStateDisabled RunState = "Disabled"
)

// LocalReference names an object of a known kind in the same namespace.
type LocalReference struct {
	// name of the object, in the namespace of the object that refers to it.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="!format.dns1123Subdomain().validate(self).hasValue()",message="must be a lower case DNS name, as object names are"
	Name string `json:"name,omitempty"`
}

// SecretKeyReference names one key of a Secret in the same namespace.
type SecretKeyReference struct {
	// name of the Secret.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="!format.dns1123Subdomain().validate(self).hasValue()",message="must be the name of a Secret: a lower case DNS name"
	Name string `json:"name,omitempty"`

	// key in the Secret's data.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[-._a-zA-Z0-9]+$')",message="must be a Secret key: letters, digits, '-', '_' and '.' only"
	Key string `json:"key,omitempty"`
}

// ModelReference names a chat model.
type ModelReference struct {
	// plugin is the name, in spec.plugins of the bot, of the plugin that provides the model.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Plugin string `json:"plugin,omitempty"`

	// id of the model at its provider, for example gpt-4o-mini. It may hold slashes and colons.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	ID string `json:"id,omitempty"`
}

// UsageStatus counts the bots that use an object, and how many of them run it as it now stands.
type UsageStatus struct {
	// selected is the number of bots that use this object.
	//
	// +optional
	// +kubebuilder:validation:Minimum=0
	Selected *int32 `json:"selected,omitempty"`

	// applied is the number of bots whose kernel has acknowledged this object as it now stands.
	//
	// +optional
	// +kubebuilder:validation:Minimum=0
	Applied *int32 `json:"applied,omitempty"`

	// rejected is the number of bots that could not take it and go on with what they ran before.
	//
	// +optional
	// +kubebuilder:validation:Minimum=0
	Rejected *int32 `json:"rejected,omitempty"`

	// pinned is the number of bots that run an earlier revision of this object on purpose; nobody waits for them.
	//
	// +optional
	// +kubebuilder:validation:Minimum=0
	Pinned *int32 `json:"pinned,omitempty"`
}

// PluginStatus is what one plugin does in one kernel.
type PluginStatus struct {
	// id of the plugin instance in the kernel, for example @aalis/plugin-llm-openai:main.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	ID string `json:"id,omitempty"`

	// state of the plugin.
	//
	// +required
	State State `json:"state,omitempty"`

	// message says what a pending plugin waits for, or why one is in error.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Message string `json:"message,omitempty"`
}

// RecomputeStatus is the last run of the state machine that changed something.
type RecomputeStatus struct {
	// reason of the run: service-up, service-down, plugin-state-changed or shutdown.
	//
	// +required
	// +kubebuilder:validation:Enum=service-up;service-down;plugin-state-changed;shutdown
	Reason string `json:"reason,omitempty"`

	// service that came or went, for service-up and service-down.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Service string `json:"service,omitempty"`

	// rounds until nothing changed any more; at most 20.
	//
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=20
	Rounds *int32 `json:"rounds,omitempty"`

	// time of the run, by the clock of the kernel.
	//
	// +optional
	Time metav1.Time `json:"time,omitempty,omitzero"`
}
