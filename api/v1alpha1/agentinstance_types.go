// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// DesiredState says whether a bot runs.
//
// +kubebuilder:validation:Enum=Running;Suspended
type DesiredState string

// The values of DesiredState.
const (
	// DesiredStateRunning is the default.
	DesiredStateRunning DesiredState = "Running"
	// DesiredStateSuspended scales the bot to zero pods and keeps its stored state.
	DesiredStateSuspended DesiredState = "Suspended"
)

// StorageType names the memory backend of a bot.
//
// +kubebuilder:validation:Enum=Memory;SQLite;Redis
type StorageType string

const (
	// StorageMemory keeps conversations in the process: they end with the pod.
	StorageMemory StorageType = "Memory"
	// StorageSQLite keeps them in a file on a volume of the bot's own.
	StorageSQLite StorageType = "SQLite"
	// StorageRedis keeps them on a Redis server.
	StorageRedis StorageType = "Redis"
)

// StorageRetention says what becomes of the volume of a bot that is deleted.
//
// +kubebuilder:validation:Enum=Retain;Delete
type StorageRetention string

const (
	// RetainStorage keeps the volume claim.
	RetainStorage StorageRetention = "Retain"
	// DeleteStorage deletes the volume claim with the bot.
	DeleteStorage StorageRetention = "Delete"
)

// DefaultStorageSize is the size of a volume whose size is not given.
const DefaultStorageSize = "1Gi"

// AgentInstanceSpec declares a bot.
type AgentInstanceSpec struct {
	// state says whether the bot runs. Suspended scales it to zero and keeps what it has stored.
	//
	// +optional
	// +default="Running"
	State DesiredState `json:"state,omitempty"`

	// model is the bot's default chat model. Without it the best ServicePreference for the service llm
	// decides, and without one the first model that a plugin offers.
	//
	// +optional
	Model *ModelReference `json:"model,omitempty"`

	// personaRef names the Persona that the bot speaks as. Without it the bot uses the built-in one.
	//
	// +optional
	PersonaRef *LocalReference `json:"personaRef,omitempty"`

	// personas are further Personas of this namespace, by name, that a conversation may choose instead of that of
	// personaRef.
	//
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	Personas []LocalReference `json:"personas,omitempty"`

	// plugins of the bot, by name. Without module an entry refers to the Plugin object of that name in this
	// namespace; with module it configures, or turns off, a module shipped in the runtime image. What the image
	// turns on by default (gateway, agent, ...) needs no entry.
	//
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	Plugins []InstancePlugin `json:"plugins,omitempty"`

	// pluginSelector adds the Plugins of this namespace that it selects by their labels, as if plugins listed them. What plugins
	// lists itself goes before: an entry of the same name, also one that is Disabled, is the one that holds. With those
	// listed there may be 64 in all. An empty selector selects every Plugin.
	//
	// +optional
	PluginSelector *metav1.LabelSelector `json:"pluginSelector,omitempty"`

	// budgets limit what the bot spends on models, by name. What a call may take at most is reserved before it is made, so
	// that a budget holds within a turn too.
	//
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	Budgets []AgentBudget `json:"budgets,omitempty"`

	// storage decides where the bot keeps conversations and state.
	//
	// +optional
	Storage *StorageSpec `json:"storage,omitempty"`

	// network adjusts the NetworkPolicy of the bot's pods.
	//
	// +optional
	Network *NetworkSpec `json:"network,omitempty"`

	// unsafe are settings that take protection away. Nobody needs them in a bot that others talk to.
	//
	// +optional
	Unsafe *UnsafeSettings `json:"unsafe,omitempty"`

	// logLevel of the bot's kernel: debug, info, warn or error.
	//
	// +optional
	// +default="info"
	// +kubebuilder:validation:Enum=debug;info;warn;error
	LogLevel string `json:"logLevel,omitempty"`

	// language of the texts that the bot itself writes, such as error notices: en or zh-CN.
	//
	// +optional
	// +default="en"
	// +kubebuilder:validation:Enum=en;zh-CN
	Language string `json:"language,omitempty"`

	// image of the runtime, instead of the operator's default. The operator takes only images that match its
	// allow-list.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Image string `json:"image,omitempty"`

	// resources of the kernel's container. Without it: requests of 20m CPU and 48Mi memory, a memory limit of 256Mi.
	//
	// +optional
	Resources *corev1.ResourceRequirements `json:"resources,omitempty"`

	// podTemplate says where and how the bot's pod runs: labels, node selection, priority, pull secrets.
	//
	// +optional
	PodTemplate *PodSettings `json:"podTemplate,omitempty"`

	// drainTimeoutSeconds is how long running turns may take to finish before a plugin is restarted or the pod
	// goes away.
	//
	// +optional
	// +default=60
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=600
	DrainTimeoutSeconds *int32 `json:"drainTimeoutSeconds,omitempty"`

	// pin has the bot run earlier revisions of Personas and Plugins, as kubectl aalis rollback sets it.
	//
	// +optional
	// +listType=map
	// +listMapKey=kind
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	Pin []PinnedRevision `json:"pin,omitempty"`
}

