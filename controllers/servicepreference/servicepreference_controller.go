// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package servicepreference reconciles ServicePreferences: it reports which bots each selects and how far it has reached them.
// It is set up by the operator's manager. It never changes a bot.
package servicepreference

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
	"github.com/aalis-dev/aalis-operator/controllers/shared"
)

// SetupWithManager adds the reconciler to the manager.
func SetupWithManager(mgr ctrl.Manager, opts shared.UsedOptions) error {
	return shared.SelectingKind[*v1alpha1.ServicePreference]{
		Name:    v1alpha1.KindServicePreference,
		New:     func() *v1alpha1.ServicePreference { return &v1alpha1.ServicePreference{} },
		NewList: func() client.ObjectList { return &v1alpha1.ServicePreferenceList{} },
		Status: func(p *v1alpha1.ServicePreference) shared.StatusFields {
			s := &p.Status
			return shared.StatusFields{Conditions: &s.Conditions, ObservedGeneration: &s.ObservedGeneration, Usage: &s.Usage}
		},
		Selector: func(p *v1alpha1.ServicePreference) *metav1.LabelSelector { return p.Spec.Selector },
	}.SetupWithManager(mgr, opts)
}
