// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package commands

import (
	"context"
	"strings"

	"github.com/aalis-dev/aalis-operator/runtime/contract/commands"
	"github.com/aalis-dev/aalis-operator/runtime/contract/gateway"
	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
	"github.com/aalis-dev/aalis-operator/runtime/i18n"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
)

// maxLogged bounds, in UTF-16 code units, what the log shows of the result of a command that nobody waits for.
const maxLogged = 500

// phase takes commands out of the way of a message to the agent.
type phase struct {
	k        *kernel.Context
	registry *registry
}

// handle is the handler of inbound:command. What is a command ends here, whatever comes of it.
func (p *phase) handle(ctx context.Context, d *gateway.Inbound, next kernel.Next) error {
	m := d.Message
	if strings.TrimSpace(m.Content) == "" {
		return next(ctx)
	}
	parsed, ok := p.registry.Parse(m.Content)
	if !ok {
		return next(ctx)
	}
	call := commands.Call{
		SessionID: m.SessionID, Platform: m.Platform, UserID: m.UserID, SessionType: m.SessionType,
		TurnID:      m.TurnID,
		SkipConfirm: message.Unattended(m.Source),
	}
	if m.Actor != nil {
		call.Platform, call.UserID = m.Actor.Platform, m.Actor.UserID
	}
	p.reply(ctx, m, parsed.Name, p.registry.Execute(ctx, parsed, call))
	return nil
}

// reply shows the text of a command, also when the message's own context has ended meanwhile.
func (p *phase) reply(ctx context.Context, m message.Incoming, name, text string) {
	if text == "" {
		return
	}
	if message.Unattended(m.Source) {
		p.k.Logger().Info("Ran Command", "command", name, "source", m.Source, "sessionId", m.SessionID,
			"result", i18n.Cut(text, maxLogged))
		return
	}
	g, ok := gateway.Service.Get(p.k)
	if !ok {
		p.k.Logger().Warn("Failed to answer Command: there is no gateway", "command", name, "sessionId", m.SessionID)
		return
	}
	g.DispatchOutbound(context.WithoutCancel(ctx), message.Outgoing{
		Content: text, SessionID: m.SessionID, Platform: m.Platform, TurnID: m.TurnID, Source: message.FromCommand,
	})
}
