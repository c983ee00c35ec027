// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	eventsv1 "k8s.io/api/events/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/selection"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
	"github.com/aalis-dev/aalis-operator/controllers/render"
	"github.com/aalis-dev/aalis-operator/controllers/revisions"
)

// lastApplied is a copy of a whole object that kubectl keeps in an annotation. Nobody here reads it.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// NewScheme makes a scheme of the kinds that the operator handles and no others.
func NewScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		v1alpha1.AddToScheme, corev1.AddToScheme, appsv1.AddToScheme, rbacv1.AddToScheme, networkingv1.AddToScheme,
		discoveryv1.AddToScheme, eventsv1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("building the scheme: %w", err)
		}
	}
	return scheme, nil
}

// cacheOptions keep in the cache only what the operator reads: of the children and pods those with its label, of pods
// only a few metadata, of EndpointSlices only those of the API server. With more than one namespace the client's reads
// may miss its own latest writes; then something may be applied twice, but never over a newer delivery: the ConfigMap is
// written under a lock.
func cacheOptions(namespaces []string) cache.Options {
	ours := labels.SelectorFromSet(labels.Set{render.LabelManagedBy: render.ManagedBy})
	options := cache.Options{
		// A read of a kind that has no watch is a mistake of ours, not a reason to watch the whole cluster.
		ReaderFailOnMissingInformer: true,
		DefaultTransform:            slim,
		ByObject: map[client.Object]cache.ByObject{
			&corev1.Pod{}: {Label: ours, Transform: identityOnly},
			// StatefulSets have ControllerRevisions with the labels of our pods; those do not concern us.
			&appsv1.ControllerRevision{}: {Label: revisionsOnly(), Transform: revisions.Slim},
			&discoveryv1.EndpointSlice{}: {Namespaces: map[string]cache.Config{
				metav1.NamespaceDefault: {LabelSelector: labels.SelectorFromSet(labels.Set{discoveryv1.LabelServiceName: "kubernetes"})},
			}},
		},
	}
	for _, child := range []client.Object{
		&corev1.ServiceAccount{}, &corev1.ConfigMap{}, &corev1.Service{}, &rbacv1.Role{}, &rbacv1.RoleBinding{},
		&networkingv1.NetworkPolicy{}, &appsv1.StatefulSet{}, &v1alpha1.AgentReplica{},
	} {
		options.ByObject[child] = cache.ByObject{Label: ours}
	}
	if len(namespaces) > 0 {
		options.DefaultNamespaces = map[string]cache.Config{}
		for _, ns := range namespaces {
			options.DefaultNamespaces[ns] = cache.Config{}
		}
	}
	return options
}

// revisionsOnly selects the revisions of Personas and Plugins.
func revisionsOnly() labels.Selector {
	kind, err := labels.NewRequirement(v1alpha1.LabelRevisionKind, selection.Exists, nil)
	if err != nil {
		return labels.Nothing() // only for a key that is no label
	}
	return labels.NewSelector().Add(*kind)
}

// slim drops what nobody reads from an object before it is cached.
func slim(obj any) (any, error) {
	accessor, ok := obj.(metav1.Object)
	if !ok {
		return obj, nil // a marker of the cache itself
	}
	accessor.SetManagedFields(nil)
	if annotations := accessor.GetAnnotations(); annotations[lastApplied] != "" {
		delete(annotations, lastApplied)
		accessor.SetAnnotations(annotations)
	}
	return obj, nil
}

// identityOnly keeps of a pod only which it is and whose.
func identityOnly(obj any) (any, error) {
	pod, ok := obj.(*metav1.PartialObjectMetadata)
	if !ok {
		return slim(obj)
	}
	pod.ObjectMeta = metav1.ObjectMeta{
		Name: pod.Name, Namespace: pod.Namespace, UID: pod.UID, ResourceVersion: pod.ResourceVersion,
		DeletionTimestamp: pod.DeletionTimestamp,
		Labels:            map[string]string{v1alpha1.LabelInstance: pod.Labels[v1alpha1.LabelInstance]},
	}
	return pod, nil
}
