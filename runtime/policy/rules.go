// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"slices"
	"time"

	"github.com/aalis-dev/aalis-operator/runtime/contract/access"
	"github.com/aalis-dev/aalis-operator/runtime/kernelconfig"
)

// Identity is a person on a platform.
type Identity = kernelconfig.Identity

// consoleUser is the user id of whoever sits at a local console.
const consoleUser = "console"

// Off is the confirmation override that never asks.
const confirmOff = "off"

// Rules are the merged policies of a bot, made for deciding. They do not change and may be used concurrently.
type Rules struct {
	owners      map[Identity]bool
	levels      map[Identity]int64
	denied      []Pattern
	minimum     map[string]int64
	confirm     map[string]string
	preApproved []preApproval
	autoUntil   int64
	lock        []string
	disabled    bool
	console     bool
}

type preApproval struct {
	allow    []Pattern
	duration time.Duration
}

// Option changes how Rules are made.
type Option func(*Rules)

// ConsoleOwner makes whoever sits at the local console an owner: the user console of the platforms cli and webui. It is for
// a bot that runs on somebody's own machine; in a cluster nobody is owner without being named.
func ConsoleOwner() Option { return func(r *Rules) { r.console = true } }

// New makes rules of a merged policy; of none, rules under which nobody is more than a guest.
func New(a *kernelconfig.Authority, opts ...Option) *Rules {
	r := &Rules{owners: map[Identity]bool{}, levels: map[Identity]int64{}, minimum: map[string]int64{}, confirm: map[string]string{}}
	for _, o := range opts {
		o(r)
	}
	if a == nil {
		return r
	}
	for _, o := range a.Owners {
		r.owners[o] = o.UserID != ""
	}
	for _, l := range a.Levels {
		r.levels[l.Identity] = int64(l.Level)
	}
	r.denied = patterns(a.DeniedCapabilities)
	for capability, level := range a.AuthorityOverrides {
		r.minimum[capability] = int64(level)
	}
	for capability, rule := range a.ConfirmOverrides {
		r.confirm[capability] = rule
	}
	for _, p := range a.PreApproved {
		if len(p.Allow) > 0 {
			r.preApproved = append(r.preApproved, preApproval{patterns(p.Allow), time.Duration(p.DurationSeconds) * time.Second})
		}
	}
	r.autoUntil, r.lock, r.disabled = a.AutoConfirmUntil, slices.Clone(a.Lock), a.Disabled
	return r
}

func patterns(texts []string) []Pattern {
	out := make([]Pattern, len(texts))
	for i, t := range texts {
		out[i] = Pattern(t)
	}
	return out
}

// Locked tells whether chat may not lay anything over a part of the policy: [kernelconfig.LockLevels] or
// [kernelconfig.LockAutoConfirm].
func (r *Rules) Locked(part string) bool { return slices.Contains(r.lock, part) }

// IsOwner tells whether somebody is an owner. Nobody is without a user id.
func (r *Rules) IsOwner(id Identity) bool {
	if id.UserID == "" {
		return false
	}
	if r.console && id.UserID == consoleUser && (id.Platform == "cli" || id.Platform == "webui") {
		return true
	}
	return r.owners[id]
}

// Source says where a person's level comes from.
type Source string

// The values of Source.
const (
	SourceOwner    Source = "owner"
	SourceDeclared Source = "declared"
	SourceChat     Source = "chat"
	SourceDefault  Source = "default"
)

// Standing is what a person is.
type Standing struct {
	// Owner stands outside the levels.
	Owner bool
	// Level of somebody who is not an owner: 0 for who is not known, negative for who is banned.
	Level int64
	// Source of the level.
	Source Source
}

// Standing tells what a person is. A level that was given in chat is laid over the declared one, unless levels are locked.
// A declared ban is not lifted in chat.
func (r *Rules) Standing(id Identity, chat map[Identity]int64) Standing {
	if r.IsOwner(id) {
		return Standing{Owner: true, Source: SourceOwner}
	}
	if id.UserID == "" {
		return Standing{Source: SourceDefault}
	}
	declared, isDeclared := r.levels[id]
	if level, ok := chat[id]; ok && !r.Locked(kernelconfig.LockLevels) && (!isDeclared || declared >= 0) {
		return Standing{Level: level, Source: SourceChat}
	}
	if isDeclared {
		return Standing{Level: declared, Source: SourceDeclared}
	}
	return Standing{Source: SourceDefault}
}

// AutoConfirm gives until when owners are not asked for confirmation, in milliseconds since 1970, -1 for ever and 0 for off.
// What was set in chat is laid over what is declared, unless that is locked.
func (r *Rules) AutoConfirm(chat *int64) int64 {
	if chat != nil && !r.Locked(kernelconfig.LockAutoConfirm) {
		return *chat
	}
	return r.autoUntil
}

// AutoConfirmActive tells whether owners are not asked at a moment.
func AutoConfirmActive(until int64, now time.Time) bool {
	return until == kernelconfig.AutoConfirmForever || (until > 0 && now.UnixMilli() < until)
}

// MinLevel is the level that an operation asks for, and whether an override says so rather than its declaration.
func (r *Rules) MinLevel(capability string, declared access.Policy) (level int64, overridden bool) {
	if level, ok := r.minimum[capability]; ok {
		return level, true
	}
	return int64(declared.MinLevel()), false
}

// Confirm is the confirmation that an operation asks for, empty for none, and whether an override says so. An override that
// is none of the known values asks every time.
func (r *Rules) Confirm(capability string, declared access.Policy) (c access.Confirm, overridden bool) {
	switch rule, ok := r.confirm[capability]; {
	case !ok:
		return declared.Expanded().Confirm, false
	case rule == confirmOff:
		return "", true
	case rule == string(access.ConfirmSession):
		return access.ConfirmSession, true
	default:
		return access.ConfirmAlways, true
	}
}

// PreApproved tells whether every list of what needs no confirmation has a capability, there being one at least. A list that
// ends holds only for its duration after since, the moment in which this process took the policy while it ran; a zero since
// means that it did not.
func (r *Rules) PreApproved(capability string, since, now time.Time) bool {
	for _, p := range r.preApproved {
		if _, ok := firstMatch(p.allow, capability); !ok {
			return false
		}
		if p.duration > 0 && (since.IsZero() || now.Before(since) || now.Sub(since) > p.duration) {
			return false
		}
	}
	return len(r.preApproved) > 0
}
