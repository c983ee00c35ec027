// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/aalis-dev/aalis-operator/runtime/contract/agent"
	"github.com/aalis-dev/aalis-operator/runtime/contract/gateway"
	"github.com/aalis-dev/aalis-operator/runtime/contract/llm"
	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
	"github.com/aalis-dev/aalis-operator/runtime/i18n"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
)

// settleTimeout bounds each step that must happen although its turn may have been aborted: storing, sending, telling.
const settleTimeout = 30 * time.Second

// conductor implements agent.Agent.
type conductor struct {
	k     *kernel.Context
	lanes *lanes
	cfg   atomic.Pointer[Config]
	model atomic.Pointer[llm.Ref] // what the bot's declaration asks for

	counted       *textCounts
	usageLog      *usageLog
	preprocessors preprocessors
}

func newConductor(k *kernel.Context, cfg Config) *conductor {
	a := &conductor{k: k, lanes: newLanes(), counted: newTextCounts(), usageLog: newUsageLog()}
	a.cfg.Store(&cfg)
	a.model.Store(&llm.Ref{})
	return a
}

// HandleMessage implements agent.Agent.
func (a *conductor) HandleMessage(ctx context.Context, m message.Incoming) {
	ctx, lane, ok := a.lanes.begin(ctx, m.SessionID, m.Source, m.TurnID)
	if !ok {
		a.k.Logger().Info("Refused Incoming because the agent drains", "sessionId", m.SessionID)
		a.say(ctx, m, i18n.Stopping().Notice(i18n.Of(a.k)))
		return
	}
	defer a.lanes.end(lane)
	t := newTurn(a, m)
	t.traced(ctx, t.run)
}

// Abort implements agent.Agent.
func (a *conductor) Abort(sessionID string) { a.lanes.abort(sessionID) }

// AbortTurn implements agent.Agent.
func (a *conductor) AbortTurn(turnID string) { a.lanes.abortTurn(turnID) }

// stop ends what draining has left.
func (a *conductor) stop(ctx context.Context) error {
	a.lanes.stop(ctx)
	return nil
}

// say answers a message in the bot's own name.
func (a *conductor) say(ctx context.Context, m message.Incoming, text string) {
	ctx, cancel := settle(ctx)
	defer cancel()
	a.send(ctx, message.Outgoing{
		Content: text, SessionID: m.SessionID, Platform: m.Platform, TurnID: m.TurnID, Source: message.FromSystem,
	})
}

// send hands a message to the gateway, or straight to the platforms when there is none.
func (a *conductor) send(ctx context.Context, m message.Outgoing) {
	if g, ok := gateway.Service.Get(a.k); ok {
		g.DispatchOutbound(ctx, m)
		return
	}
	a.k.Logger().Warn("Sent Outgoing past the outbound pipeline because no gateway is registered", "sessionId", m.SessionID)
	message.Outbound.Emit(ctx, a.k, m)
}

// settle makes a context for what must still happen when a turn's own context has ended.
func settle(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), settleTimeout)
}

var _ agent.Agent = (*conductor)(nil)
