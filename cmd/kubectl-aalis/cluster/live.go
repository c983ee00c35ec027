// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
	"github.com/aalis-dev/aalis-operator/controllers/render"
)

// Live is what is there of one bot.
type Live struct {
	Instance *v1alpha1.AgentInstance
	// StatefulSet is nil if there is none.
	StatefulSet *appsv1.StatefulSet
	// Pods of the bot, sorted by name.
	Pods []corev1.Pod
	// Replicas are the kernels' reports, sorted by name.
	Replicas []v1alpha1.AgentReplica
	// Holder is the pod that takes the turns, where a Lease says so; otherwise empty.
	Holder string
	// Notes tell what the caller may not read, in words for people.
	Notes []string
}

// Replica finds the report of a pod. One that another pod of the same name wrote before does not count.
func (l Live) Replica(pod corev1.Pod) *v1alpha1.AgentReplica {
	for i := range l.Replicas {
		if r := &l.Replicas[i]; r.Name == pod.Name && types.UID(r.Status.PodUID) == pod.UID {
			return r
		}
	}
	return nil
}

// ReadLive reads a bot and its children. What the caller has no right to read is left out with a note, except the bot
// itself.
func ReadLive(ctx context.Context, c client.Client, namespace, name string) (Live, error) {
	bot, err := Bot(ctx, c, namespace, name)
	if err != nil {
		return Live{}, err
	}
	return ReadChildren(ctx, c, bot)
}

// ReadChildren is ReadLive for a bot that has been read.
func ReadChildren(ctx context.Context, c client.Client, bot *v1alpha1.AgentInstance) (Live, error) {
	r := reader{ctx: ctx, client: c, live: Live{Instance: bot}}
	key := client.ObjectKey{Namespace: bot.Namespace, Name: render.ChildName(bot.Name)}
	var set appsv1.StatefulSet
	if r.get("the StatefulSet", key, &set) {
		r.live.StatefulSet = &set
	}
	var lease coordinationv1.Lease
	if r.get("the Lease", key, &lease) && lease.Spec.HolderIdentity != nil {
		r.live.Holder = *lease.Spec.HolderIdentity
	}
	var pods corev1.PodList
	r.list("pods", bot, &pods)
	r.live.Pods = pods.Items
	slices.SortFunc(r.live.Pods, func(a, b corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
	var replicas v1alpha1.AgentReplicaList
	r.list("AgentReplicas", bot, &replicas)
	r.live.Replicas = replicas.Items
	slices.SortFunc(r.live.Replicas, func(a, b v1alpha1.AgentReplica) int { return cmp.Compare(a.Name, b.Name) })
	return r.live, r.err
}

// reader reads until the first error that is no missing right.
type reader struct {
	ctx    context.Context
	client client.Client
	live   Live
	err    error
}

func (r *reader) get(what string, key client.ObjectKey, obj client.Object) bool {
	if r.err != nil {
		return false
	}
	err := r.client.Get(r.ctx, key, obj)
	if apierrors.IsNotFound(err) {
		return false
	}
	return r.tell(what, err)
}

func (r *reader) list(what string, bot *v1alpha1.AgentInstance, list client.ObjectList) {
	if r.err != nil {
		return
	}
	r.tell(what, r.client.List(r.ctx, list, client.InNamespace(bot.Namespace), client.MatchingLabels{v1alpha1.LabelInstance: bot.Name}))
}

func (r *reader) tell(what string, err error) bool {
	switch {
	case err == nil:
		return true
	case apierrors.IsForbidden(err):
		r.live.Notes = append(r.live.Notes, "you may not read "+what+" of this namespace")
	default:
		r.err = fmt.Errorf("reading %s of bot %s: %w", what, r.live.Instance.Name, err)
	}
	return false
}

// Events lists what happened to the bot, its pods and its StatefulSet, the newest first. A caller with no right to read
// events gets none and a note.
func Events(ctx context.Context, c client.Client, live Live) ([]corev1.Event, string, error) {
	var out []corev1.Event
	names := []string{live.Instance.Name, render.ChildName(live.Instance.Name)}
	for i := range live.Pods {
		names = append(names, live.Pods[i].Name)
	}
	for _, name := range names {
		var list corev1.EventList
		err := c.List(ctx, &list, client.InNamespace(live.Instance.Namespace), client.MatchingFields{"involvedObject.name": name})
		if apierrors.IsForbidden(err) {
			return nil, "you may not read events of this namespace", nil
		}
		if err != nil {
			return nil, "", fmt.Errorf("listing events: %w", err)
		}
		for _, e := range list.Items {
			if concerns(e, live) {
				out = append(out, e)
			}
		}
	}
	slices.SortStableFunc(out, func(a, b corev1.Event) int { return EventTime(b).Compare(EventTime(a)) })
	return out, "", nil
}

// concerns leaves out events of other objects of the same name, and of pods that are gone.
func concerns(e corev1.Event, live Live) bool {
	switch e.InvolvedObject.Kind {
	case v1alpha1.KindAgentInstance:
		return e.InvolvedObject.UID == live.Instance.UID
	case "Pod":
		return slices.ContainsFunc(live.Pods, func(p corev1.Pod) bool { return p.UID == e.InvolvedObject.UID })
	case "StatefulSet":
		return live.StatefulSet != nil && live.StatefulSet.UID == e.InvolvedObject.UID
	}
	return false
}
