// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"github.com/aalis-dev/aalis-operator/runtime/contract/llm"
	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
	"github.com/aalis-dev/aalis-operator/runtime/contract/persona"
	"github.com/aalis-dev/aalis-operator/runtime/contract/platform"
	"github.com/aalis-dev/aalis-operator/runtime/contract/session"
	"github.com/aalis-dev/aalis-operator/runtime/contract/tokens"
	"github.com/aalis-dev/aalis-operator/runtime/contract/tools"
)

// configure reads once for the whole turn what the session decides: who the bot is there, and which tools it has.
func (t *turn) configure() {
	k := t.a.k
	if sessions, ok := session.Service.Get(k); ok {
		t.session = sessions.Resolve(t.msg.SessionID, t.msg.Platform)
		t.personaOpts = t.session.PersonaOptions()
	}
	if p, ok := persona.Service.Get(k); ok {
		t.persona, t.personaName = p, p.Card(t.personaOpts).Source
	}
	t.toolCall = tools.CallContext{
		SessionID: t.msg.SessionID, UserID: t.msg.UserID, Platform: t.msg.Platform, TurnID: t.msg.TurnID,
		EnabledGroups: t.session.EnabledToolGroups, SkipConfirm: message.Unattended(t.msg.Source),
	}
	if a := t.msg.Actor; a != nil {
		t.toolCall.UserID, t.toolCall.Platform = a.UserID, a.Platform
	}
	if registry, ok := tools.Service.Get(k); ok && t.cfg.MaxToolIterations > 0 {
		t.tools = registry.Definitions(t.session.EnabledToolGroups)
	}
}

// chooseModel finds the model that answers. The error is a noModel.
func (t *turn) chooseModel() error {
	var chosen llm.Ref
	if ref, ok := t.session.Model(); ok {
		chosen = ref
	}
	m, err := t.a.resolve(chosen)
	if err != nil {
		return err
	}
	t.use(m)
	return nil
}

// use makes a model the one that the turn asks.
func (t *turn) use(m llm.Model) {
	info := m.Info()
	t.model, t.window = m, t.cfg.windowOf(info)
	if counter := tokens.For(t.a.k, info.Provider, info.ID); t.counts == nil || t.counts.counter != counter {
		t.counts = newCounts(counter, t.a.counted)
	}
}

// assistantMetadata is what is stored with everything that the assistant says.
func (t *turn) assistantMetadata() map[string]any {
	out := map[string]any{"senderType": "assistant"}
	self, _ := platform.Self(t.a.k, t.msg.Platform, t.msg.SessionID)
	for _, f := range [...]struct{ key, value string }{
		{"userId", self.UserID}, {"nickname", self.Nickname}, {"platform", t.msg.Platform}, {"groupId", t.msg.GroupID}, {"groupName", t.msg.GroupName},
		{"sessionType", string(t.msg.SessionType)},
	} {
		if f.value != "" {
			out[f.key] = f.value
		}
	}
	return out
}

// triggerOf is why the turn happens; a message that does not say is answered directly.
func triggerOf(m message.Incoming) message.TriggerType {
	if m.TriggerType == "" {
		return message.TriggerDirect
	}
	return m.TriggerType
}
