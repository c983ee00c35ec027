// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package tenantpolicy reconciles TenantPolicies: it reports how far each has reached the bots of its namespace. It is set up
// by the operator's manager. It never changes a bot: the AgentInstance controller composes by the policies.
package tenantpolicy

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
	"github.com/aalis-dev/aalis-operator/controllers/shared"
)

// SetupWithManager adds the reconciler to the manager.
func SetupWithManager(mgr ctrl.Manager, opts shared.UsedOptions) error {
	return shared.SelectingKind[*v1alpha1.TenantPolicy]{
		Name:    v1alpha1.KindTenantPolicy,
		New:     func() *v1alpha1.TenantPolicy { return &v1alpha1.TenantPolicy{} },
		NewList: func() client.ObjectList { return &v1alpha1.TenantPolicyList{} },
		Status: func(p *v1alpha1.TenantPolicy) shared.StatusFields {
			s := &p.Status
			return shared.StatusFields{Conditions: &s.Conditions, ObservedGeneration: &s.ObservedGeneration, Usage: &s.Usage}
		},
		// It holds for all bots of its namespace.
		Selector: func(*v1alpha1.TenantPolicy) *metav1.LabelSelector { return &metav1.LabelSelector{} },
	}.SetupWithManager(mgr, opts)
}
