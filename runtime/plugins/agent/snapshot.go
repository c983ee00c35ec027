// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"

	"github.com/aalis-dev/aalis-operator/runtime/contract/agent"
	"github.com/aalis-dev/aalis-operator/runtime/contract/memory"
	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
	"github.com/aalis-dev/aalis-operator/runtime/contract/session"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
)

// measure answers a request for a snapshot of what fills a session's window: it makes the prompt that the session's next
// turn would begin with, and asks no model. What goes wrong is of no consequence.
func (a *conductor) measure(ctx context.Context, sessionID string) error {
	t := newTurn(a, message.Incoming{SessionID: sessionID, Platform: platformOf(a.k, sessionID)})
	t.dryRun = true
	if err := guard(func() error { return t.snapshot(ctx) }); err != nil {
		t.log().Debug("Failed to measure a session", "error", err)
	}
	return nil
}

func (t *turn) snapshot(ctx context.Context) error {
	t.configure()
	t.personaOpts.Persona = ""
	if err := t.chooseModel(); err != nil {
		return err
	}
	t.list = append([]message.Message{system(injectorPersona, t.systemPrompt())}, t.rawHistory(ctx)...)
	list, err := t.assemble(ctx, t.list)
	if err != nil {
		return err
	}
	data := t.llmData(list)
	if _, err := agent.LLMBefore.Run(ctx, t.a.k, &data, nil, kernel.WarnOnStall()); err != nil {
		return err
	}
	t.tellUsage(ctx, t.counts.trim(data.Messages, t.window.budget, t.cfg.MemoryTokenBudget), data.Tools)
	return nil
}

// rawHistory is the stored conversation as it is, but for what models never see.
func (t *turn) rawHistory(ctx context.Context) []message.Message {
	backend, ok := memory.Service.Get(t.a.k)
	if !ok || t.cfg.HistoryLimit == 0 {
		return nil
	}
	stored, err := backend.History(ctx, t.msg.SessionID, t.cfg.HistoryLimit)
	if err != nil {
		t.log().Debug("Failed to load history", "error", err)
		return nil
	}
	list := stored[:0]
	for _, m := range stored {
		if !m.IsControl() {
			list = append(list, m)
		}
	}
	return list
}

// platformOf is the platform of a session, if its record tells.
func platformOf(k *kernel.Context, sessionID string) string {
	sessions, ok := session.Service.Get(k)
	if !ok {
		return ""
	}
	info, _ := sessions.Get(sessionID)
	s, _ := info.Metadata["platform"].(string)
	return s
}
