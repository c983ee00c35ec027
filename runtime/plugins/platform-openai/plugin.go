// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package platformopenai is the plugin @aalis/plugin-platform-openai: any OpenAI client can talk to the bot.
//
// It serves POST /v1/chat/completions (streamed or not), GET /v1/models and GET /v1/models/{id}; the one model is the bot,
// under its name. Each token of the Secret stands for one user. The header X-Aalis-Session, or else the field user of the
// request, only chooses one of that user's sessions; a client that gives neither is in the session "default".
//
// The bot has its own memory, persona, model and tools. Of the conversation that a client sends only the last message of
// the role user counts, with its images; the other messages, and fields such as temperature or tools, are ignored. A model
// of another name is accepted for the sake of clients that insist on theirs.
//
// What the bot says for itself, as that there is no model or that the model said nothing, is answered as the assistant's text with the header
// X-Aalis-Notice: system. A message that the bot leaves without an answer is answered with an empty text. A turn that was
// replaced by a newer message of the same session gets status 409. Streamed deltas are the model's own words; when a plugin
// changes a reply after it was streamed, only answers that are not streamed show the change.
//
// A client that hangs up ends its turn. When the plugin is stopped it takes no new requests and lets running ones finish.
//
// The host's plugin list refers to Plugin; nothing else here is for others. The package never calls a model, keeps no
// conversation, and neither logs nor answers with a token.
package platformopenai

import (
	"context"
	"fmt"
	"net"
	"strconv"

	"github.com/aalis-dev/aalis-operator/runtime/contract/agent"
	"github.com/aalis-dev/aalis-operator/runtime/contract/gateway"
	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
)

// ModuleName is the full name of the module.
const ModuleName = "@aalis/plugin-platform-openai"

// Platform is the name of the platform, as in session ids and policies.
const Platform = "openai"

// Plugin is the module.
var Plugin = kernel.Define(kernel.Module{
	Name:        ModuleName,
	DisplayName: "OpenAI-compatible platform",
	Summary:     "Lets any OpenAI client talk to the bot.",
	Stability:   kernel.Beta,
	Inject: kernel.Inject{
		Required: []string{gateway.Service.Name()},
		Optional: []string{agent.Service.Name()},
	},
	Permissions: []kernel.Permission{kernel.Network, kernel.Secrets},
}, Default(), apply)

func apply(k *kernel.Context, cfg Config) error {
	set, err := cfg.settings()
	if err != nil {
		return err
	}
	ln, err := listen(k.Lifetime(), cfg.Port)
	if err != nil {
		return err
	}
	run(k, ln, set)
	return nil
}

// listen opens the port on all addresses of the machine.
func listen(ctx context.Context, port int) (net.Listener, error) {
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", net.JoinHostPort("", strconv.Itoa(port)))
	if err != nil {
		return nil, fmt.Errorf("config.port: opening port %d: %w", port, err)
	}
	return ln, nil
}

// run serves on a listener until the context is torn down.
func run(k *kernel.Context, ln net.Listener, set *settings) *server {
	s := newServer(k, ln, set)
	k.OnDispose("server", s.stop)
	k.OnDrain("requests", s.drain)
	kernel.OnReconfigure(k, s.reconfigure)
	message.Stream.On(k, s.turns.stream)
	message.Outbound.On(k, s.turns.outbound)
	gateway.Done.On(k, s.turns.phase)
	agent.TurnAfter.Use(k, s.turns.after)
	k.Go("serve", s.serve)
	return s
}

// reconfigure takes over everything but the port. Requests under way keep what they began with.
func (s *server) reconfigure(_ context.Context, before, after Config) error {
	if before.Port != after.Port {
		return kernel.ErrNeedsBounce
	}
	set, err := after.settings()
	if err != nil {
		return fmt.Errorf("reconfiguring: %w", err)
	}
	s.set.Store(set)
	return nil
}
