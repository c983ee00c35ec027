// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 holds the API types of the group aalis.dev: the kinds in which bots are declared
// (AgentInstance, Plugin, Persona, ServicePreference, AuthorityPolicy, TenantPolicy) and AgentReplica, in which a
// running kernel proves what it runs.
//
// The *_types.go files hold data and markers only; the *_funcs.go files hold pure methods. The package
// imports nothing of this module, so that clients can import it alone.
//
// +kubebuilder:object:generate=true
// +groupName=aalis.dev
package v1alpha1
