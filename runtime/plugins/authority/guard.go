// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strings"

	"github.com/aalis-dev/aalis-operator/runtime/contract/access"
	"github.com/aalis-dev/aalis-operator/runtime/i18n"
	"github.com/aalis-dev/aalis-operator/runtime/policy"
)

// The outcomes of an Audit that are no outcomes of a decision.
const (
	outcomeConfirmed = "confirmed"
	outcomeCancelled = "cancelled"
)

// auditText bounds what an Audit holds of a text that people choose, in UTF-16 units.
const auditText = 128

// guard is the access.Guard. Whoever may not run an operation is told so and never asked instead. After a confirmation the
// rules are asked again, since a person may have lost the right while the question was open.
func (a *authority) guard(ctx context.Context, r access.Request) (reason string) {
	d := a.decide(r)
	if d.Outcome == policy.Ask {
		a.audit(ctx, r, d, string(policy.Ask))
		if !a.confirmed(ctx, r, d.Confirm) {
			a.audit(ctx, r, d, outcomeCancelled)
			return i18n.AuthorityCancelled(r.Capability).In(i18n.Of(a.k))
		}
		if d = a.judge(r); d.Outcome != policy.Deny {
			a.audit(ctx, r, d, outcomeConfirmed)
			return ""
		}
	}
	if d.Outcome == policy.Allow {
		if ofRisk(r, d) {
			a.audit(ctx, r, d, string(policy.Allow))
		}
		return ""
	}
	a.audit(ctx, r, d, string(policy.Deny))
	return a.refusal(r, d)
}

// ofRisk tells whether to record that something was allowed.
func ofRisk(r access.Request, d policy.Decision) bool {
	return d.MinLevel > 0 || d.Confirm != "" || !access.MayRunUnguarded(r.Policy)
}

func (a *authority) refusal(r access.Request, d policy.Decision) string {
	lang := i18n.Of(a.k)
	switch d.Rule {
	case policy.RuleDenied:
		return i18n.AuthorityDenied(r.Capability).In(lang)
	case policy.RuleNotLoaded:
		return i18n.AuthorityNotLoaded(r.Capability).In(lang)
	default:
		return i18n.AuthorityLevel(r.Capability, d.MinLevel, d.Standing.Level).In(lang)
	}
}

// confirmed has a person asked. No handler, an error and a panic are a no.
func (a *authority) confirmed(ctx context.Context, r access.Request, c access.Confirm) bool {
	h := a.handler(r.Platform)
	if h == nil {
		a.k.Logger().Warn("Refused an operation, since nobody can be asked to confirm it",
			"capability", r.Capability, "platform", r.Platform)
		return false
	}
	answer, err := ask(ctx, h, access.ConfirmRequest{Request: r, Confirm: c})
	if err != nil {
		a.k.Logger().Warn("Could not ask for a confirmation", "capability", r.Capability, "platform", r.Platform, "error", err)
		return false
	}
	if answer.Allowed && c != access.ConfirmAlways && answer.ForSession > 0 {
		a.grants.add(keyOf(r), answer.ForSession, answer.MaxUses)
	}
	return answer.Allowed
}

func ask(ctx context.Context, h access.ConfirmHandler, r access.ConfirmRequest) (answer access.ConfirmAnswer, err error) {
	defer func() {
		if p := recover(); p != nil {
			answer, err = access.ConfirmAnswer{}, fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	answer, err = h(ctx, r)
	if err == nil && ctx.Err() != nil {
		return access.ConfirmAnswer{}, errors.Join(errors.New("the turn has ended"), ctx.Err())
	}
	return answer, err
}

// audit records a decision, in the log and as an event.
func (a *authority) audit(ctx context.Context, r access.Request, d policy.Decision, outcome string) {
	kind, _, _ := strings.Cut(r.Capability, ":")
	v := access.Audit{
		Kind: kind, Capability: i18n.Cut(r.Capability, auditText), Outcome: outcome, Rule: string(d.Rule),
		Platform: i18n.Cut(r.Platform, auditText), UserID: i18n.Cut(r.UserID, auditText), SessionID: i18n.Cut(r.SessionID, auditText),
		Level: d.Standing.Level, Owner: d.Standing.Owner, MinLevel: d.MinLevel, Detail: i18n.Cut(string(d.Pattern), auditText),
	}
	level := slog.LevelInfo
	if outcome == string(policy.Deny) || outcome == outcomeCancelled {
		level = slog.LevelWarn
	}
	a.k.Logger().Log(ctx, level, "Decided who may do what", "capability", v.Capability, "outcome", v.Outcome, "rule", v.Rule,
		"platform", v.Platform, "userId", v.UserID, "sessionId", v.SessionID, "level", v.Level, "owner", v.Owner,
		"minLevel", v.MinLevel, "pattern", v.Detail)
	access.Decided.Emit(ctx, a.k, v)
}
