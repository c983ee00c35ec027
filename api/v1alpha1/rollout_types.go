// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Labels of the ControllerRevisions that keep the earlier specs of a Persona or Plugin.
const (
	// LabelRevisionKind holds the kind of the object: Persona or Plugin.
	LabelRevisionKind = "aalis.dev/revision-of-kind"
	// LabelRevisionName holds the name of the object; a name of over 63 characters is cut and ends in a hash.
	LabelRevisionName = "aalis.dev/revision-of-name"
	// AnnotationRevisionHash holds a hash of the spec that a ControllerRevision keeps.
	AnnotationRevisionHash = "aalis.dev/revision-hash"
)

// Condition types of revisions and roll-outs. Each is there only while it is True.
const (
	// ConditionPinned is True on a bot that runs a pinned revision instead of what the object now declares.
	ConditionPinned = "Pinned"
	// ConditionPinLapsed is True on a bot with a pin that has no effect, because its object changed after the pin was set
	// or the bot does not use the object.
	ConditionPinLapsed = "PinLapsed"
	// ConditionRolledBack is True on a Persona or Plugin whose newest revision was taken back because bots failed with it.
	ConditionRolledBack = "RolledBack"
)

// Reasons of pins, revisions and roll-outs.
const (
	ReasonPinned           = "Pinned"
	ReasonSourceChanged    = "SourceChanged"
	ReasonRevisionNotFound = "RevisionNotFound"
	ReasonRollingOut       = "RollingOut"
	ReasonRolloutPaused    = "RolloutPaused"
	ReasonRolloutCompleted = "RolloutCompleted"
	ReasonRolledBack       = "RolledBack"
	ReasonNewErrors        = "NewErrors"
	ReasonNotUsed          = "NotUsed"
)

// RolloutState says whether a roll-out goes on to its next step.
//
// +kubebuilder:validation:Enum=Running;Paused
type RolloutState string

// The values of RolloutState.
const (
	// RolloutRunning is the default.
	RolloutRunning RolloutState = "Running"
	// RolloutStatePaused stays at the present step. New errors still halt and take back.
	RolloutStatePaused RolloutState = "Paused"
)

// RolloutOrderBy says by what bots are put in order.
//
// +kubebuilder:validation:Enum=NameHash;Label
type RolloutOrderBy string

// The values of RolloutOrderBy.
const (
	// RolloutByNameHash is the default: a fixed order that has nothing to do with the alphabet.
	RolloutByNameHash RolloutOrderBy = "NameHash"
	// RolloutByLabel orders by the value of a label of the bots.
	RolloutByLabel RolloutOrderBy = "Label"
)

// RolloutSpec has a new revision reach the bots that use the object in steps. It matters only where several bots do.
//
// +kubebuilder:validation:XValidation:rule="!self.steps.exists(s, has(s.labelValue)) || (has(self.order) && self.order.by == 'Label')",fieldPath=".steps",message="labelValue needs order.by: Label"
type RolloutSpec struct {
	// steps are taken in this order. After the last one every bot gets the revision.
	//
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	Steps []RolloutStep `json:"steps,omitempty"`

	// order in which bots get a revision. Without it: by a hash of their names.
	//
	// +optional
	Order *RolloutOrder `json:"order,omitempty"`

	// pauseSeconds is how long to watch a step after its bots have acknowledged, before the next one begins.
	//
	// +optional
	// +default=0
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=604800
	PauseSeconds *int32 `json:"pauseSeconds,omitempty"`

	// state of the roll-out: Paused stays at the present step until it is Running again.
	//
	// +optional
	// +default="Running"
	State RolloutState `json:"state,omitempty"`

	// haltOnErrors is the number of bots with new errors at which the roll-out halts and every bot gets the earlier
	// revision back.
	//
	// +optional
	// +default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	HaltOnErrors *int32 `json:"haltOnErrors,omitempty"`
}

// RolloutStep says how many bots have the new revision once the step is taken.
//
// +kubebuilder:validation:ExactlyOneOf=percent;labelValue
type RolloutStep struct {
	// percent of the bots, rounded up.
	//
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	Percent *int32 `json:"percent,omitempty"`

	// labelValue adds the bots whose label order.label has this value to those of the steps before.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="!format.labelValue().validate(self).hasValue()",message="must be a label value: letters, digits, '-', '_' and '.', at most 63 characters"
	LabelValue string `json:"labelValue,omitempty"`
}

