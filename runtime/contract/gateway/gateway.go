// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package gateway is the contract of the message router: the phases that an incoming message passes and the
// pipeline that an outgoing one leaves by.
package gateway

import (
	"context"
	"time"

	"github.com/aalis-dev/aalis-operator/runtime/contract/agent"
	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
)

// Service is the key of the service gateway.
var Service = kernel.NewService[Gateway]("gateway")

// Gateway routes messages.
type Gateway interface {
	// IngressMessage takes a message through all phases and returns when its turn has ended. Listeners of
	// inbound:message do not see it.
	IngressMessage(ctx context.Context, m message.Incoming)
	// DispatchOutbound sends a message out through the outbound pipeline.
	DispatchOutbound(ctx context.Context, m message.Outgoing)
}

// Phase names a step of an incoming message.
type Phase string

// The phases, in their order. A handler that does not call next ends the message there.
const (
	PhaseConfirm  Phase = "inbound:confirm"
	PhaseCommand  Phase = "inbound:command"
	PhaseFlow     Phase = "inbound:flow"
	PhaseTrigger  Phase = "inbound:trigger"
	PhaseDispatch Phase = "inbound:dispatch"
)

// Inbound is the data that all phases of one message share.
type Inbound struct {
	Message  message.Incoming
	Metadata map[string]any
	// Agent that will answer; nil when there is none.
	Agent agent.Agent
}

// OutboundData is the data of the outbound pipeline.
type OutboundData struct {
	Message  message.Outgoing
	Metadata map[string]any
}

// The hooks of the phases, and of the way out.
var (
	Confirm  = kernel.NewHook[Inbound](string(PhaseConfirm))
	Command  = kernel.NewHook[Inbound](string(PhaseCommand))
	Flow     = kernel.NewHook[Inbound](string(PhaseFlow))
	Trigger  = kernel.NewHook[Inbound](string(PhaseTrigger))
	Dispatch = kernel.NewHook[Inbound](string(PhaseDispatch))
	Outbound = kernel.NewHook[OutboundData]("outbound:dispatch")
)

// PhaseDone tells that a phase has ended, for measuring.
type PhaseDone struct {
	Phase      Phase
	ReachedEnd bool
	Duration   time.Duration
	SessionID  string
	Platform   string
	TurnID     string
}

// Done is the event of PhaseDone.
var Done = kernel.NewEvent[PhaseDone]("gateway:phase:done")
