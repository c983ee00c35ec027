// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/aalis-dev/aalis-operator/runtime/contract/agent"
	"github.com/aalis-dev/aalis-operator/runtime/contract/gateway"
	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
	"github.com/aalis-dev/aalis-operator/runtime/i18n"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
)

// noticeTimeout bounds how long the delivery of a system notice may take.
const noticeTimeout = 30 * time.Second

// router implements gateway.Gateway.
type router struct {
	k         *kernel.Context
	intake    *intake
	order     *order
	telemetry *telemetry
}

func newGateway(k *kernel.Context, cfg Config) *router {
	return &router{k: k, intake: newIntake(cfg.MaxConcurrent), order: newOrder(), telemetry: newTelemetry(k)}
}

// receive starts the processing of a platform's message and returns at once. A refused one is answered before it returns,
// so that whoever floods the bot pays for the notices.
func (g *router) receive(ctx context.Context, m message.Incoming) error {
	if !g.admit(ctx, m) {
		return nil
	}
	place := g.order.join(m.SessionID)
	g.k.Go("message", func(ctx context.Context) {
		defer g.intake.leave()
		defer place.leave()
		place.wait(ctx)
		g.process(place.within(ctx), m)
	})
	return nil
}

// IngressMessage implements gateway.Gateway.
func (g *router) IngressMessage(ctx context.Context, m message.Incoming) {
	if !g.admit(ctx, m) {
		return
	}
	defer g.intake.leave()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(g.k.Lifetime(), cancel)()
	g.process(ctx, m)
}

// DispatchOutbound implements gateway.Gateway.
func (g *router) DispatchOutbound(ctx context.Context, m message.Outgoing) {
	data := gateway.OutboundData{Message: m, Metadata: map[string]any{}}
	_, err := gateway.Outbound.Run(ctx, g.k, &data, func(ctx context.Context) error {
		message.Outbound.Emit(ctx, g.k, data.Message)
		return nil
	})
	if err != nil {
		g.k.Logger().Warn("Failed to dispatch Outgoing", "sessionId", m.SessionID, "platform", m.Platform, "error", err)
	}
}

// admit counts the message in or tells its sender why not.
func (g *router) admit(ctx context.Context, m message.Incoming) bool {
	v, limit := g.intake.enter()
	switch v {
	case tooMany:
		g.k.Logger().Warn("Refused Incoming because too many are in work", "sessionId", m.SessionID, "limit", limit)
		g.notice(ctx, m, i18n.Busy(limit))
	case stopping:
		g.k.Logger().Info("Refused Incoming because the gateway drains", "sessionId", m.SessionID)
		g.notice(ctx, m, i18n.Stopping())
	case taken:
	}
	return v == taken
}

var preDispatch = [...]struct {
	phase gateway.Phase
	hook  kernel.Hook[gateway.Inbound]
}{
	{gateway.PhaseConfirm, gateway.Confirm},
	{gateway.PhaseCommand, gateway.Command},
	{gateway.PhaseFlow, gateway.Flow},
	{gateway.PhaseTrigger, gateway.Trigger},
}

// process takes one message through the phases.
func (g *router) process(ctx context.Context, m message.Incoming) {
	data := &gateway.Inbound{Message: m, Metadata: map[string]any{}}
	data.Agent, _ = agent.Service.Get(g.k)
	for _, p := range preDispatch {
		if !g.phase(ctx, data, p.phase, p.hook, nil) {
			return
		}
	}
	g.phase(ctx, data, gateway.PhaseDispatch, gateway.Dispatch, func(ctx context.Context) error {
		if data.Agent == nil {
			g.k.Logger().Warn("Found no agent for Incoming", "sessionId", data.Message.SessionID)
			g.notice(ctx, data.Message, i18n.NoAgent())
			return nil
		}
		data.Agent.HandleMessage(ctx, data.Message)
		return nil
	})
}

// phase runs one phase and reports whether the message goes on. A failure ends the message there; its sender is told,
// because nobody else will.
func (g *router) phase(
	ctx context.Context, data *gateway.Inbound, name gateway.Phase, hook kernel.Hook[gateway.Inbound],
	final func(context.Context) error,
) bool {
	began := g.k.Now()
	reached, err := guard(func() (bool, error) { return hook.Run(ctx, g.k, data, final) })
	m := data.Message
	if err != nil {
		g.k.Logger().Warn("Failed to process Incoming", "phase", name, "sessionId", m.SessionID, "error", err)
		g.noticeText(ctx, m, i18n.InternalError().Failure(i18n.Of(g.k)))
		return false
	}
	g.telemetry.tell(gateway.PhaseDone{
		Phase: name, ReachedEnd: reached, Duration: g.k.Now().Sub(began),
		SessionID: m.SessionID, Platform: m.Platform, TurnID: m.TurnID,
	})
	if !reached {
		g.k.Logger().Debug("Ended Incoming before its last phase", "phase", name, "sessionId", m.SessionID)
	}
	return reached
}

func (g *router) notice(ctx context.Context, m message.Incoming, what i18n.Message) {
	g.noticeText(ctx, m, what.Notice(i18n.Of(g.k)))
}

// noticeText answers a message in the bot's own name, also when the message's context has ended.
func (g *router) noticeText(ctx context.Context, m message.Incoming, text string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), noticeTimeout)
	defer cancel()
	g.DispatchOutbound(ctx, message.Outgoing{
		Content: text, SessionID: m.SessionID, Platform: m.Platform, TurnID: m.TurnID, Source: message.FromSystem,
	})
}

// guard turns a panic of what a phase calls directly, the agent, into an error.
func guard(fn func() (bool, error)) (ok bool, err error) {
	defer func() {
		if r := recover(); r != nil {
			ok, err = false, fmt.Errorf("panic: %v\n%s", r, debug.Stack())
		}
	}()
	return fn()
}

var _ gateway.Gateway = (*router)(nil)
