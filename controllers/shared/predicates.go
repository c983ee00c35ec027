// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package shared

import (
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
)

// DeclarationChanged lets through what people change in an object of ours: its spec, its labels, the start of its
// deletion, the annotation that ends a wait and the loss of a finalizer. Writes of its status do not pass, so that the operator does not wake
// itself.
func DeclarationChanged() predicate.Predicate {
	return predicate.Or[client.Object](
		predicate.GenerationChangedPredicate{},
		predicate.LabelChangedPredicate{},
		predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
			if e.ObjectOld == nil || e.ObjectNew == nil {
				return false
			}
			_, before := e.ObjectOld.GetAnnotations()[v1alpha1.AnnotationSkipWait]
			_, after := e.ObjectNew.GetAnnotations()[v1alpha1.AnnotationSkipWait]
			return before != after || e.ObjectOld.GetDeletionTimestamp().IsZero() != e.ObjectNew.GetDeletionTimestamp().IsZero() ||
				len(e.ObjectNew.GetFinalizers()) < len(e.ObjectOld.GetFinalizers())
		}},
	)
}
