// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package authoritypolicy reconciles AuthorityPolicies: it reports which bots each selects and how far it has reached them.
// It is set up by the operator's manager. It never changes a bot.
package authoritypolicy

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
	"github.com/aalis-dev/aalis-operator/controllers/shared"
)

// SetupWithManager adds the reconciler to the manager.
func SetupWithManager(mgr ctrl.Manager, opts shared.UsedOptions) error {
	kind := shared.UsedKind{
		Name:   v1alpha1.KindAuthorityPolicy,
		New:    func() client.Object { return &v1alpha1.AuthorityPolicy{} },
		Status: status,
		Users:  users,
		Check:  check,
	}
	declared := func(ctx context.Context, in *v1alpha1.AgentInstance) []string { return selecting(ctx, opts.Cache, in) }
	return shared.NewUsedReconciler(kind, opts).SetupWithManager(mgr, declared)
}

func status(obj client.Object) shared.StatusFields {
	s := &obj.(*v1alpha1.AuthorityPolicy).Status
	return shared.StatusFields{Conditions: &s.Conditions, ObservedGeneration: &s.ObservedGeneration, Usage: &s.Usage}
}

func users(ctx context.Context, cache client.Reader, obj client.Object) ([]v1alpha1.AgentInstance, error) {
	return shared.InstancesBySelector(ctx, cache, obj.GetNamespace(), obj.(*v1alpha1.AuthorityPolicy).Spec.Selector)
}

// check tells of a selector that cannot be read.
func check(obj client.Object) *shared.Summary {
	if _, err := metav1.LabelSelectorAsSelector(obj.(*v1alpha1.AuthorityPolicy).Spec.Selector); err != nil {
		return &shared.Summary{
			Ready: metav1.ConditionFalse, Progress: shared.Stuck, Reason: v1alpha1.ReasonInvalidSpec,
			Message: fmt.Sprintf("spec.selector: must be a label selector: %v", err),
		}
	}
	return nil
}

// selecting names the objects of the kind that select a bot.
func selecting(ctx context.Context, cache client.Reader, in *v1alpha1.AgentInstance) []string {
	var list v1alpha1.AuthorityPolicyList
	if err := cache.List(ctx, &list, client.InNamespace(in.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		log.FromContext(ctx).Error(err, "Listed what selects a changed bot in vain")
		return nil
	}
	var names []string
	for i := range list.Items {
		if shared.Selects(list.Items[i].Spec.Selector, in.Labels) {
			names = append(names, list.Items[i].Name)
		}
	}
	return names
}
