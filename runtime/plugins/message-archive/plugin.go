// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package messagearchive is what stands between those who have something to remember and the memory backend: it gives
// incoming messages the form in which history shows them, and keeps the messages of a session in the order in which
// they came, whoever stores them.
//
// The agent and the plugins that swallow messages reach it by the service message-archive. It never reads memory and
// keeps nothing itself.
package messagearchive

import (
	"context"

	"github.com/aalis-dev/aalis-operator/runtime/contract/archive"
	"github.com/aalis-dev/aalis-operator/runtime/contract/memory"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
)

// Plugin is the module.
var Plugin = kernel.Define(kernel.Module{
	Name:        "@aalis/plugin-message-archive",
	DisplayName: "Message archive",
	Summary:     "Stores what is said, in order, in the memory backend.",
	Stability:   kernel.Beta,
	Inject:      kernel.Inject{Required: []string{memory.Service.Name()}},
	Provides:    []string{archive.Service.Name()},
	OnByDefault: true,
}, Default(), apply)

func apply(k *kernel.Context, cfg Config) error {
	s := newStore(k, cfg)
	kernel.OnReconfigure(k, func(_ context.Context, _, after Config) error {
		s.debug.Store(after.DebugLogs)
		return nil
	})
	archive.Service.Provide(k, s)
	return nil
}
