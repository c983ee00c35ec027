// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupName is the API group of every kind of this project.
const GroupName = "aalis.dev"

var (
	// GroupVersion is the group and version that the types of this package are registered under.
	GroupVersion = schema.GroupVersion{Group: GroupName, Version: "v1alpha1"}

	// SchemeBuilder collects the functions that add this group's types to a scheme.
	SchemeBuilder = runtime.NewSchemeBuilder(addKnownTypes)

	// AddToScheme adds the types of this group to a scheme.
	AddToScheme = SchemeBuilder.AddToScheme
)

// Kinds of this group, as manifests spell them.
const (
	KindAgentInstance     = "AgentInstance"
	KindAgentReplica      = "AgentReplica"
	KindPlugin            = "Plugin"
	KindPersona           = "Persona"
	KindServicePreference = "ServicePreference"
	KindAuthorityPolicy   = "AuthorityPolicy"
	KindTenantPolicy      = "TenantPolicy"
)

func addKnownTypes(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion,
		&AgentInstance{}, &AgentInstanceList{},
		&AgentReplica{}, &AgentReplicaList{},
		&Plugin{}, &PluginList{},
		&Persona{}, &PersonaList{},
		&ServicePreference{}, &ServicePreferenceList{},
		&AuthorityPolicy{}, &AuthorityPolicyList{},
		&TenantPolicy{}, &TenantPolicyList{},
	)
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
