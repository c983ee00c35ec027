// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"time"

	"github.com/aalis-dev/aalis-operator/runtime/contract/access"
)

// Outcome of a decision.
type Outcome string

// The values of Outcome.
const (
	// Allow lets the operation run.
	Allow Outcome = "allow"
	// Ask lets it run once a person has confirmed it.
	Ask Outcome = "confirm"
	// Deny refuses it.
	Deny Outcome = "deny"
)

// Rule names the rule that decided. The set is closed, so that it may be a label of a metric.
type Rule string

// The values of Rule.
const (
	// RuleDenied is a denied capability.
	RuleDenied Rule = "deniedCapabilities"
	// RuleNotLoaded is that what was set in chat is not known yet, so that only what is harmless runs.
	RuleNotLoaded Rule = "stateNotLoaded"
	// RuleDisabled is that authority is switched off for the bot.
	RuleDisabled Rule = "authorityDisabled"
	// RuleOwner is that the person is an owner.
	RuleOwner Rule = "owner"
	// RuleOverride is the minimum level of an authority override.
	RuleOverride Rule = "authorityOverrides"
	// RuleRisk is the minimum level of the declared risk.
	RuleRisk Rule = "risk"
	// RuleVisibility is the minimum level of the declared visibility.
	RuleVisibility Rule = "visibility"
	// RuleConfirm is the confirmation that the operation declares.
	RuleConfirm Rule = "confirm"
	// RuleConfirmOverride is the confirmation of a confirm override.
	RuleConfirmOverride Rule = "confirmOverrides"
	// RuleTrustedSource is that the operation comes from a source that has nobody to ask.
	RuleTrustedSource Rule = "trustedSource"
	// RuleAutoConfirm is that the owner has switched confirmations off for a time.
	RuleAutoConfirm Rule = "autoConfirm"
	// RulePreApproved is that the operation is approved in advance.
	RulePreApproved Rule = "preApproved"
	// RuleGrant is that the person has confirmed the operation for the session before.
	RuleGrant Rule = "sessionGrant"
)

// Query asks for a decision.
type Query struct {
	// Identity of whoever asks: that of the message, never of what a model says.
	Identity Identity
	// Capability is kind:name, as in tool:file_delete.
	Capability string
	// Policy that the operation declares, the strictest of all its declarations.
	Policy access.Policy
	// SkipConfirm is set for a source that is trusted and has nobody to ask.
	SkipConfirm bool
	// State is what was set while the bot runs.
	State State
	// Now is the moment of the question.
	Now time.Time
}

// State is what was set while a bot runs, as opposed to what is declared. Its zero value is that of a bot in which nothing
// was set.
type State struct {
	// NotLoaded is set while what was set earlier could not be read.
	NotLoaded bool
	// Levels that were given in chat.
	Levels map[Identity]int64
	// AutoConfirm is until when owners are not asked, if chat has said so: see [Rules.AutoConfirm].
	AutoConfirm *int64
	// TakenAt is when this process took the policy while it ran; zero if it started with it.
	TakenAt time.Time
	// Granted is set if the person has confirmed this operation for this session.
	Granted bool
}

// Decision is the answer and its reason.
type Decision struct {
	Outcome Outcome
	// Rule that decided.
	Rule Rule
	// Pattern of the denied capability; only with RuleDenied.
	Pattern Pattern
	// Standing of the person.
	Standing Standing
	// MinLevel that the operation asks for.
	MinLevel int64
	// LevelRule is the rule that MinLevel comes from: RuleOverride, RuleRisk or RuleVisibility.
	LevelRule Rule
	// Confirm that the operation asks for, empty for none.
	Confirm access.Confirm
}

// Decide answers whether somebody may run an operation now. Who may not is never asked to confirm instead.
func (r *Rules) Decide(q Query) Decision {
	d := Decision{Standing: r.Standing(q.Identity, q.State.Levels)}
	level, overridden := r.MinLevel(q.Capability, q.Policy)
	d.MinLevel, d.LevelRule = level, levelRule(q.Policy, overridden)
	confirm, confirmOverridden := r.Confirm(q.Capability, q.Policy)
	d.Confirm = confirm

	if p, ok := firstMatch(r.denied, q.Capability); ok {
		d.Pattern = p
		return d.with(Deny, RuleDenied)
	}
	if r.disabled {
		return d.with(Allow, RuleDisabled)
	}
	harmless := access.MayRunUnguarded(q.Policy) && level <= 0 && confirm == ""
	if q.State.NotLoaded && !harmless {
		return d.with(Deny, RuleNotLoaded)
	}
	if !d.Standing.Owner && d.Standing.Level < level {
		return d.with(Deny, d.LevelRule)
	}
	if rule, skip := r.unasked(q, d); skip {
		return d.with(Allow, rule)
	}
	if confirmOverridden {
		return d.with(Ask, RuleConfirmOverride)
	}
	return d.with(Ask, RuleConfirm)
}

// unasked says by which rule an operation that is permitted needs no confirmation. One that asks every time always needs it.
func (r *Rules) unasked(q Query, d Decision) (Rule, bool) {
	switch {
	case d.Confirm == "" && d.Standing.Owner:
		return RuleOwner, true
	case d.Confirm == "":
		return d.LevelRule, true
	case d.Confirm == access.ConfirmAlways:
		return "", false
	case q.SkipConfirm:
		return RuleTrustedSource, true
	case d.Standing.Owner && AutoConfirmActive(r.AutoConfirm(q.State.AutoConfirm), q.Now):
		return RuleAutoConfirm, true
	case r.PreApproved(q.Capability, q.State.TakenAt, q.Now):
		return RulePreApproved, true
	case q.State.Granted:
		return RuleGrant, true
	}
	return "", false
}

func (d Decision) with(o Outcome, r Rule) Decision {
	d.Outcome, d.Rule = o, r
	return d
}

func levelRule(p access.Policy, overridden bool) Rule {
	switch {
	case overridden:
		return RuleOverride
	case p.Risk != "":
		return RuleRisk
	}
	return RuleVisibility
}
