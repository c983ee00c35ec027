// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package memoryinmemory is the memory backend that keeps everything in the process: it needs nothing, and a restart
// forgets all. Its priority of -100 lets any other backend win over it.
//
// The agent, the archive and other plugins reach it by the service memory. It never writes anything anywhere, and what
// it holds is bounded: sessions and messages by the config, metadata by maxMetadataEntries and memory.MaxDataBytes.
package memoryinmemory

import (
	"context"

	"github.com/aalis-dev/aalis-operator/runtime/contract/memory"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
)

// priority in the service memory: below every persistent backend.
const priority = -100

// Plugin is the module.
var Plugin = kernel.Define(kernel.Module{
	Name:        "@aalis/plugin-memory-inmemory",
	DisplayName: "In-memory memory",
	Summary:     "Keeps conversations in the process; a restart forgets them.",
	Stability:   kernel.Beta,
	Provides:    []string{memory.Service.Name()},
	OnByDefault: true,
}, Default(), apply)

func apply(k *kernel.Context, cfg Config) error {
	b := newBackend(k, cfg)
	kernel.OnReconfigure(k, func(_ context.Context, _, after Config) error {
		b.messages.setLimits(after)
		return nil
	})
	memory.Service.Provide(k, b, kernel.WithPriority(priority))
	return nil
}
