// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package llmopenai is the plugin @aalis/plugin-llm-openai: chat models of OpenAI and of every server that speaks its
// protocol.
//
// Each model is an entry of the service llm, "<instance id>/<model id>". The models that the config lists (customModels)
// are there at once. Those that the server lists are looked for in the background, again and again until it answers and
// every quarter of an hour from then on; they come and go as the server says. A server that is down when the bot starts
// therefore costs nothing but its own models until it is up, and the plugin is never in error for it. For the same reason
// the module declares no provided service: what a module declares must be there once it is applied. Whoever needs a model
// should use llm as an optional service.
//
// A call is tried at most three times, within twenty seconds of waiting, when the server is busy, fails or cannot be
// reached, as long as nothing of the reply has been handed on. What went wrong in detail is in the log; the caller gets a
// short text fit for a chat. The key is in neither.
//
// The host's plugin list refers to Plugin; nothing else here is for others. The package never calls a tool, keeps no
// conversation and reads no environment.
package llmopenai

import (
	"context"
	"fmt"
	"time"

	"github.com/aalis-dev/aalis-operator/runtime/kernel"
)

// ModuleName is the full name of the module.
const ModuleName = "@aalis/plugin-llm-openai"

// firstDiscovery is how long Apply waits for the first list of models when the config names none.
const firstDiscovery = 2 * time.Second

// Plugin is the module.
var Plugin = kernel.Define(kernel.Module{
	Name:        ModuleName,
	DisplayName: "OpenAI-compatible models",
	Summary:     "Chat models of OpenAI and of every server that speaks its protocol.",
	Stability:   kernel.Beta,
	Permissions: []kernel.Permission{kernel.Network, kernel.Secrets},
	Reusable:    true,
}, Default(), apply)

func apply(k *kernel.Context, cfg Config) error { return applyWith(k, cfg, realTools()) }

func applyWith(k *kernel.Context, cfg Config, t tools) error {
	set, err := cfg.settings()
	if err != nil {
		return err
	}
	ep, err := newEndpoint(k, cfg)
	if err != nil {
		return err
	}
	p := newProvider(k, ep, set, t)
	k.OnDispose("connections", p.close)
	k.OnDrain("calls", p.drain)
	kernel.OnReconfigure(k, p.reconfigure)
	p.sync()
	first := make(chan struct{})
	k.Go("discovery", func(ctx context.Context) { p.discover(ctx, first) })
	if len(set.custom) == 0 {
		p.await(first, firstDiscovery)
	}
	return nil
}

// await waits for the first discovery, so that a bot whose server is up has its models from its first moment.
func (p *provider) await(first <-chan struct{}, most time.Duration) {
	limit := time.NewTimer(most)
	defer limit.Stop()
	select {
	case <-first:
	case <-limit.C:
	case <-p.k.Lifetime().Done():
	}
}

// reconfigure takes over everything but where the server is and who we are there.
func (p *provider) reconfigure(_ context.Context, before, after Config) error {
	if before.BaseURL != after.BaseURL || before.APIKey != after.APIKey {
		return kernel.ErrNeedsBounce
	}
	set, err := after.settings()
	if err != nil {
		return fmt.Errorf("reconfiguring: %w", err)
	}
	p.set.Store(set)
	p.sync()
	return nil
}
