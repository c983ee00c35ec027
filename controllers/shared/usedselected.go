// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package shared

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
)

// SelectingKind is a kind whose objects select the bots of their namespace that use them. T is the type of its objects,
// a pointer.
type SelectingKind[T client.Object] struct {
	// Name of the kind.
	Name string
	// New makes an empty object, NewList an empty list of them.
	New     func() T
	NewList func() client.ObjectList
	// Status points into an object's status.
	Status func(T) StatusFields
	// Selector of an object, on the labels of bots. An empty one selects all, nil none.
	Selector func(T) *metav1.LabelSelector
}

// SetupWithManager adds the reconciler of the kind to the manager.
func (k SelectingKind[T]) SetupWithManager(mgr ctrl.Manager, opts UsedOptions) error {
	used := UsedKind[T]{Name: k.Name, New: k.New, Status: k.Status, Users: k.users, Check: k.check}
	declared := func(ctx context.Context, in *v1alpha1.AgentInstance) []string {
		return k.selecting(ctx, opts.Cache, in)
	}
	return NewUsedReconciler(used, opts).SetupWithManager(mgr, declared)
}

func (k SelectingKind[T]) users(ctx context.Context, cache client.Reader, obj T) ([]v1alpha1.AgentInstance, error) {
	return InstancesBySelector(ctx, cache, obj.GetNamespace(), k.Selector(obj))
}

// check tells of a selector that cannot be read.
func (k SelectingKind[T]) check(obj T) *Summary {
	if _, err := metav1.LabelSelectorAsSelector(k.Selector(obj)); err != nil {
		return &Summary{
			Ready: metav1.ConditionFalse, Progress: Stuck, Reason: v1alpha1.ReasonInvalidSpec,
			Message: fmt.Sprintf("spec.selector: must be a label selector: %v", err),
		}
	}
	return nil
}

// selecting names the objects of the kind that select a bot.
func (k SelectingKind[T]) selecting(ctx context.Context, cache client.Reader, in *v1alpha1.AgentInstance) []string {
	var names []string
	list := k.NewList()
	err := cache.List(ctx, list, client.InNamespace(in.Namespace), client.UnsafeDisableDeepCopy)
	if err == nil {
		err = meta.EachListItem(list, func(item runtime.Object) error {
			if obj, ok := item.(T); ok && Selects(k.Selector(obj), in.Labels) {
				names = append(names, obj.GetName())
			}
			return nil
		})
	}
	if err != nil {
		log.FromContext(ctx).Error(err, "Listed what selects a changed bot in vain", "kind", k.Name)
	}
	return names
}
