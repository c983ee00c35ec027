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

	// nickNames are further names that people call the bot by.
	//
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=64
	NickNames []string `json:"nickNames,omitempty"`

	// greeting is what clients may show before the first message.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	Greeting string `json:"greeting,omitempty"`

	// outputFormat has the model write each reply as a JSON object, of which one field is sent. Without it replies are
	// plain text.
	//
	// +optional
	OutputFormat *PersonaOutputFormat `json:"outputFormat,omitempty"`

	// rendering says who takes the text to show out of a structured reply: Bot sends the text alone, Client is sent the
	// whole JSON object. Without it: Bot.
	//
	// +optional
	Rendering PersonaRendering `json:"rendering,omitempty"`

	// skills limits which skills the persona may use. Without it: all.
	//
	// +optional
	Skills *PersonaSkills `json:"skills,omitempty"`

	// rollout has a change reach the bots that use the persona in steps. Without it all get it at once.
	//
	// +optional
	Rollout *RolloutSpec `json:"rollout,omitempty"`
}

// PersonaRendering says who takes the text out of a structured reply.
//
// +kubebuilder:validation:Enum=Bot;Client
type PersonaRendering string

// The values of PersonaRendering.
const (
	// PersonaRenderingBot sends the text alone.
	PersonaRenderingBot PersonaRendering = "Bot"
	// PersonaRenderingClient sends the whole JSON object.
	PersonaRenderingClient PersonaRendering = "Client"
)

// PersonaOutputFormat is the JSON object that each reply must be.
//
// +kubebuilder:validation:XValidation:rule="self.fields.exists(f, has(f.role) && f.role == 'Reply')",fieldPath=".fields",message="must have a field with role: Reply, which is the text that is sent"
type PersonaOutputFormat struct {
	// fields of the object, in the order in which the model is shown them. All of them must be in each reply.
	//
	// +required
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	Fields []PersonaOutputField `json:"fields,omitempty"`

	// prompt replaces what the model is told about the format, except for the skeleton of the object.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=16384
	Prompt string `json:"prompt,omitempty"`

	// retries is how often a reply that does not fit is asked for again, before it is dropped. Without it: 1.
	//
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=10
	Retries *int32 `json:"retries,omitempty"`
}

// PersonaOutputField is one field of the object.
type PersonaOutputField struct {
	// name is the key in the object.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self.trim().size() > 0",message="must not be blank"
	Name string `json:"name,omitempty"`

	// description tells the model what the field is for.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Description string `json:"description,omitempty"`

	// type of the value. Without it: String.
	//
	// +optional
	Type PersonaFieldType `json:"type,omitempty"`

	// role of the field: Reply is the text that is sent, State goes with it. Without it: State. If several are Reply,
	// the last one is sent.
	//
	// +optional
	Role PersonaFieldRole `json:"role,omitempty"`
}

// PersonaFieldType is the type of a value.
//
// +kubebuilder:validation:Enum=String;Number;Boolean
type PersonaFieldType string

// The values of PersonaFieldType.
const (
	PersonaFieldString  PersonaFieldType = "String"
	PersonaFieldNumber  PersonaFieldType = "Number"
	PersonaFieldBoolean PersonaFieldType = "Boolean"
)

// PersonaFieldRole says what a field is for.
//
// +kubebuilder:validation:Enum=Reply;State
type PersonaFieldRole string

// The values of PersonaFieldRole.
const (
	// PersonaFieldReply is the text that is sent.
	PersonaFieldReply PersonaFieldRole = "Reply"
	// PersonaFieldState is not sent.
	PersonaFieldState PersonaFieldRole = "State"
)

// PersonaSkills limits which skills a persona may use.
//
// +kubebuilder:validation:XValidation:rule="self.policy == 'Only' || !has(self.names)",fieldPath=".names",message="may only be given with policy: Only"
type PersonaSkills struct {
	// policy is All, or Only for those that are named.
	//
	// +required
	Policy PersonaSkillPolicy `json:"policy,omitempty"`

	// names of the skills. With policy Only and no names the persona uses none.
	//
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=128
	Names []string `json:"names,omitempty"`
}

// PersonaSkillPolicy says which skills a persona may use.
//
// +kubebuilder:validation:Enum=All;Only
type PersonaSkillPolicy string

// The values of PersonaSkillPolicy.
const (
	PersonaSkillsAll  PersonaSkillPolicy = "All"
	PersonaSkillsOnly PersonaSkillPolicy = "Only"
)

// ObjectStatus is the status of a kind that bots use: how far it has reached them.
type ObjectStatus struct {
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

	// usage counts the bots that use this object.
	//
	// +optional
	Usage *UsageStatus `json:"usage,omitempty"`
}

// PersonaStatus is the status of a Persona: how far it has reached the bots that use it.
type PersonaStatus struct {
	ObjectStatus `json:",inline"`

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
// +kubebuilder:printcolumn:name="Revision",type=integer,JSONPath=`.status.updatedRevision`,priority=1
// +kubebuilder:printcolumn:name="Rollout",type=string,JSONPath=`.status.rollout.phase`,priority=1
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
	// +default={"observedGeneration":-1}
	Status PersonaStatus `json:"status,omitempty,omitzero"`
}

// PersonaList is a list of Personas.
//
// +kubebuilder:object:root=true
type PersonaList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty,omitzero"`

	Items []Persona `json:"items"`
}