// RolloutOrder says in which order bots get a revision.
//
// +kubebuilder:validation:XValidation:rule="has(self.label) == (self.by == 'Label')",fieldPath=".label",message="must be given with by: Label, and only then"
type RolloutOrder struct {
	// by is NameHash, or Label for the value of a label: first the values that steps name, in the order of the steps, then
	// the others in the order of their bytes, then bots without the label. Bots of one value are ordered by name hash.
	//
	// +optional
	// +default="NameHash"
	By RolloutOrderBy `json:"by,omitempty"`

	// label is the key of the label; only with by: Label.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	// +kubebuilder:validation:XValidation:rule="!format.qualifiedName().validate(self).hasValue()",message="must be a label key, such as ring or example.com/ring"
	Label string `json:"label,omitempty"`
}

// RolloutPhase says where a roll-out stands.
//
// +kubebuilder:validation:Enum=Progressing;Waiting;Paused;Completed;RolledBack
type RolloutPhase string

// The values of RolloutPhase.
const (
	// RolloutProgressing: the bots of the step have not all acknowledged yet.
	RolloutProgressing RolloutPhase = "Progressing"
	// RolloutWaiting: they have, and pauseSeconds are running.
	RolloutWaiting RolloutPhase = "Waiting"
	// RolloutPaused: spec.rollout.state is Paused.
	RolloutPaused RolloutPhase = "Paused"
	// RolloutCompleted: every bot gets the revision.
	RolloutCompleted RolloutPhase = "Completed"
	// RolloutRolledBack: every bot gets the revision before. A new edit starts anew.
	RolloutRolledBack RolloutPhase = "RolledBack"
)

// RolloutStatus is how far a revision has come. It is the whole memory of the roll-out: an operator that starts anew goes
// on from it.
type RolloutStatus struct {
	// observedGeneration is the generation of the object that this is about.
	//
	// +optional
	// +kubebuilder:validation:Minimum=0
	ObservedGeneration *int64 `json:"observedGeneration,omitempty"`

	// revision that is rolled out.
	//
	// +optional
	// +kubebuilder:validation:Minimum=0
	Revision *int64 `json:"revision,omitempty"`

	// updated is the number of bots that run the revision.
	//
	// +optional
	// +kubebuilder:validation:Minimum=0
	Updated *int32 `json:"updated,omitempty"`

	// total is the number of bots that the roll-out is about: those that use the object and have not pinned it.
	//
	// +optional
	// +kubebuilder:validation:Minimum=0
	Total *int32 `json:"total,omitempty"`

	// step that is being taken, from 1. One more than there are steps is the last: every bot.
	//
	// +optional
	// +kubebuilder:validation:Minimum=0
	Step *int32 `json:"step,omitempty"`

	// phase of the roll-out.
	//
	// +optional
	Phase RolloutPhase `json:"phase,omitempty"`

	// message says what is waited for, or why the revision was taken back.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`

	// startTime of the roll-out. Only errors that began later count as new.
	//
	// +optional
	StartTime metav1.Time `json:"startTime,omitempty,omitzero"`

	// stepTime is when the bots of the step had all acknowledged.
	//
	// +optional
	StepTime metav1.Time `json:"stepTime,omitempty,omitzero"`

	// cut is the place in the order of bots up to which they get the revision.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Cut string `json:"cut,omitempty"`

	// rolledBack is the last revision that was taken back. No bot composes with it any more.
	//
	// +optional
	// +kubebuilder:validation:Minimum=0
	RolledBack *int64 `json:"rolledBack,omitempty"`
}

// PinnedKind is a kind whose revisions a bot can pin.
//
// +kubebuilder:validation:Enum=Persona;Plugin
type PinnedKind string

// PinnedRevision has a bot run an earlier revision of an object that it uses.
type PinnedRevision struct {
	// kind of the object: Persona or Plugin.
	//
	// +required
	Kind PinnedKind `json:"kind,omitempty"`

	// name of the object.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="!format.dns1123Subdomain().validate(self).hasValue()",message="must be a lower case DNS name, as object names are"
	Name string `json:"name,omitempty"`

	// revision to run: the number of a ControllerRevision of the object.
	//
	// +required
	// +kubebuilder:validation:Minimum=1
	Revision int64 `json:"revision,omitempty"`

	// overRevision is the object's newest revision when the pin was set. Once the object has a newer one, the pin has no
	// effect any more. Without it the pin holds until it is removed.
	//
	// +optional
	// +kubebuilder:validation:Minimum=1
	OverRevision *int64 `json:"overRevision,omitempty"`
}
