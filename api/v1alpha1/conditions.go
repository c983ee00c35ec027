// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Condition types of every kind. They follow kstatus: Reconciling and Stalled are never both True, and are
// absent from the truth only while the controller has not seen the object.
const (
	// ConditionReady is True when what is declared is what runs.
	ConditionReady = "Ready"
	// ConditionReconciling is True while the system works towards what is declared.
	ConditionReconciling = "Reconciling"
	// ConditionStalled is True when it cannot get there without a change by somebody.
	ConditionStalled = "Stalled"
	// ConditionBudgetExhausted is True while a budget of a bot refuses calls of models.
	ConditionBudgetExhausted = "BudgetExhausted"
	// ConditionPluginsPending is True on a bot that runs while an optional plugin waits for something.
	ConditionPluginsPending = "PluginsPending"
	// ConditionCatalogMismatch is True on a bot whose image ships other modules than the operator knows.
	ConditionCatalogMismatch = "CatalogMismatch"
	// ConditionPolicyConflict is True on a bot whose AuthorityPolicies give different answers to one question.
	ConditionPolicyConflict = "PolicyConflict"
)

// Reasons of the conditions above.
const (
	ReasonActive            = "Active"
	ReasonApplied           = "Applied"
	ReasonUnused            = "Unused"
	ReasonSuspended         = "Suspended"
	ReasonInvalidSpec       = "InvalidSpec"
	ReasonPersonaNotFound   = "PersonaNotFound"
	ReasonPluginNotFound    = "PluginNotFound"
	ReasonUnknownModule     = "UnknownModule"
	ReasonInvalidConfig     = "InvalidConfig"
	ReasonConfigTooLarge    = "ConfigTooLarge"
	ReasonRevisionRejected  = "RevisionRejected"
	ReasonPluginPending     = "PluginPending"
	ReasonPluginError       = "PluginError"
	ReasonModelNotFound     = "ModelNotFound"
	ReasonStarting          = "Starting"
	ReasonPodNotReady       = "PodNotReady"
	ReasonWaitingForKernel  = "WaitingForKernel"
	ReasonDeleting          = "Deleting"
	ReasonApplyFailed       = "ApplyFailed"
	ReasonUpToDate          = "UpToDate"
	ReasonNothingToDo       = "NothingToDo"
	ReasonNameTooLong       = "NameTooLong"
	ReasonCatalogHashDiffer = "CatalogHashDiffers"
	ReasonUnsafe            = "Unsafe"
	ReasonNotAllowed        = "NotAllowed"
	ReasonStricterHolds     = "StricterHolds"
	ReasonBudgetSpent       = "BudgetSpent"
)

// Labels and annotations that the operator sets.
const (
	// LabelInstance holds the name of the AgentInstance on every child object.
	LabelInstance = "aalis.dev/instance"
	// AnnotationReload on a pod, when changed, makes the kubelet refresh its mounted Secrets at once.
	AnnotationReload = "aalis.dev/reload"
	// AnnotationInputs on a bot's ConfigMap holds the revisions of the Personas and Plugins that the delivered config was
	// composed of, as JSON. It is written together with the config, so that no crash can part the two.
	AnnotationInputs = "aalis.dev/inputs"
	// AnnotationSkipWait on an object being deleted ends its wait for the bots that use it.
	AnnotationSkipWait = "aalis.dev/skip-deletion-wait"
	// FinalizerInstance keeps an AgentInstance until its pods have drained.
	FinalizerInstance = "aalis.dev/instance"
	// FinalizerInUse keeps a Plugin or Persona until every bot that uses it has let go.
	FinalizerInUse = "aalis.dev/in-use"
	// FieldOwner is the field manager of everything that the operator applies.
	FieldOwner = "aalis-operator"
)
