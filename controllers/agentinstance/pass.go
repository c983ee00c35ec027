// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package agentinstance

import (
	"time"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
	"github.com/aalis-dev/aalis-operator/controllers/compose"
	"github.com/aalis-dev/aalis-operator/controllers/render"
	"github.com/aalis-dev/aalis-operator/runtime/kernelconfig"
)

// pass is what one reconciliation of one bot knows. Its steps fill it in order: gather, compose, observe, deliver,
// apply, evaluate.
type pass struct {
	instance    *v1alpha1.AgentInstance
	input       compose.Input
	options     render.Options
	catalogHash string
	onDelivery  func(result string)
	now         time.Time

	// composed is what the declared objects amount to.
	composed compose.Result

	// delivered are the slots as the cache shows them, inputs the annotation with what they were composed of, first as it is
	// and then as it is to be; world is the rest of what is there.
	delivered kernelconfig.Slots
	inputs    string
	world     world

	// wanted are the slots to be applied; running is the config that they ask for, nil if there is none.
	wanted  kernelconfig.Slots
	running *kernelconfig.Config

	// stuck is why the children could not all be applied, if that will not pass by itself.
	stuck error
}

// world is what is seen of a bot's pod.
type world struct {
	// scaled is the number of pods that the StatefulSet wants; -1 without a StatefulSet.
	scaled int32
	// ready tells that the pod is ready; rolling that it is being replaced.
	ready, rolling bool
	// podUID is empty without a pod.
	podUID string
	// replica is the report of the kernel in that very pod; nil if there is none.
	replica *v1alpha1.AgentReplica
}

// suspended tells whether the bot is declared to have no pod.
func (p *pass) suspended() bool { return p.instance.Spec.State == v1alpha1.DesiredStateSuspended }
