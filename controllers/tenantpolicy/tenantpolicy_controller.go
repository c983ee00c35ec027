// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package tenantpolicy reconciles TenantPolicies: it reports how far each has reached the bots of its namespace. It is set up
// by the operator's manager. It never changes a bot: the AgentInstance controller composes by the policies.
package tenantpolicy

import (
	"context"
	"fmt"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
	"github.com/aalis-dev/aalis-operator/controllers/shared"
)

// SetupWithManager adds the reconciler to the manager.
func SetupWithManager(mgr ctrl.Manager, opts shared.UsedOptions) error {
	kind := shared.UsedKind{
		Name:   v1alpha1.KindTenantPolicy,
		New:    func() client.Object { return &v1alpha1.TenantPolicy{} },
		Status: status,
		Users:  users,
		Check:  func(client.Object) *shared.Summary { return nil },
	}
	declared := func(ctx context.Context, in *v1alpha1.AgentInstance) []string {
		return names(ctx, opts.Cache, in.Namespace)
	}
	return shared.NewUsedReconciler(kind, opts).SetupWithManager(mgr, declared)
}

func status(obj client.Object) shared.StatusFields {
	s := &obj.(*v1alpha1.TenantPolicy).Status
	return shared.StatusFields{Conditions: &s.Conditions, ObservedGeneration: &s.ObservedGeneration, Usage: &s.Usage}
}

// users are all bots of the namespace.
func users(ctx context.Context, cache client.Reader, obj client.Object) ([]v1alpha1.AgentInstance, error) {
	var list v1alpha1.AgentInstanceList
	if err := cache.List(ctx, &list, client.InNamespace(obj.GetNamespace()), client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing AgentInstances: %w", err)
	}
	return list.Items, nil
}

// names are those of the policies of a namespace.
func names(ctx context.Context, cache client.Reader, namespace string) []string {
	var list v1alpha1.TenantPolicyList
	if err := cache.List(ctx, &list, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		log.FromContext(ctx).Error(err, "Listed what holds for a changed bot in vain")
		return nil
	}
	out := make([]string, 0, len(list.Items))
	for i := range list.Items {
		out = append(out, list.Items[i].Name)
	}
	return out
}
