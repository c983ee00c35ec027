// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package commands

import (
	"context"
	"fmt"
	"maps"
	"runtime/debug"
	"strings"

	"github.com/aalis-dev/aalis-operator/runtime/contract/access"
	"github.com/aalis-dev/aalis-operator/runtime/contract/commands"
	"github.com/aalis-dev/aalis-operator/runtime/i18n"
)

// unknownPlatform is the platform of a call that names none, so that an identity is never one of an empty platform.
const unknownPlatform = "unknown"

// target is what a command name stands for at the time of a call.
type target struct {
	run    *layer // nil for a group
	policy access.Policy
	guard  access.Guard
}

// Execute implements commands.Registry. What is wrong with the arguments is told before the guard is asked, so the names
// and the usage of restricted commands are visible to all.
func (r *registry) Execute(ctx context.Context, p commands.Parsed, call commands.Call) string {
	lang := r.language()
	t, ok := r.target(p.Name)
	switch {
	case !ok:
		return r.unknown(p.Name).In(lang)
	case t.run == nil:
		return r.Help(p.Name)
	}
	b, problem := bind(t.run.args, t.run.options, p.Tokens)
	if problem != nil {
		return problem.In(lang) + "\n" + i18n.HelpUsageLine(usageLine(r.Prefix(), t.run, lang)).In(lang)
	}
	call.Args, call.Options, call.Raw = b.args, b.options, p.Raw
	if reason := r.ask(ctx, t, call); reason != "" {
		return reason
	}
	text, err := r.run(ctx, t.run, call)
	if err != nil {
		return i18n.CommandFailed(err.Error()).In(lang)
	}
	return text
}

func (r *registry) target(name string) (target, bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	n := r.tree.head(name)
	if n == nil {
		return target{}, false
	}
	return target{run: n.runnable(), policy: n.policy(), guard: r.guard.Guard()}, true
}

// ask says why a command may not run, or nothing.
func (r *registry) ask(ctx context.Context, t target, call commands.Call) (reason string) {
	lang, name := r.language(), t.run.name
	platform := call.Platform
	if platform == "" {
		platform = unknownPlatform
	}
	args := maps.Clone(call.Args)
	maps.Copy(args, call.Options)
	request := access.Request{
		Capability: "command:" + name, Policy: t.policy, SessionID: call.SessionID, Platform: platform,
		UserID: call.UserID, TurnID: call.TurnID, Args: args, SkipConfirm: call.SkipConfirm,
	}
	if t.guard == nil {
		if access.MayRunUnguarded(t.policy) {
			return ""
		}
		r.unguarded(ctx, request)
		return i18n.CommandUnguarded(name).In(lang)
	}
	defer func() {
		if p := recover(); p != nil {
			r.log.Error("Guard of commands failed", "command", name, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			reason = i18n.CommandGuardFailed(name).In(lang)
		}
	}()
	return t.guard(ctx, request)
}

func (r *registry) run(ctx context.Context, l *layer, call commands.Call) (text string, err error) {
	defer func() {
		if p := recover(); p != nil {
			r.log.Error("Command failed", "command", l.name, "owner", l.owner, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			text, err = "", fmt.Errorf("panic: %v", p)
		}
	}()
	text, err = l.Handler(ctx, call)
	if err != nil {
		r.log.Warn("Command failed", "command", l.name, "owner", l.owner, "error", err)
	}
	return text, err
}

// unknown says that there is no such command, with names that resemble the wrong one.
func (r *registry) unknown(name string) i18n.Message {
	prefix := r.Prefix()
	var near []string
	for _, n := range similar(name, r.fullNames()) {
		near = append(near, prefix+n)
	}
	name = prefix + shown(name)
	if len(near) > 0 {
		return i18n.CommandUnknownNear(name, strings.Join(near, ", "))
	}
	return i18n.CommandUnknown(name, prefix+helpName)
}

func (r *registry) fullNames() []string {
	r.mu.RLock()
	defer r.mu.RUnlock()
	nodes := r.tree.all()
	out := make([]string, 0, len(nodes))
	for _, n := range nodes {
		out = append(out, n.name)
	}
	return out
}