// UnsafeSettings take protection away.
type UnsafeSettings struct {
	// authority set to Disabled lets everybody run everything that no AuthorityPolicy denies, without confirmation.
	//
	// +optional
	Authority RunState `json:"authority,omitempty"`
}

// InstancePlugin is one plugin of a bot.
type InstancePlugin struct {
	// name of the entry. Without module it is the name of a Plugin object in this namespace.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="!format.dns1123Label().validate(self).hasValue()",message="must be a DNS label: lower case letters, digits and '-', at most 63 characters"
	Name string `json:"name,omitempty"`

	// module shipped in the runtime image, in short (agent) or in full (@aalis/plugin-agent).
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	Module string `json:"module,omitempty"`

	// state says whether the plugin runs in this bot.
	//
	// +optional
	// +default="Enabled"
	State RunState `json:"state,omitempty"`

	// config of the module, as its schema in the catalog says; only with module. Secret fields are refused here:
	// declare a Plugin with secrets for those.
	//
	// +optional
	// +kubebuilder:validation:Type=object
	// +kubebuilder:validation:MaxProperties=128
	// +kubebuilder:pruning:PreserveUnknownFields
	Config *runtime.RawExtension `json:"config,omitempty"`
}

// StorageSpec decides where a bot keeps conversations and state.
//
// +kubebuilder:validation:XValidation:rule="has(self.redis) == (self.type == 'Redis')",fieldPath=".redis",message="must be given with type Redis, and only then"
// +kubebuilder:validation:XValidation:rule="self.type == 'SQLite' || (!has(self.size) && !has(self.storageClassName) && !has(self.retention))",message="size, storageClassName and retention may only be given with type SQLite, which has a volume"
// +kubebuilder:validation:XValidation:rule="self.type != 'SQLite' || oldSelf.type != 'SQLite' || (has(self.size) == has(oldSelf.size) && (!has(self.size) || quantity(string(self.size)).compareTo(quantity(string(oldSelf.size))) == 0))",fieldPath=".size",message="may not be changed; enlarge the volume claim instead"
// +kubebuilder:validation:XValidation:rule="self.type != 'SQLite' || oldSelf.type != 'SQLite' || (has(self.storageClassName) == has(oldSelf.storageClassName) && (!has(self.storageClassName) || self.storageClassName == oldSelf.storageClassName))",fieldPath=".storageClassName",message="may not be changed"
type StorageSpec struct {
	// type of the memory backend. Memory keeps everything in the process, SQLite in a file on a volume of the bot's
	// own, Redis on a server. A bot cannot change to or from SQLite.
	//
	// +optional
	// +default="Memory"
	Type StorageType `json:"type,omitempty"`

	// size of the volume; only with SQLite. Without it: 1Gi.
	//
	// +optional
	// +kubebuilder:validation:XValidation:rule="isQuantity(string(self)) && quantity(string(self)).isGreaterThan(quantity('0'))",message="must be a quantity greater than 0, such as 1Gi"
	Size *resource.Quantity `json:"size,omitempty"`

	// storageClassName of the volume; only with SQLite. Without it the cluster's default class is used.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	StorageClassName string `json:"storageClassName,omitempty"`

	// retention says what becomes of the volume when the bot is deleted; only with SQLite. Without it: Retain.
	//
	// +optional
	Retention StorageRetention `json:"retention,omitempty"`

	// redis says where the server is; only with Redis.
	//
	// +optional
	Redis *RedisSpec `json:"redis,omitempty"`
}

// RedisSpec names a Redis server. Bots may share one: each keeps to keys with a prefix of its own.
type RedisSpec struct {
	// address of the server as host:port, such as redis.databases.svc:6379.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=300
	// +kubebuilder:validation:XValidation:rule="self.matches('^([-a-zA-Z0-9_.]+|\\\\[[0-9a-fA-F:.]+\\\\])(:[0-9]{1,5})?$')",message="must be host:port, such as redis.databases.svc:6379"
	Address string `json:"address,omitempty"`

	// passwordSecretRef names the Secret key that holds the password. Without it the server must ask for none.
	//
	// +optional
	PasswordSecretRef *SecretKeyReference `json:"passwordSecretRef,omitempty"`

	// transport is how the bot speaks to the server: Plain, or TLS with the public certificate authorities.
	//
	// +optional
	// +default="Plain"
	Transport RedisTransport `json:"transport,omitempty"`
}

// RedisTransport is how a bot speaks to its Redis server.
//
// +kubebuilder:validation:Enum=Plain;TLS
type RedisTransport string

// The values of RedisTransport.
const (
	// RedisPlain is the default: no encryption.
	RedisPlain RedisTransport = "Plain"
	// RedisTLS encrypts and checks the server's certificate.
	RedisTLS RedisTransport = "TLS"
)

