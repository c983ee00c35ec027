// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
	"github.com/aalis-dev/aalis-operator/controllers/plan"
	"github.com/aalis-dev/aalis-operator/controllers/render"
	"github.com/aalis-dev/aalis-operator/runtime/kernelconfig"
)

// kernelOwner is the field manager of kernels.
const kernelOwner = "aalis-kernel"

// kernelState is what the kernel in one pod has done.
type kernelState struct {
	podUID   string
	template string
	applied  *kernelconfig.Delivery
	rejected *v1alpha1.RejectedRevision
	said     string
}

// runKernel takes what the ConfigMap delivers, or refuses it, and reports.
func (n *Node) runKernel(bot string, state *kernelState) error {
	var cm corev1.ConfigMap
	key := types.NamespacedName{Namespace: n.namespace, Name: render.ChildName(bot)}
	if err := n.client.Get(n.ctx, key, &cm); err != nil {
		return err
	}
	// What cannot be read changes nothing: a kernel goes on with what it runs.
	if slots, err := kernelconfig.ReadSlots(cm.Data, cm.BinaryData); err == nil && slots.Current != nil {
		n.take(bot, state, slots)
		return n.reportKernel(bot, state)
	}
	return nil
}

// take follows the rules of delivery: no lower sequence, the last good config at a cold start whose current is refused.
func (n *Node) take(bot string, state *kernelState, slots kernelconfig.Slots) {
	current := slots.Current
	if state.applied != nil && current.Sequence < state.applied.Sequence {
		return
	}
	if n.behaviour.Reject != nil {
		if message := n.behaviour.Reject(bot, current.Revision); message != "" {
			sequence := current.Sequence
			state.rejected = &v1alpha1.RejectedRevision{Revision: current.Revision, Sequence: &sequence, Message: message}
			if state.applied == nil {
				state.applied = slots.LastGood
			}
			return
		}
	}
	state.applied, state.rejected = current, nil
}

func (n *Node) reportKernel(bot string, state *kernelState) error {
	status := v1alpha1.AgentReplicaStatus{
		PodUID: state.podUID, Version: "test", Rejected: state.rejected, ModelMessage: n.behaviour.ModelMessage,
	}
	if hash, err := n.catalog.Hash(); err == nil {
		status.CatalogHash = hash
	}
	if state.applied != nil {
		config, err := state.applied.Unpack()
		if err != nil {
			return fmt.Errorf("reading what is delivered to %s: %w", bot, err)
		}
		sequence := state.applied.Sequence
		status.AppliedRevision, status.AppliedSequence = state.applied.Revision, &sequence
		status.Plugins = n.plugins(bot, config)
		if config.Model != nil && status.ModelMessage == "" {
			status.Model = config.Model.Entry()
		}
	}
	data, err := json.Marshal(status)
	if err != nil {
		return fmt.Errorf("encoding a kernel's report: %w", err)
	}
	if string(data) == state.said {
		return nil
	}
	status.AppliedTime = metav1.NowMicro()
	status.StartTime = metav1.NewTime(time.Now())
	replica := &v1alpha1.AgentReplica{}
	if err := n.client.Get(n.ctx, types.NamespacedName{Namespace: n.namespace, Name: render.PodName(bot)}, replica); err != nil {
		return err
	}
	before := replica.DeepCopy()
	replica.Status = status
	if err := n.client.Status().Patch(n.ctx, replica, client.MergeFrom(before), client.FieldOwner(kernelOwner)); err != nil {
		return err
	}
	state.said = string(data)
	return nil
}

// plugins are the states that the planner predicts, but for those that fail.
func (n *Node) plugins(bot string, config kernelconfig.Config) []v1alpha1.PluginStatus {
	var missing []kernelconfig.SecretKey
	for _, k := range config.MountedSecrets() {
		if slices.Contains(n.behaviour.Missing, k.Name+"/"+k.Key) {
			missing = append(missing, k)
		}
	}
	var out []v1alpha1.PluginStatus
	for _, p := range plan.Predict(config, n.catalog, missing...).Plugins {
		out = append(out, v1alpha1.PluginStatus{ID: p.ID, State: v1alpha1.State(p.State), Message: strings.TrimSpace(p.Message)})
	}
	if n.behaviour.Failing == nil {
		return out
	}
	for _, p := range config.Plugins {
		message := n.behaviour.Failing(bot, p)
		i := slices.IndexFunc(out, func(s v1alpha1.PluginStatus) bool { return s.ID == p.ID })
		if message != "" && i >= 0 {
			out[i].State, out[i].Message = v1alpha1.StateError, message
		}
	}
	return out
}
