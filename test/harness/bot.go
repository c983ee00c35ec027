// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	aalisv1alpha1 "github.com/aalis-dev/aalis-operator/api/v1alpha1"
	"github.com/aalis-dev/aalis-operator/cmd/kubectl-aalis/bot"
	"github.com/aalis-dev/aalis-operator/cmd/kubectl-aalis/chat"
	"github.com/aalis-dev/aalis-operator/cmd/kubectl-aalis/forward"
)

// PodName is the name of a bot's only pod, and of its AgentReplica.
func PodName(name string) string { return "aalis-" + name + "-0" }

// Bot reads an AgentInstance.
func (c *Cluster) Bot(ctx context.Context, namespace, name string) (*aalisv1alpha1.AgentInstance, error) {
	out := &aalisv1alpha1.AgentInstance{}
	err := c.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, out)
	return out, err
}

// Until watches an AgentInstance until done says so, or the context ends. The error of a timeout tells the last
// Ready condition, so that a failed wait explains itself.
func (c *Cluster) Until(ctx context.Context, namespace, name string, done func(*aalisv1alpha1.AgentInstance) bool) (*aalisv1alpha1.AgentInstance, error) {
	var last *aalisv1alpha1.AgentInstance
	for {
		found, err := c.watchOne(ctx, &aalisv1alpha1.AgentInstanceList{}, namespace, name, func(obj client.Object) bool {
			inst, ok := obj.(*aalisv1alpha1.AgentInstance)
			if ok {
				last = inst
			}
			return ok && done(inst)
		})
		if err != nil {
			return last, fmt.Errorf("waiting for bot %s/%s: %w; %s", namespace, name, err, describe(last))
		}
		if found {
			return last, nil
		}
	}
}

func describe(inst *aalisv1alpha1.AgentInstance) string {
	if inst == nil {
		return "it was not seen"
	}
	ready := meta.FindStatusCondition(inst.Status.Conditions, aalisv1alpha1.ConditionReady)
	if ready == nil {
		return "it has no Ready condition"
	}
	return fmt.Sprintf("state %s, Ready %s, %s: %s", inst.Status.State, ready.Status, ready.Reason, ready.Message)
}

// IsReady tells whether a bot runs what is declared, as its status says of its newest generation.
func IsReady(inst *aalisv1alpha1.AgentInstance) bool {
	return inst.Status.ObservedGeneration != nil && *inst.Status.ObservedGeneration == inst.Generation &&
		meta.IsStatusConditionTrue(inst.Status.Conditions, aalisv1alpha1.ConditionReady) &&
		inst.Status.State == aalisv1alpha1.StateActive && inst.Status.PendingChange == nil
}

// HasReason tells whether the Ready condition is False with the given reason.
func HasReason(reason string) func(*aalisv1alpha1.AgentInstance) bool {
	return func(inst *aalisv1alpha1.AgentInstance) bool {
		ready := meta.FindStatusCondition(inst.Status.Conditions, aalisv1alpha1.ConditionReady)
		return ready != nil && ready.Status == metav1.ConditionFalse && ready.Reason == reason
	}
}

// Ask sends one message to a bot and returns its whole answer. Each piece is also written to progress as it comes.
func (c *Cluster) Ask(ctx context.Context, namespace, name, session, text string, progress io.Writer) (string, error) {
	return c.AskAs(ctx, namespace, name, "", session, text, progress)
}

// AskAs is Ask as one of the people in the bot's token Secret.
func (c *Cluster) AskAs(ctx context.Context, namespace, name, person, session, text string, progress io.Writer) (string, error) {
	clients, err := bot.NewClients(c.Config)
	if err != nil {
		return "", err
	}
	door, err := bot.FindDoor(ctx, clients, namespace, name, person)
	if err != nil {
		return "", err
	}
	tunnel, err := forward.Open(ctx, c.Config, namespace, door.Pod, door.Port)
	if err != nil {
		return "", err
	}
	defer tunnel.Close()
	var answer strings.Builder
	client := chat.Client{BaseURL: tunnel.URL(), Token: door.Token, Session: session, Model: name}
	err = client.Ask(ctx, text, io.MultiWriter(&answer, progress))
	return strings.TrimSpace(answer.String()), err
}

