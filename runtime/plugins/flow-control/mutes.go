// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package flowcontrol

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/aalis-dev/aalis-operator/runtime/contract/memory"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
)

// mutePrefix begins the keys of mutes in the namespace of flow control.
const mutePrefix = "mute:"

// storeTimeout bounds how long storing a mute may hold up a message.
const storeTimeout = 5 * time.Second

// storedMute is a mute as it is kept over restarts.
type storedMute struct {
	Platform string `json:"platform"`
	// MutedUntil in milliseconds since 1970.
	MutedUntil int64 `json:"mutedUntil"`
}

// mutes are kept in the memory backend.
type mutes struct{ k *kernel.Context }

// store keeps a mute, or forgets it if until is zero. A mute that could not be stored holds until a restart.
func (m *mutes) store(ctx context.Context, sessionID, platform string, until time.Time) {
	b, ok := memory.Service.Get(m.k)
	if !ok {
		return
	}
	op := memory.Op{Namespace: memory.NamespaceFlow, Key: mutePrefix + sessionID}
	var err error
	if !until.IsZero() {
		op, err = memory.Put(op.Namespace, op.Key, storedMute{Platform: platform, MutedUntil: until.UnixMilli()})
	}
	if err == nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
		defer cancel()
		err = b.CommitMetadata(ctx, []memory.Op{op})
	}
	if err != nil {
		m.k.Logger().Warn("Could not store a mute, so a restart ends it", "sessionId", sessionID, "error", err)
	}
}

// load reads what is kept and drops what is over.
func (m *mutes) load(ctx context.Context, b memory.Backend, now time.Time, restore func(sessionID, platform string, until time.Time)) error {
	entries, err := b.ListMetadata(ctx, memory.NamespaceFlow)
	if err != nil {
		return fmt.Errorf("reading the namespace %s: %w", memory.NamespaceFlow, err)
	}
	var over []memory.Op
	for _, e := range entries {
		id, ok := strings.CutPrefix(e.Key, mutePrefix)
		if !ok {
			continue
		}
		var s storedMute
		if err := json.Unmarshal(e.Data, &s); err != nil {
			m.k.Logger().Warn("Ignored a stored mute that cannot be read", "sessionId", id, "error", err)
			continue
		}
		until := time.UnixMilli(s.MutedUntil)
		if !now.Before(until) {
			over = append(over, memory.Op{Namespace: memory.NamespaceFlow, Key: e.Key})
			continue
		}
		restore(id, s.Platform, until)
	}
	if len(over) == 0 {
		return nil
	}
	if err := b.CommitMetadata(ctx, over); err != nil {
		return fmt.Errorf("dropping mutes that are over: %w", err)
	}
	return nil
}
