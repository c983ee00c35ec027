// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

// What the operator may do. Nothing here is on Secrets, on the content of pods or on exec, and nothing is a wildcard.
//
// Reads of the cache are list and watch; get on the children is asked for once, before a child is created, to find out
// whether somebody else has an object of that name.
//
// get, list, watch on configmaps and patch on agentreplicas/status are also what the operator grants to the pods: the
// API server lets nobody grant what they do not have. The operator never writes the status of an AgentReplica itself.

// The kinds of this project.
// +kubebuilder:rbac:groups=aalis.dev,resources=agentinstances;plugins;personas,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=aalis.dev,resources=servicepreferences;authoritypolicies;tenantpolicies,verbs=get;list;watch
// +kubebuilder:rbac:groups=aalis.dev,resources=agentinstances/status;plugins/status;personas/status;servicepreferences/status;authoritypolicies/status;tenantpolicies/status,verbs=patch
// +kubebuilder:rbac:groups=aalis.dev,resources=agentreplicas,verbs=get;list;watch;create;patch
// +kubebuilder:rbac:groups=aalis.dev,resources=agentreplicas/status,verbs=patch

// The children of a bot.
// +kubebuilder:rbac:groups="",resources=configmaps;services;serviceaccounts,verbs=get;list;watch;create;patch
// +kubebuilder:rbac:groups=apps,resources=statefulsets,verbs=get;list;watch;create;patch
// +kubebuilder:rbac:groups=networking.k8s.io,resources=networkpolicies,verbs=get;list;watch;create;patch
// +kubebuilder:rbac:groups=rbac.authorization.k8s.io,resources=roles;rolebindings,verbs=get;list;watch;create;patch

// Which pod is alive: metadata only.
// +kubebuilder:rbac:groups="",resources=pods,verbs=list;watch

// The earlier specs of Personas and Plugins; the oldest are deleted.
// +kubebuilder:rbac:groups=apps,resources=controllerrevisions,verbs=get;list;watch;create;delete

// What is worth telling.
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Where the API server is, for the NetworkPolicies.
// +kubebuilder:rbac:groups=discovery.k8s.io,namespace=default,resources=endpointslices,verbs=list;watch

// The election of a leader, in the operator's own namespace.
// +kubebuilder:rbac:groups=coordination.k8s.io,namespace=aalis-system,resources=leases,verbs=get;create;update