// NetworkSpec adjusts the NetworkPolicy of a bot's pods.
type NetworkSpec struct {
	// egress rules that replace the default rule for public addresses. DNS, the API server and the in-cluster
	// hosts named in the config stay allowed. A model server in the LAN needs its address here.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	Egress []networkingv1.NetworkPolicyEgressRule `json:"egress,omitempty"`
}

// PendingChange is a revision that the bot has been given and has not acknowledged yet.
type PendingChange struct {
	// revision that is wanted.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	Revision string `json:"revision,omitempty"`

	// effect of the change: Reload is applied in the running kernel, Restart needs a new pod.
	//
	// +required
	// +kubebuilder:validation:Enum=Reload;Restart
	Effect string `json:"effect,omitempty"`

	// message says what is waited for.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`
}

// InputStatus is one object that went into the revision in effect.
type InputStatus struct {
	// kind of the object.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind,omitempty"`

	// name of the object.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`

	// generation of the object that was composed.
	//
	// +optional
	// +kubebuilder:validation:Minimum=0
	Generation *int64 `json:"generation,omitempty"`

	// revision of the object that is in effect, for Personas and Plugins: the number of its ControllerRevision.
	//
	// +optional
	// +kubebuilder:validation:Minimum=0
	Revision *int64 `json:"revision,omitempty"`
}

// AgentInstanceStatus is what is known of a bot.
type AgentInstanceStatus struct {
	// conditions of the bot: Ready, Reconciling, Stalled, and PluginsPending, CatalogMismatch, Pinned, PinLapsed and
	// PolicyConflict when they apply.
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

	// state of the bot.
	//
	// +optional
	State State `json:"state,omitempty"`

	// revision is the hash of the composed config that is wanted.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Revision string `json:"revision,omitempty"`

	// sequence grows by one with every revision that is delivered.
	//
	// +optional
	// +kubebuilder:validation:Minimum=0
	Sequence *int64 `json:"sequence,omitempty"`

	// appliedRevision is the revision that the kernel says it runs.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=64
	AppliedRevision string `json:"appliedRevision,omitempty"`

	// pendingChange is what has been delivered and not acknowledged yet.
	//
	// +optional
	PendingChange *PendingChange `json:"pendingChange,omitempty"`

	// model that answers when a session has chosen none, as the kernel resolved it.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Model string `json:"model,omitempty"`

	// plugins of the bot and what each does, as its kernel reports it.
	//
	// +optional
	// +listType=map
	// +listMapKey=id
	// +kubebuilder:validation:MaxItems=128
	Plugins []PluginStatus `json:"plugins,omitempty"`

	// budgets of the bot, as its kernel says.
	//
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	Budgets []BudgetStatus `json:"budgets,omitempty"`

	// lastRecompute is the last run of the kernel's state machine that changed something.
	//
	// +optional
	LastRecompute *RecomputeStatus `json:"lastRecompute,omitempty"`

	// inputs are the objects that went into the revision, with their generations.
	//
	// +optional
	// +listType=map
	// +listMapKey=kind
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=256
	Inputs []InputStatus `json:"inputs,omitempty"`
}

// AgentInstance is a bot.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName={agent,agents},categories=aalis
// +kubebuilder:printcolumn:name="State",type=string,JSONPath=`.status.state`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Persona",type=string,JSONPath=`.spec.personaRef.name`
// +kubebuilder:printcolumn:name="Model",type=string,JSONPath=`.status.model`
// +kubebuilder:printcolumn:name="Applied",type=string,JSONPath=`.status.appliedRevision`,priority=1
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 40",message="metadata.name must be at most 40 characters"
// +kubebuilder:validation:XValidation:rule="!format.dns1123Label().validate(self.metadata.name).hasValue()",message="metadata.name must be a DNS label: lower case letters, digits and '-'"
// +kubebuilder:validation:XValidation:rule="(has(self.spec) && has(self.spec.storage) && self.spec.storage.type == 'SQLite') == (has(oldSelf.spec) && has(oldSelf.spec.storage) && oldSelf.spec.storage.type == 'SQLite')",message="spec.storage.type: a bot cannot change to or from SQLite, because its volume is part of its StatefulSet; delete the bot and create it anew"
// +kubebuilder:validation:XValidation:rule="!has(self.spec) || !has(self.spec.plugins) || self.spec.plugins.all(p, has(p.module) || !has(p.config))",message="spec.plugins: config needs module; to change the config of a Plugin object, edit that object"
type AgentInstance struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard object metadata. The name is a DNS label of at most 40 characters.
	//
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty,omitzero"`

	// spec declares the bot.
	//
	// +optional
	Spec AgentInstanceSpec `json:"spec,omitempty,omitzero"`

	// status is what is known of the bot.
	//
	// +optional
	// +default={"observedGeneration":-1}
	Status AgentInstanceStatus `json:"status,omitempty,omitzero"`
}

// AgentInstanceList is a list of AgentInstances.
//
// +kubebuilder:object:root=true
type AgentInstanceList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty,omitzero"`

	Items []AgentInstance `json:"items"`
}
