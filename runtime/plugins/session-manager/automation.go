// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sessionmanager

import (
	"context"

	"github.com/aalis-dev/aalis-operator/runtime/contract/agent"
	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
	"github.com/aalis-dev/aalis-operator/runtime/contract/session"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
)

// inbound: somebody speaks, so the session is active, and may be given a title. A session that nobody made stays unknown.
func (m *manager) inbound(ctx context.Context, in message.Incoming) error {
	m.status(ctx, in.SessionID, session.Active, false)
	m.title(in)
	return nil
}

// outbound: the bot has answered. A child is completed by whoever gave it its task.
func (m *manager) outbound(ctx context.Context, out message.Outgoing) error {
	m.status(ctx, out.SessionID, session.Completed, true)
	return nil
}

// turnAfter: a turn has ended, whatever its outcome.
func (m *manager) turnAfter(ctx context.Context, d *agent.TurnData, next kernel.Next) error {
	err := next(ctx)
	m.status(ctx, d.SessionID, session.Completed, true)
	return err
}

// status changes the status of a session that is there.
func (m *manager) status(ctx context.Context, id string, to session.Status, rootsOnly bool) {
	m.mu.Lock()
	r := m.records[id]
	if r == nil || rootsOnly && r.ParentID != "" || r.Status == to {
		if r != nil && !rootsOnly {
			r.UpdatedAt = max(m.k.Now().UnixMilli(), r.UpdatedAt) // for the order; not worth a write
		}
		m.mu.Unlock()
		return
	}
	_, _ = m.change(ctx, r, session.Patch{Status: to}) // never fails; gives up the lock
}