// EditPersona changes a Persona's prompt and returns the time from sending the edit until the watch shows that the
// bot's kernel has applied it.
func (c *Cluster) EditPersona(ctx context.Context, namespace, persona, name, prompt string) (time.Duration, error) {
	w, err := c.Client.Watch(ctx, &aalisv1alpha1.AgentReplicaList{}, client.InNamespace(namespace),
		client.MatchingFieldsSelector{Selector: fields.OneTermEqualSelector("metadata.name", PodName(name))})
	if err != nil {
		return 0, fmt.Errorf("watching the replica of %s/%s: %w", namespace, name, err)
	}
	defer w.Stop()
	before, err := nextReplica(ctx, w)
	if err != nil {
		return 0, err
	}
	p := &aalisv1alpha1.Persona{}
	if err := c.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: persona}, p); err != nil {
		return 0, fmt.Errorf("reading persona %s/%s: %w", namespace, persona, err)
	}
	patch := client.MergeFrom(p.DeepCopy())
	p.Spec.Prompt = prompt
	start := time.Now()
	if err := c.Client.Patch(ctx, p, patch); err != nil {
		return 0, fmt.Errorf("editing persona %s/%s: %w", namespace, persona, err)
	}
	for {
		r, err := nextReplica(ctx, w)
		if err != nil {
			return 0, err
		}
		if r.Status.AppliedRevision != before.Status.AppliedRevision {
			return time.Since(start), nil
		}
	}
}

func nextReplica(ctx context.Context, w watch.Interface) (*aalisv1alpha1.AgentReplica, error) {
	for {
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("waiting for the kernel's acknowledgement: %w", ctx.Err())
		case e, ok := <-w.ResultChan():
			if !ok {
				return nil, fmt.Errorf("waiting for the kernel's acknowledgement: the watch ended")
			}
			if r, ok := e.Object.(*aalisv1alpha1.AgentReplica); ok && e.Type != watch.Deleted {
				return r, nil
			}
		}
	}
}

// Pod reads a bot's pod.
func (c *Cluster) Pod(ctx context.Context, namespace, name string) (*corev1.Pod, error) {
	pod := &corev1.Pod{}
	err := c.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: PodName(name)}, pod)
	return pod, err
}

// Restarts counts the restarts of a bot's containers.
func (c *Cluster) Restarts(ctx context.Context, namespace, name string) (int32, error) {
	pod, err := c.Pod(ctx, namespace, name)
	if err != nil {
		return 0, err
	}
	var n int32
	for _, s := range pod.Status.ContainerStatuses {
		n += s.RestartCount
	}
	return n, nil
}

// Metrics scrapes a bot's pod through the API server.
func (c *Cluster) Metrics(ctx context.Context, namespace, name string) (string, error) {
	return c.Run(ctx, "", "get", "--raw", fmt.Sprintf("/api/v1/namespaces/%s/pods/%s:9090/proxy/metrics", namespace, PodName(name)))
}

// watchOne watches one object until seen says so. It returns false when the server ended the watch.
func (c *Cluster) watchOne(ctx context.Context, list client.ObjectList, namespace, name string, seen func(client.Object) bool) (bool, error) {
	w, err := c.Client.Watch(ctx, list, client.InNamespace(namespace),
		client.MatchingFieldsSelector{Selector: fields.OneTermEqualSelector("metadata.name", name)})
	if err != nil {
		return false, err
	}
	defer w.Stop()
	for {
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case e, ok := <-w.ResultChan():
			if !ok {
				return false, ctx.Err()
			}
			if obj, isObject := e.Object.(client.Object); isObject && e.Type != watch.Deleted && seen(obj) {
				return true, nil
			}
		}
	}
}
