// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package sessionconfirm asks people in the conversation to confirm what the bot is about to do for them. It puts one
// question at a time to a session, takes the next message of the very person it asked as the answer, and refuses when there
// is none in time.
//
// It answers the service authority for every platform that has no way of its own to ask, and takes answers in the first
// phase of the gateway, so that a "Y" is never seen by commands or by the model. Platforms with a way of their own make a
// channel by the service session-confirm. It never decides who may do what.
package sessionconfirm

import (
	"context"
	"errors"
	"time"

	"github.com/aalis-dev/aalis-operator/runtime/contract/access"
	"github.com/aalis-dev/aalis-operator/runtime/contract/confirm"
	"github.com/aalis-dev/aalis-operator/runtime/contract/gateway"
	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
	"github.com/aalis-dev/aalis-operator/runtime/i18n"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
)

// timeout is how long a person has to answer, counted from when the question was shown.
const timeout = time.Minute

// grantFor is how long the answer YS holds.
const grantFor = 10 * time.Minute

// anyPlatform is the platform of a handler for those that have none of their own.
const anyPlatform = "*"

// Plugin is the module.
var Plugin = module(after)

func module(t timer) kernel.Module {
	return kernel.Define(kernel.Module{
		Name:        "@aalis/plugin-session-confirm",
		DisplayName: "Confirmation in the session",
		Summary:     "Asks people in the conversation to confirm an operation.",
		Stability:   kernel.Beta,
		Inject: kernel.Inject{
			Required: []string{gateway.Service.Name()},
			Optional: []string{access.Service.Name()},
		},
		Provides:    []string{confirm.Service.Name()},
		OnByDefault: true,
	}, Default(), func(k *kernel.Context, _ Config) error {
		apply(k, t)
		return nil
	})
}

func apply(k *kernel.Context, t timer) {
	c := &coordinator{k: k, after: t}
	bus := c.CreateChannel(func(ctx context.Context, r access.Request, text string) error { return say(ctx, k, r, text) })
	k.OnDispose("refuse what waits for confirmation", func(context.Context) error {
		c.dispose()
		return nil
	})
	access.Service.When(k, func(a access.Authority) func() { return a.SetConfirmHandler(anyPlatform, bus.Handle) })
	gateway.Confirm.Use(k, func(ctx context.Context, d *gateway.Inbound, next kernel.Next) error {
		if isAnswer(d.Message) && bus.Feed(d.Message.SessionID, d.Message.Platform, d.Message.UserID, d.Message.Content) {
			return nil
		}
		return next(ctx)
	})
	confirm.Service.Provide(k, c)
}

// isAnswer tells whether a message may be an answer at all: people send those, not schedulers and the like.
func isAnswer(m message.Incoming) bool {
	return (m.Source == "" || m.Source == "user") && m.NoticeType == ""
}

// say shows a question by the bus.
func say(ctx context.Context, k *kernel.Context, r access.Request, text string) error {
	g, ok := gateway.Service.Get(k)
	if !ok {
		return errors.New("there is no gateway")
	}
	g.DispatchOutbound(ctx, message.Outgoing{
		Content: i18n.Notice(text), SessionID: r.SessionID, Platform: r.Platform, TurnID: r.TurnID, Source: message.FromSystem,
		Interim: true,
	})
	return nil
}

// timer fires once after a time, unless it is stopped.
type timer func(d time.Duration) (fired <-chan time.Time, stop func())

func after(d time.Duration) (<-chan time.Time, func()) {
	t := time.NewTimer(d)
	return t.C, func() { t.Stop() }
}
