// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package platform is the contract of what connects a bot to a chat platform. Several adapters may be there at once, also of
// one platform.
package platform

import (
	"fmt"
	"strings"

	"github.com/aalis-dev/aalis-operator/runtime/kernel"
)

// Service is the key of the service platform. Each adapter is an entry of its own.
var Service = kernel.NewService[Adapter]("platform")

// Adapter connects the bot to one platform.
type Adapter interface {
	// Platform that the adapter connects to, as messages name it. No adapter may call itself cli or webui: whoever sits at
	// those may be an owner.
	Platform() string
	// CanHandle tells whether a session is one of this adapter's connections.
	CanHandle(sessionID string) bool
	// Self is who the bot is in a session; ok is false where it goes by no identity of its own.
	Self(sessionID string) (id Identity, ok bool)
}

// Identity is who somebody is on a platform.
type Identity struct {
	UserID, Nickname string
}

// Self asks the adapter of a session who the bot is there. An adapter of another platform, and one that fails, is passed over.
func Self(k *kernel.Context, platform, sessionID string) (id Identity, ok bool) {
	for _, e := range Service.Entries(k) {
		if id, ok := selfOf(k, e.Instance, platform, sessionID); ok {
			return id, true
		}
	}
	return Identity{}, false
}

func selfOf(k *kernel.Context, a Adapter, platform, sessionID string) (id Identity, ok bool) {
	defer func() {
		if p := recover(); p != nil {
			k.Logger().Warn("An adapter failed to say who the bot is", "platform", platform, "panic", fmt.Sprint(p))
			id, ok = Identity{}, false
		}
	}()
	if a.Platform() != platform || !a.CanHandle(sessionID) {
		return Identity{}, false
	}
	id, ok = a.Self(sessionID)
	return id, ok && strings.TrimSpace(id.UserID) != ""
}
