// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package netguard

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"github.com/aalis-dev/aalis-operator/runtime/contract/access"
	"github.com/aalis-dev/aalis-operator/runtime/i18n"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
)

// Caller is for whom something is fetched: the person of the message.
type Caller struct{ Platform, UserID, SessionID string }

// Guard fetches for people of a bot, by its policy, and records what it refuses.
type Guard struct {
	k      *kernel.Context
	client *Client
}

// For makes the guard of a plugin. It ends with the plugin's context.
func For(k *kernel.Context, o Options) *Guard {
	if o.Policy == nil {
		o.Policy = func() Policy { return PolicyOf(k) }
	}
	g := &Guard{k: k, client: New(o)}
	k.OnDispose("close guarded connections", func(context.Context) error {
		g.client.Close()
		return nil
	})
	return g
}

// auditText bounds what is recorded of a host, in UTF-16 units.
const auditText = 128

// Fetch is [Client.Fetch] for somebody. A refusal is recorded with the host alone.
func (g *Guard) Fetch(ctx context.Context, who Caller, raw string, header http.Header) (Result, error) {
	r, err := g.client.Fetch(ctx, raw, header)
	if errors.Is(err, ErrRefused) {
		g.record(ctx, who, raw, err)
	}
	return r, err
}

func (g *Guard) record(ctx context.Context, who Caller, raw string, why error) {
	host := ""
	if u, err := url.Parse(raw); err == nil {
		host = i18n.Cut(u.Host, auditText)
	}
	g.k.Logger().Warn("Refused to fetch", "host", host, "platform", who.Platform, "userId", i18n.Cut(who.UserID, auditText),
		"sessionId", i18n.Cut(who.SessionID, auditText), "error", why)
	access.Decided.Emit(ctx, g.k, access.Audit{
		Kind: "network", Capability: "network:fetch", Outcome: "deny", Rule: "network", Detail: host,
		Platform: who.Platform, UserID: i18n.Cut(who.UserID, auditText), SessionID: i18n.Cut(who.SessionID, auditText),
	})
}
