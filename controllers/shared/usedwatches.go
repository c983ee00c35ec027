// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package shared

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
)

// SetupWithManager watches the kind and the bots. NamesUsed gives the names of the objects of the kind that a bot
// declares to use; those in its status are added to them.
func (r *UsedReconciler[T]) SetupWithManager(mgr ctrl.Manager, namesUsed func(context.Context, *v1alpha1.AgentInstance) []string) error {
	toObjects := func(ctx context.Context, obj client.Object) []reconcile.Request {
		in, ok := obj.(*v1alpha1.AgentInstance)
		if !ok {
			return nil
		}
		return requestsFor(in, r.kind.Name, namesUsed(ctx, in))
	}
	err := ctrl.NewControllerManagedBy(mgr).
		For(r.kind.New(), builder.WithPredicates(DeclarationChanged())).
		Watches(&v1alpha1.AgentInstance{}, handler.EnqueueRequestsFromMapFunc(toObjects), builder.WithPredicates(progressed())).
		Named(strings.ToLower(r.kind.Name)).
		Complete(NewPace(r, r.now, func() { r.metrics.PutOff(r.kind.Name) }))
	if err != nil {
		return fmt.Errorf("setting up the %s controller: %w", r.kind.Name, err)
	}
	return nil
}

// requestsFor names, each once, the objects of a kind that a bot declares or runs.
func requestsFor(in *v1alpha1.AgentInstance, kind string, declared []string) []reconcile.Request {
	seen := map[string]bool{}
	var out []reconcile.Request
	add := func(name string) {
		if !seen[name] {
			seen[name] = true
			out = append(out, reconcile.Request{NamespacedName: types.NamespacedName{Namespace: in.Namespace, Name: name}})
		}
	}
	for _, name := range declared {
		add(name)
	}
	for _, input := range in.Status.Inputs {
		if input.Kind == kind {
			add(input.Name)
		}
	}
	return out
}

// progressed lets through the changes of a bot that concern what it uses.
func progressed() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(*v1alpha1.AgentInstance)
		after, ok2 := e.ObjectNew.(*v1alpha1.AgentInstance)
		if !ok || !ok2 {
			return false
		}
		a, b := &before.Status, &after.Status
		return before.Generation != after.Generation ||
			before.DeletionTimestamp.IsZero() != after.DeletionTimestamp.IsZero() ||
			a.Revision != b.Revision || a.AppliedRevision != b.AppliedRevision ||
			!equality.Semantic.DeepEqual(before.Labels, after.Labels) ||
			!equality.Semantic.DeepEqual(a.Conditions, b.Conditions) ||
			!equality.Semantic.DeepEqual(a.Inputs, b.Inputs) ||
			!equality.Semantic.DeepEqual(a.Plugins, b.Plugins)
	}}
}
