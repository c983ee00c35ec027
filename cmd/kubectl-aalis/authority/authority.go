// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package authority answers, by the rules that bots decide by, whether somebody may run an operation, and says which rule
// decided. It knows what is declared; what was set in chat is known to the bot alone.
package authority

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/aalis-dev/aalis-operator/runtime/catalog"
	"github.com/aalis-dev/aalis-operator/runtime/contract/access"
	"github.com/aalis-dev/aalis-operator/runtime/kernelconfig"
	"github.com/aalis-dev/aalis-operator/runtime/policy"
)

// Question asks whether somebody may run an operation.
type Question struct {
	Who        policy.Identity
	Capability string
	// Declared is what the operation declares about who may run it.
	Declared access.Policy
	// Unattended asks for a message of a scheduler, which has nobody to ask.
	Unattended bool
}

// Answer is the answer and why.
type Answer struct {
	Question Question
	Decision policy.Decision
}

// Ask decides by a merged policy, which may be nil.
func Ask(a *kernelconfig.Authority, q Question, now time.Time) Answer {
	return Answer{Question: q, Decision: policy.New(a).Decide(policy.Query{
		Identity: q.Who, Capability: q.Capability, Policy: q.Declared, SkipConfirm: q.Unattended, Now: now,
	})}
}

// Allowed tells whether the operation runs, at once or once it is confirmed.
func (a Answer) Allowed() bool { return a.Decision.Outcome != policy.Deny }

// Text is the answer in one line, with the rule that decided.
func (a Answer) Text() string {
	word := map[policy.Outcome]string{policy.Allow: "yes", policy.Ask: "yes, once it is confirmed", policy.Deny: "no"}[a.Decision.Outcome]
	return word + " - " + a.reason()
}

func (a Answer) reason() string {
	d := a.Decision
	who := fmt.Sprintf("has level %d", d.Standing.Level)
	if d.Standing.Owner {
		who = "is an owner"
	} else if d.Standing.Source == policy.SourceDefault {
		who = "has level 0, since nothing is declared for this person"
	}
	needs := fmt.Sprintf("%s needs level %d by %s", a.Question.Capability, d.MinLevel, source(d.LevelRule))
	switch d.Rule {
	case policy.RuleDenied:
		return fmt.Sprintf("deniedCapabilities has %q, which holds for owners too", d.Pattern)
	case policy.RuleDisabled:
		return "spec.unsafe.authority of the bot is Disabled"
	case policy.RuleOwner:
		return "the person is an owner"
	case policy.RuleConfirm, policy.RuleConfirmOverride:
		return fmt.Sprintf("the person %s; %s asks for confirmation (%s) by %s", who, a.Question.Capability, d.Confirm, source(d.Rule))
	case policy.RuleTrustedSource:
		return "the person has the right, and a scheduler has nobody to ask"
	case policy.RuleAutoConfirm:
		return "the person is an owner, and autoConfirm is on"
	case policy.RulePreApproved:
		return "the person has the right, and preApproved spares the confirmation"
	default:
		return fmt.Sprintf("%s, and the person %s", needs, who)
	}
}

// source names where a rule stands.
func source(r policy.Rule) string {
	switch r {
	case policy.RuleOverride:
		return "authorityOverrides"
	case policy.RuleConfirmOverride:
		return "confirmOverrides"
	case policy.RuleRisk:
		return "its declared risk"
	case policy.RuleVisibility:
		return "its declared visibility"
	default:
		return "its declaration"
	}
}

// ParseUser reads platform:userId. Only the first colon parts the two.
func ParseUser(text string) (policy.Identity, error) {
	platform, user, ok := strings.Cut(text, ":")
	if !ok || platform == "" || user == "" {
		return policy.Identity{}, fmt.Errorf("--user must be platform:userId, such as onebot:10001, got %q", text)
	}
	return policy.Identity{Platform: platform, UserID: user}, nil
}

// kinds are the kinds of operations.
var kinds = []string{"tool", "command"}

// Flags are what a caller says of an operation that is not one of the shipped modules.
type Flags struct{ Risk, Visibility, Confirm string }

// Declared finds what an operation declares: what the flags say, if they say anything, or what the shipped module that
// offers it declares. Of an operation that no shipped module offers nothing is known, so that it counts as public.
func Declared(capability string, f Flags) (p access.Policy, known bool, err error) {
	kind, name, ok := strings.Cut(capability, ":")
	if !ok || name == "" || !slices.Contains(kinds, kind) {
		return access.Policy{}, false, fmt.Errorf("an operation is named as tool:NAME or command:NAME, such as command:clear, got %q", capability)
	}
	if f != (Flags{}) {
		p, err := f.policy()
		return p, err == nil, err
	}
	list, err := catalog.Operations()
	if err != nil {
		return access.Policy{}, false, err
	}
	for _, o := range list {
		if o.Capability == capability {
			return access.Policy{Visibility: access.Visibility(o.Visibility), Risk: access.Risk(o.Risk), Confirm: access.Confirm(o.Confirm)}, true, nil
		}
	}
	return access.Policy{}, false, nil
}

func (f Flags) policy() (access.Policy, error) {
	check := func(flag, value string, allowed ...string) error {
		if value != "" && !slices.Contains(allowed, value) {
			return fmt.Errorf("--%s must be one of %s, got %q", flag, strings.Join(allowed, ", "), value)
		}
		return nil
	}
	err := errors.Join(
		check("risk", f.Risk, string(access.Safe), string(access.Sensitive), string(access.Dangerous)),
		check("visibility", f.Visibility, string(access.Public), string(access.Restricted)),
		check("confirm", f.Confirm, string(access.ConfirmSession), string(access.ConfirmAlways)),
	)
	return access.Policy{Visibility: access.Visibility(f.Visibility), Risk: access.Risk(f.Risk), Confirm: access.Confirm(f.Confirm)}, err
}

// Rows are a merged policy as a table: what, its value, and of whom or what.
func Rows(a *kernelconfig.Authority) [][]string {
	var out [][]string
	add := func(what, value, of string) { out = append(out, []string{what, value, of}) }
	if a.Disabled {
		add("unsafe", "Disabled", "everybody may run everything that is not denied")
	}
	for _, o := range a.Owners {
		add("owner", "", o.Platform+":"+o.UserID)
	}
	for _, l := range a.Levels {
		add("level", fmt.Sprint(l.Level), l.Platform+":"+l.UserID)
	}
	for _, d := range a.DeniedCapabilities {
		add("denied", "", d)
	}
	for _, c := range slices.Sorted(maps.Keys(a.AuthorityOverrides)) {
		add("minimum level", fmt.Sprint(a.AuthorityOverrides[c]), c)
	}
	for _, c := range slices.Sorted(maps.Keys(a.ConfirmOverrides)) {
		add("confirmation", a.ConfirmOverrides[c], c)
	}
	for _, p := range a.PreApproved {
		duration := "without end"
		if p.DurationSeconds > 0 {
			duration = (time.Duration(p.DurationSeconds) * time.Second).String()
		}
		add("approved in advance", duration, strings.Join(p.Allow, ", "))
	}
	switch a.AutoConfirmUntil {
	case 0:
	case kernelconfig.AutoConfirmForever:
		add("automatic confirmation", "without end", "owners")
	default:
		add("automatic confirmation", "until "+time.UnixMilli(a.AutoConfirmUntil).UTC().Format(time.RFC3339), "owners")
	}
	for _, l := range a.Lock {
		add("locked in chat", "", l)
	}
	return out
}
