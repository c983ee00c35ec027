// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package compose

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
	"github.com/aalis-dev/aalis-operator/runtime/kernelconfig"
)

// locks are the parts of a policy that may be locked, as the kernel names them.
var locks = map[v1alpha1.AuthorityLock]string{
	v1alpha1.LockLevels: kernelconfig.LockLevels, v1alpha1.LockAutoConfirm: kernelconfig.LockAutoConfirm,
}

// authorityExtras merges what belongs to authority besides people and operations. Denials and locks add up; of what lifts
// a protection only that is left on which all policies that speak of it agree.
type authorityExtras struct {
	approvals []kernelconfig.PreApproval
	auto      *int64
	private   []v1alpha1.AddressRule
	cidrs     []string
	ports     []int32
	anyPorts  bool // no policy so far has limited the ports
	network   bool
	lock      []string
}

func newAuthorityExtras() authorityExtras { return authorityExtras{anyPorts: true} }

func (x *authorityExtras) add(spec v1alpha1.AuthorityPolicySpec) {
	if p := spec.PreApproved; p != nil {
		allow := slices.Clone(p.Allow)
		slices.Sort(allow)
		x.approvals = append(x.approvals, kernelconfig.PreApproval{
			Allow: slices.Compact(allow), DurationSeconds: int64(valueOf(p.DurationSeconds)),
		})
	}
	if a := spec.AutoConfirm; a != nil {
		if until := autoUntil(a); x.auto == nil || endsBefore(until, *x.auto) {
			x.auto = &until
		}
	}
	if n := spec.Network; n != nil {
		x.addNetwork(n)
	}
	for _, l := range spec.Lock {
		x.lock = append(x.lock, locks[l])
	}
}

func (x *authorityExtras) addNetwork(n *v1alpha1.NetworkRules) {
	x.network = true
	if n.PrivateAddresses != "" {
		x.private = append(x.private, n.PrivateAddresses)
	}
	x.cidrs = append(x.cidrs, n.DenyCIDRs...)
	switch {
	case len(n.AllowedPorts) == 0:
	case x.anyPorts:
		x.anyPorts, x.ports = false, slices.Clone(n.AllowedPorts)
	default:
		x.ports = slices.DeleteFunc(x.ports, func(p int32) bool { return !slices.Contains(n.AllowedPorts, p) })
	}
}

// autoUntil is an AutoConfirm as the kernel has it.
func autoUntil(a *v1alpha1.AutoConfirm) int64 {
	switch {
	case a.Mode == v1alpha1.AutoConfirmForever:
		return kernelconfig.AutoConfirmForever
	case a.Mode == v1alpha1.AutoConfirmUntil && a.Until != nil:
		return max(a.Until.UnixMilli(), 0)
	}
	return 0
}

// endsBefore tells which of two ends is the stricter.
func endsBefore(a, b int64) bool {
	switch {
	case a == kernelconfig.AutoConfirmForever:
		return false
	case b == kernelconfig.AutoConfirmForever:
		return true
	}
	return a < b
}

// fill puts the result into an Authority.
func (x *authorityExtras) fill(a *kernelconfig.Authority) {
	a.PreApproved = x.approvals
	if x.auto != nil {
		a.AutoConfirmUntil = *x.auto
	}
	slices.Sort(x.lock)
	a.Lock = slices.Compact(x.lock)
	if !x.network {
		return
	}
	slices.Sort(x.cidrs)
	n := &kernelconfig.NetworkRules{
		AllowPrivate: len(x.private) > 0 && !slices.Contains(x.private, v1alpha1.DenyAddresses),
		DenyCIDRs:    slices.Compact(x.cidrs),
	}
	if !x.anyPorts {
		slices.Sort(x.ports)
		n.AllowedPorts = slices.Compact(x.ports)
	}
	a.Network = n
}

// checkExtras checks what admission checks in a cluster.
func checkExtras(bad func(path, format string, args ...any), spec v1alpha1.AuthorityPolicySpec) {
	if p := spec.PreApproved; p != nil {
		if len(p.Allow) == 0 || slices.ContainsFunc(p.Allow, func(s string) bool { return strings.TrimSpace(s) == "" }) {
			bad("spec.preApproved.allow", "must have at least one capability and no empty ones")
		}
		if p.DurationSeconds != nil && *p.DurationSeconds < 1 {
			bad("spec.preApproved.durationSeconds", "must be at least 1, got %d", *p.DurationSeconds)
		}
	}
	if a := spec.AutoConfirm; a != nil {
		known := []v1alpha1.AutoConfirmMode{v1alpha1.AutoConfirmNever, v1alpha1.AutoConfirmUntil, v1alpha1.AutoConfirmForever}
		if !slices.Contains(known, a.Mode) {
			bad("spec.autoConfirm.mode", `must be one of "Never", "Until", "Forever", got %q`, a.Mode)
		}
		if (a.Mode == v1alpha1.AutoConfirmUntil) != (a.Until != nil) {
			bad("spec.autoConfirm.until", "must be given with the mode Until, and only with it")
		}
	}
	for _, l := range spec.Lock {
		if locks[l] == "" {
			bad("spec.lock", `must have only "Levels" and "AutoConfirm", got %q`, l)
		}
	}
	if spec.Network != nil {
		checkNetwork(bad, spec.Network)
	}
}

func checkNetwork(bad func(path, format string, args ...any), n *v1alpha1.NetworkRules) {
	if r := n.PrivateAddresses; r != "" && r != v1alpha1.DenyAddresses && r != v1alpha1.AllowAddresses {
		bad("spec.network.privateAddresses", `must be one of "Deny", "Allow", got %q`, r)
	}
	for _, c := range n.DenyCIDRs {
		if _, err := netip.ParsePrefix(c); err != nil {
			bad("spec.network.denyCIDRs", "must have networks such as 10.96.0.0/12, got %q", c)
		}
	}
	for _, p := range n.AllowedPorts {
		if p < 1 || p > 65535 {
			bad("spec.network.allowedPorts", "must have ports from 1 to 65535, got %d", p)
		}
	}
}

// composeUnsafe switches authority off where the bot says so.
func (c *composer) composeUnsafe() {
	u := c.instance.Spec.Unsafe
	if u == nil {
		return
	}
	c.oneOf("spec.unsafe.authority", string(u.Authority), string(v1alpha1.RunStateEnabled), string(v1alpha1.RunStateDisabled))
	if u.Authority != v1alpha1.RunStateDisabled {
		return
	}
	if c.config.Authority == nil {
		c.config.Authority = &kernelconfig.Authority{}
	}
	c.config.Authority.Disabled = true
	c.at(SeverityInfo, v1alpha1.ReasonUnsafe, c.object, "spec.unsafe.authority",
		"everybody may run everything that no AuthorityPolicy denies, without confirmation")
}
