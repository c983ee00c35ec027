// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package agentinstance

import (
	"context"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
	"github.com/aalis-dev/aalis-operator/controllers/shared"
)

// SetupWithManager watches AgentInstances and everything that a bot depends on. The indexes of package shared must be
// set up.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	pod := &metav1.PartialObjectMetadata{}
	pod.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Pod"))
	b := ctrl.NewControllerManagedBy(mgr).
		For(&v1alpha1.AgentInstance{}, builder.WithPredicates(shared.DeclarationChanged())).
		Watches(&v1alpha1.Plugin{}, handler.EnqueueRequestsFromMapFunc(r.usersOfPlugin),
			builder.WithPredicates(predicate.Or(shared.DeclarationChanged(), rolloutMoved()))).
		Watches(&v1alpha1.Persona{}, handler.EnqueueRequestsFromMapFunc(r.usersOf(shared.IndexPersona)),
			builder.WithPredicates(predicate.Or(shared.DeclarationChanged(), rolloutMoved()))).
		Watches(&appsv1.ControllerRevision{}, handler.EnqueueRequestsFromMapFunc(r.usersOfRevision),
			builder.WithPredicates(recordedLater())).
		Watches(&v1alpha1.ServicePreference{}, handler.EnqueueRequestsFromMapFunc(r.selectedByPreference),
			builder.WithPredicates(shared.DeclarationChanged())).
		Watches(&v1alpha1.AuthorityPolicy{}, handler.EnqueueRequestsFromMapFunc(r.selectedByPolicy),
			builder.WithPredicates(shared.DeclarationChanged())).
		Watches(&v1alpha1.TenantPolicy{}, handler.EnqueueRequestsFromMapFunc(r.ofNamespace),
			builder.WithPredicates(shared.DeclarationChanged())).
		Owns(&v1alpha1.AgentReplica{}, builder.WithPredicates(changedLater())).
		WatchesMetadata(pod, handler.EnqueueRequestsFromMapFunc(instanceOfPod)).
		Watches(&discoveryv1.EndpointSlice{}, handler.EnqueueRequestsFromMapFunc(r.everyInstance),
			builder.WithPredicates(apiServersMoved()))
	for _, child := range []client.Object{
		&corev1.ServiceAccount{}, &rbacv1.Role{}, &rbacv1.RoleBinding{}, &corev1.ConfigMap{},
		&networkingv1.NetworkPolicy{}, &corev1.Service{}, &appsv1.StatefulSet{},
	} {
		b = b.Owns(child, builder.WithPredicates(changedLater()))
	}
	pace := shared.NewPace(r, r.Now, func() { r.Metrics.PutOff(v1alpha1.KindAgentInstance) })
	if err := b.Named("agentinstance").Complete(pace); err != nil {
		return fmt.Errorf("setting up the AgentInstance controller: %w", err)
	}
	return nil
}

// changedLater lets through what happens to a child after its creation, which was our own doing.
func changedLater() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false },
		UpdateFunc: predicate.ResourceVersionChangedPredicate{}.Update,
	}
}

// apiServersMoved lets through changes of the addresses of the API server.
func apiServersMoved() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(*discoveryv1.EndpointSlice)
		after, ok2 := e.ObjectNew.(*discoveryv1.EndpointSlice)
		return ok && ok2 && !slices.Equal(addresses(before), addresses(after))
	}}
}

// usersOf maps an object to the instances that an index finds by its name.
func (r *Reconciler) usersOf(index string) handler.MapFunc {
	return func(ctx context.Context, obj client.Object) []reconcile.Request {
		users, err := shared.InstancesByIndex(ctx, r.Cache, obj.GetNamespace(), index, obj.GetName())
		return requests(ctx, users, err)
	}
}

// usersOfPlugin maps a Plugin to the bots that list or select it.
func (r *Reconciler) usersOfPlugin(ctx context.Context, obj client.Object) []reconcile.Request {
	p, ok := obj.(*v1alpha1.Plugin)
	if !ok {
		return nil
	}
	users, err := shared.PluginUsers(ctx, r.Cache, p)
	return requests(ctx, users, err)
}

func (r *Reconciler) selectedByPreference(ctx context.Context, obj client.Object) []reconcile.Request {
	p, ok := obj.(*v1alpha1.ServicePreference)
	if !ok {
		return nil
	}
	return r.selected(ctx, p.Namespace, p.Spec.Selector)
}

func (r *Reconciler) selectedByPolicy(ctx context.Context, obj client.Object) []reconcile.Request {
	p, ok := obj.(*v1alpha1.AuthorityPolicy)
	if !ok {
		return nil
	}
	return r.selected(ctx, p.Namespace, p.Spec.Selector)
}

// ofNamespace maps an object to every instance of its namespace.
func (r *Reconciler) ofNamespace(ctx context.Context, obj client.Object) []reconcile.Request {
	var list v1alpha1.AgentInstanceList
	err := r.Cache.List(ctx, &list, client.InNamespace(obj.GetNamespace()), client.UnsafeDisableDeepCopy)
	return requests(ctx, list.Items, err)
}

func (r *Reconciler) selected(ctx context.Context, namespace string, selector *metav1.LabelSelector) []reconcile.Request {
	users, err := shared.InstancesBySelector(ctx, r.Cache, namespace, selector)
	return requests(ctx, users, err)
}

func (r *Reconciler) everyInstance(ctx context.Context, obj client.Object) []reconcile.Request {
	if slice, ok := obj.(*discoveryv1.EndpointSlice); !ok || !isAPIServerSlice(slice) {
		return nil
	}
	var list v1alpha1.AgentInstanceList
	err := r.Cache.List(ctx, &list, client.UnsafeDisableDeepCopy)
	return requests(ctx, list.Items, err)
}

// requests names the instances. An error can only come from the cache before it has synced; the start of the controller
// brings every instance anyway.
func requests(ctx context.Context, instances []v1alpha1.AgentInstance, err error) []reconcile.Request {
	if err != nil {
		log.FromContext(ctx).Error(err, "Listed the users of a changed object in vain")
		return nil
	}
	out := make([]reconcile.Request, 0, len(instances))
	for i := range instances {
		out = append(out, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&instances[i])})
	}
	return out
}

// instanceOfPod maps a pod, by its label, to its instance.
func instanceOfPod(_ context.Context, obj client.Object) []reconcile.Request {
	name := obj.GetLabels()[v1alpha1.LabelInstance]
	if name == "" {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: obj.GetNamespace(), Name: name}}}
}
