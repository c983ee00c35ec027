// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package agentinstance

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
	"github.com/aalis-dev/aalis-operator/controllers/render"
	"github.com/aalis-dev/aalis-operator/runtime/kernelconfig"
)

// observe reads, from the cache, what the bot's pod and kernel say. Objects of the right name that belong to somebody
// else count as absent.
func (r *Reconciler) observe(ctx context.Context, p *pass) (err error) {
	p.world, err = r.readWorld(ctx, p.instance)
	return err
}

// owned reads a child into obj and tells whether it is there and the instance's own.
func (r *Reconciler) owned(ctx context.Context, in *v1alpha1.AgentInstance, name string, obj client.Object) (bool, error) {
	err := r.Client.Get(ctx, types.NamespacedName{Namespace: in.Namespace, Name: name}, obj)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("reading %T %s: %w", obj, name, err)
	}
	return metav1.IsControlledBy(obj, in), nil
}

// readDelivered reads, from the cache, what is delivered to the bot, and the annotation with the revisions that it was
// composed of.
func (r *Reconciler) readDelivered(ctx context.Context, in *v1alpha1.AgentInstance) (kernelconfig.Slots, string, error) {
	var cm corev1.ConfigMap
	ok, err := r.owned(ctx, in, render.ChildName(in.Name), &cm)
	if err != nil || !ok {
		return kernelconfig.Slots{}, "", err
	}
	slots, err := kernelconfig.ReadSlots(cm.Data, cm.BinaryData)
	if err != nil {
		log.FromContext(ctx).Error(err, "Read a damaged ConfigMap, delivering anew", "configMap", cm.Name)
		return kernelconfig.Slots{}, "", nil
	}
	return slots, cm.Annotations[v1alpha1.AnnotationInputs], nil
}

func (r *Reconciler) readWorld(ctx context.Context, in *v1alpha1.AgentInstance) (world, error) {
	w := world{scaled: -1}
	var set appsv1.StatefulSet
	ok, err := r.owned(ctx, in, render.ChildName(in.Name), &set)
	if err != nil {
		return w, err
	}
	if ok {
		w.scaled = 1
		if set.Spec.Replicas != nil {
			w.scaled = *set.Spec.Replicas
		}
		w.ready = set.Status.ReadyReplicas > 0
		w.rolling = set.Status.ObservedGeneration < set.Generation || set.Status.UpdateRevision != set.Status.CurrentRevision
	}
	if w.podUID, err = r.podUID(ctx, in); err != nil || w.podUID == "" {
		return w, err
	}
	var replica v1alpha1.AgentReplica
	ok, err = r.owned(ctx, in, render.PodName(in.Name), &replica)
	if err != nil {
		return w, err
	}
	if ok && replica.Status.PodUID == w.podUID {
		w.replica = &replica
	}
	return w, nil
}

// podUID gives the UID of the bot's pod; empty if there is none. Of pods only the metadata are cached.
func (r *Reconciler) podUID(ctx context.Context, in *v1alpha1.AgentInstance) (string, error) {
	pod := &metav1.PartialObjectMetadata{}
	pod.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Pod"))
	err := r.Client.Get(ctx, types.NamespacedName{Namespace: in.Namespace, Name: render.PodName(in.Name)}, pod)
	if apierrors.IsNotFound(err) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("reading the metadata of pod %s: %w", render.PodName(in.Name), err)
	}
	if pod.Labels[v1alpha1.LabelInstance] != in.Name {
		return "", nil
	}
	return string(pod.UID), nil
}
