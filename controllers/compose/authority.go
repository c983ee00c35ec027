// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package compose

import (
	"slices"
	"strings"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
	"github.com/aalis-dev/aalis-operator/runtime/kernelconfig"
)

// confirmRules are the confirm rules, the strictest last.
var confirmRules = []v1alpha1.ConfirmRule{v1alpha1.ConfirmNever, v1alpha1.ConfirmSession, v1alpha1.ConfirmAlways}

// kernelRules are the confirm rules as the kernel has them.
var kernelRules = map[v1alpha1.ConfirmRule]string{
	v1alpha1.ConfirmNever: "off", v1alpha1.ConfirmSession: "session", v1alpha1.ConfirmAlways: "always",
}

// composeAuthority merges every AuthorityPolicy that selects the bot. Owners and denials add up; where two policies give
// different answers the stricter one holds: the lower level of a person, the higher level that an operation needs, the
// stricter confirmation. A policy whose selector makes no sense might deny something to this bot, so nothing is deployed
// until that is known.
func (c *composer) composeAuthority() {
	m := authorityMerge{owners: map[kernelconfig.Identity]bool{}, levels: map[kernelconfig.Identity]int32{}, extras: newAuthorityExtras()}
	var seen []string
	var conflicts authorityConflicts
	for _, p := range c.in.AuthorityPolicies {
		object := "AuthorityPolicy " + p.Name
		ok, err := c.selects(p.ObjectMeta, p.Spec.Selector)
		if err != nil {
			c.at(SeverityError, v1alpha1.ReasonInvalidSpec, object, "spec.selector", "%v", err)
		}
		if !ok {
			continue
		}
		c.use("AuthorityPolicy", p.Name, p.Generation)
		if slices.Contains(seen, p.Name) {
			c.twice("AuthorityPolicy", p.Name)
		}
		seen = append(seen, p.Name)
		c.checkPolicy(object, p.Spec)
		m.add(p.Spec)
		conflicts.add(p.Name, p.Spec)
	}
	if len(seen) > 0 {
		c.config.Authority = m.result()
	}
	conflicts.report(c)
}

// checkPolicy checks what admission checks in a cluster and what would otherwise be lost without a word.
func (c *composer) checkPolicy(object string, spec v1alpha1.AuthorityPolicySpec) {
	bad := func(path, format string, args ...any) {
		c.at(SeverityError, v1alpha1.ReasonInvalidSpec, object, path, format, args...)
	}
	for _, o := range spec.Owners {
		if o.Platform == "" || o.UserID == "" {
			bad("spec.owners", "must have platform and userId in each entry")
		}
	}
	for _, l := range spec.Levels {
		if l.Platform == "" || l.UserID == "" || l.Level == nil {
			bad("spec.levels", "must have platform, userId and level in each entry")
		}
	}
	for _, d := range spec.DeniedCapabilities {
		if strings.TrimSpace(d) == "" {
			bad("spec.deniedCapabilities", "may not have empty entries")
		}
	}
	checkOverrides(bad, spec)
	checkExtras(bad, spec)
}

func checkOverrides(bad func(path, format string, args ...any), spec v1alpha1.AuthorityPolicySpec) {
	for _, a := range spec.AuthorityOverrides {
		if a.Capability == "" || a.MinLevel == nil {
			bad("spec.authorityOverrides", "must have capability and minLevel in each entry")
		}
	}
	for _, o := range spec.ConfirmOverrides {
		if o.Capability == "" || !slices.Contains(confirmRules, o.Confirm) {
			bad("spec.confirmOverrides", `must have capability and confirm ("Session", "Always" or "Never") in each entry`)
		}
	}
}

type authorityMerge struct {
	owners  map[kernelconfig.Identity]bool
	levels  map[kernelconfig.Identity]int32
	denied  []string
	minimum map[string]int32
	confirm map[string]v1alpha1.ConfirmRule
	extras  authorityExtras
}

func (m *authorityMerge) add(spec v1alpha1.AuthorityPolicySpec) {
	m.extras.add(spec)
	for _, o := range spec.Owners {
		m.owners[kernelconfig.Identity{Platform: o.Platform, UserID: o.UserID}] = true
	}
	for _, l := range spec.Levels {
		id := kernelconfig.Identity{Platform: l.Platform, UserID: l.UserID}
		level := valueOf(l.Level)
		if have, ok := m.levels[id]; !ok || level < have {
			m.levels[id] = level
		}
	}
	m.denied = append(m.denied, spec.DeniedCapabilities...)
	for _, a := range spec.AuthorityOverrides {
		if m.minimum == nil {
			m.minimum = map[string]int32{}
		}
		level := valueOf(a.MinLevel)
		if have, ok := m.minimum[a.Capability]; !ok || level > have {
			m.minimum[a.Capability] = level
		}
	}
	for _, o := range spec.ConfirmOverrides {
		if m.confirm == nil {
			m.confirm = map[string]v1alpha1.ConfirmRule{}
		}
		have, ok := m.confirm[o.Capability]
		if !ok || slices.Index(confirmRules, o.Confirm) > slices.Index(confirmRules, have) {
			m.confirm[o.Capability] = o.Confirm
		}
	}
}

func valueOf(n *int32) int32 {
	if n == nil {
		return 0
	}
	return *n
}

func (m *authorityMerge) result() *kernelconfig.Authority {
	a := &kernelconfig.Authority{AuthorityOverrides: m.minimum}
	for capability, rule := range m.confirm {
		if a.ConfirmOverrides == nil {
			a.ConfirmOverrides = map[string]string{}
		}
		a.ConfirmOverrides[capability] = kernelRules[rule]
	}
	for id := range m.owners {
		a.Owners = append(a.Owners, id)
	}
	slices.SortFunc(a.Owners, compareIdentity)
	for id, level := range m.levels {
		a.Levels = append(a.Levels, kernelconfig.IdentityLevel{Identity: id, Level: level})
	}
	slices.SortFunc(a.Levels, func(x, y kernelconfig.IdentityLevel) int { return compareIdentity(x.Identity, y.Identity) })
	slices.Sort(m.denied)
	a.DeniedCapabilities = slices.Compact(m.denied)
	m.extras.fill(a)
	return a
}

func compareIdentity(a, b kernelconfig.Identity) int {
	if d := strings.Compare(a.Platform, b.Platform); d != 0 {
		return d
	}
	return strings.Compare(a.UserID, b.UserID)
}
