// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
	"github.com/aalis-dev/aalis-operator/controllers/render"
	"github.com/aalis-dev/aalis-operator/controllers/shared"
	"github.com/aalis-dev/aalis-operator/runtime/catalog"
	"github.com/aalis-dev/aalis-operator/runtime/kernelconfig"
)

// Node does, in one namespace, what the cluster and the kernels would do: it makes a pod for each StatefulSet, says that
// it is ready, and acknowledges what the ConfigMap delivers. Tests tell it to behave otherwise.
type Node struct {
	namespace string
	client    client.WithWatch
	catalog   catalog.Catalog
	ctx       context.Context
	errs      chan error

	mu        sync.Mutex
	behaviour Behaviour
	kernels   map[string]*kernelState
}

// Behaviour is what a Node does differently. The zero value does all that is asked.
type Behaviour struct {
	// NoPods makes no pods.
	NoPods bool
	// Silent makes no kernel report anything.
	Silent bool
	// Reject gives the message with which a kernel refuses a config of the bot; empty accepts it.
	Reject func(bot, revision string) string
	// Failing gives the message with which a plugin of a bot fails to start; empty starts it.
	Failing func(bot string, plugin kernelconfig.Plugin) string
	// Missing are the Secret keys, as "name/key", that are not mounted.
	Missing []string
	// ModelMessage is what a kernel says of its missing model.
	ModelMessage string
	// KeepPods does not end pods that are no longer wanted.
	KeepPods bool
}

// StartNode starts a Node and stops it with the test.
func (e *Environment) StartNode(t testing.TB, namespace string) *Node {
	t.Helper()
	e.Start(t)
	cat, err := catalog.Default()
	if err != nil {
		t.Fatalf("reading the catalog: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	n := &Node{
		namespace: namespace, client: e.client, catalog: cat, ctx: ctx, errs: make(chan error, 16),
		kernels: map[string]*kernelState{},
	}
	var work sync.WaitGroup
	for _, list := range []client.ObjectList{&appsv1.StatefulSetList{}, &corev1.ConfigMapList{}} {
		w, err := e.client.Watch(ctx, list, client.InNamespace(namespace), client.MatchingLabels{render.LabelManagedBy: render.ManagedBy})
		if err != nil {
			cancel()
			t.Fatalf("watching %T: %v", list, err)
		}
		work.Go(func() { n.follow(w) })
	}
	t.Cleanup(func() {
		cancel()
		work.Wait()
		close(n.errs)
		for err := range n.errs {
			t.Errorf("the node: %v", err)
		}
	})
	return n
}

// Behave changes the behaviour and looks at every bot again.
func (n *Node) Behave(t testing.TB, b Behaviour) {
	t.Helper()
	n.mu.Lock()
	n.behaviour = b
	n.mu.Unlock()
	var sets appsv1.StatefulSetList
	if err := n.client.List(n.ctx, &sets, client.InNamespace(n.namespace)); err != nil {
		t.Fatalf("listing StatefulSets: %v", err)
	}
	for i := range sets.Items {
		n.look(sets.Items[i].Labels[v1alpha1.LabelInstance])
	}
}

// Restart replaces the pod of a bot.
func (n *Node) Restart(t testing.TB, bot string) {
	t.Helper()
	n.mu.Lock()
	err := n.endPod(bot)
	n.mu.Unlock()
	if err != nil {
		t.Fatalf("ending the pod of %s: %v", bot, err)
	}
	n.look(bot)
}

func (n *Node) follow(w watch.Interface) {
	defer w.Stop()
	for {
		select {
		case <-n.ctx.Done():
			return
		case ev, ok := <-w.ResultChan():
			if !ok {
				return
			}
			if obj, isObject := ev.Object.(client.Object); isObject {
				n.look(obj.GetLabels()[v1alpha1.LabelInstance])
			}
		}
	}
}

// look does for one bot what is to be done. A conflict or an absence means that an event with news is under way.
func (n *Node) look(bot string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	err := n.step(bot)
	if err == nil || apierrors.IsConflict(err) || apierrors.IsNotFound(err) || errors.Is(err, context.Canceled) {
		return
	}
	select {
	case n.errs <- err:
	default:
	}
}

func (n *Node) step(bot string) error {
	var set appsv1.StatefulSet
	key := types.NamespacedName{Namespace: n.namespace, Name: render.ChildName(bot)}
	if err := n.client.Get(n.ctx, key, &set); err != nil {
		return err
	}
	wanted := set.Spec.Replicas == nil || *set.Spec.Replicas > 0
	revision, err := templateRevision(&set)
	if err != nil {
		return err
	}
	state := n.kernels[bot]
	if state != nil && (!wanted || state.template != revision) && !n.behaviour.KeepPods {
		if err := n.endPod(bot); err != nil {
			return err
		}
		state = nil
	}
	if state == nil && wanted && !n.behaviour.NoPods {
		if state, err = n.startPod(bot, &set, revision); err != nil {
			return err
		}
	}
	if err := n.setStatus(&set, state, revision); err != nil {
		return err
	}
	if state == nil || n.behaviour.Silent {
		return nil
	}
	return n.runKernel(bot, state)
}

func templateRevision(set *appsv1.StatefulSet) (string, error) {
	data, err := json.Marshal(set.Spec.Template)
	if err != nil {
		return "", fmt.Errorf("encoding the pod template: %w", err)
	}
	return shared.Hash(map[string]any{"template": string(data)})
}

func (n *Node) startPod(bot string, set *appsv1.StatefulSet, revision string) (*kernelState, error) {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: render.PodName(bot), Namespace: n.namespace, Labels: set.Spec.Template.Labels,
		},
		Spec: *set.Spec.Template.Spec.DeepCopy(),
	}
	if err := n.client.Create(n.ctx, pod); err != nil {
		return nil, fmt.Errorf("creating pod %s: %w", pod.Name, err)
	}
	state := &kernelState{podUID: string(pod.UID), template: revision}
	n.kernels[bot] = state
	return state, nil
}

func (n *Node) endPod(bot string) error {
	delete(n.kernels, bot)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: render.PodName(bot), Namespace: n.namespace}}
	err := n.client.Delete(n.ctx, pod, client.GracePeriodSeconds(0))
	return client.IgnoreNotFound(err)
}

func (n *Node) setStatus(set *appsv1.StatefulSet, state *kernelState, revision string) error {
	before := set.DeepCopy()
	set.Status.ObservedGeneration = set.Generation
	set.Status.UpdateRevision, set.Status.CurrentRevision = revision, revision
	set.Status.Replicas, set.Status.ReadyReplicas = 0, 0
	if state != nil {
		set.Status.Replicas, set.Status.ReadyReplicas = 1, 1
	}
	if before.Status.ObservedGeneration == set.Status.ObservedGeneration &&
		before.Status.ReadyReplicas == set.Status.ReadyReplicas && before.Status.UpdateRevision == revision {
		return nil
	}
	return n.client.Status().Patch(n.ctx, set, client.MergeFrom(before))
}
