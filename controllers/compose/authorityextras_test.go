// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package compose

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
	"github.com/aalis-dev/aalis-operator/runtime/contract/access"
	"github.com/aalis-dev/aalis-operator/runtime/kernelconfig"
	"github.com/aalis-dev/aalis-operator/runtime/policy"
)

func TestWhatLiftsProtectionNeedsAgreement(t *testing.T) {
	in := load(t, docs(
		doc("AuthorityPolicy", "a", `{selector: {}, preApproved: {allow: [b, a, a], durationSeconds: 60}, autoConfirm: {mode: Forever}, lock: [Levels],
  network: {privateAddresses: Allow, denyCIDRs: [10.0.0.0/8], allowedPorts: [443, 80]}}`),
		doc("AuthorityPolicy", "b", `{selector: {}, preApproved: {allow: ["*"]}, autoConfirm: {mode: Until, until: "2030-01-01T00:00:00Z"}, lock: [Levels, AutoConfirm],
  network: {denyCIDRs: [fd00::/8, 10.0.0.0/8], allowedPorts: [8080, 443]}}`),
		doc("AuthorityPolicy", "c", "{selector: {}, network: {privateAddresses: Deny}}"),
		bot("{}"),
	))
	want := &kernelconfig.Authority{
		PreApproved:      []kernelconfig.PreApproval{{Allow: []string{"*"}}, {Allow: []string{"a", "b"}, DurationSeconds: 60}},
		AutoConfirmUntil: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli(),
		Lock:             []string{"autoConfirm", "levels"},
		Network:          &kernelconfig.NetworkRules{DenyCIDRs: []string{"10.0.0.0/8", "fd00::/8"}, AllowedPorts: []int32{443}},
	}
	r := Compose(in)
	if !r.Deployable() {
		t.Fatal(texts(r))
	}
	got, err := r.Delivery.Unpack()
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got.Authority); d != "" {
		t.Error(d)
	}
	in.AuthorityPolicies = in.AuthorityPolicies[:1]
	if a := Compose(in).Config.Authority; !a.Network.AllowPrivate || a.AutoConfirmUntil != kernelconfig.AutoConfirmForever {
		t.Errorf("one policy alone: got %+v", a)
	}
	in.AuthorityPolicies[0].Spec.Network.AllowedPorts = []int32{1}
	in.AuthorityPolicies = append(in.AuthorityPolicies, load(t, docs(doc("AuthorityPolicy", "d", "{selector: {}, network: {allowedPorts: [2]}}"), bot("{}"))).AuthorityPolicies...)
	if a := Compose(in).Config.Authority; a.Network.AllowedPorts == nil || len(a.Network.AllowedPorts) != 0 {
		t.Errorf("ports that no two policies share: got %+v", a.Network)
	}
}

func TestUnsafe(t *testing.T) {
	r := Compose(load(t, docs(bot("{unsafe: {authority: Disabled}}"))))
	want := []string{"Info Unsafe: AgentInstance b: spec.unsafe.authority: everybody may run everything that no AuthorityPolicy denies, without confirmation"}
	if d := cmp.Diff(want, texts(r)); d != "" || !r.Config.Authority.Disabled {
		t.Errorf("%+v %s", r.Config.Authority, d)
	}
	for _, spec := range []string{"{}", "{unsafe: {}}", "{unsafe: {authority: Enabled}}"} {
		if r := Compose(load(t, docs(bot(spec)))); r.Config.Authority != nil || len(r.Problems) > 0 {
			t.Errorf("%s: got %+v %v", spec, r.Config.Authority, texts(r))
		}
	}
	if r := Compose(load(t, docs(bot("{unsafe: {authority: Gone}}")))); r.Deployable() {
		t.Error("an unknown value is deployed")
	}
}

func TestExtrasThatMakeNoSense(t *testing.T) {
	for spec, want := range map[string]string{
		"preApproved: {}":                                           "spec.preApproved.allow: must have at least one capability and no empty ones",
		`preApproved: {allow: [" "]}`:                               "spec.preApproved.allow: must have at least one capability and no empty ones",
		"preApproved: {allow: [a], durationSeconds: 0}":             "spec.preApproved.durationSeconds: must be at least 1, got 0",
		"autoConfirm: {mode: Sometimes}":                            `spec.autoConfirm.mode: must be one of "Never", "Until", "Forever", got "Sometimes"`,
		"autoConfirm: {mode: Until}":                                "spec.autoConfirm.until: must be given with the mode Until, and only with it",
		`autoConfirm: {mode: Never, until: "2030-01-01T00:00:00Z"}`: "spec.autoConfirm.until: must be given with the mode Until, and only with it",
		"lock: [Owners]":                                            `spec.lock: must have only "Levels" and "AutoConfirm", got "Owners"`,
		"network: {privateAddresses: Maybe}":                        `spec.network.privateAddresses: must be one of "Deny", "Allow", got "Maybe"`,
		"network: {denyCIDRs: [10.0.0.0]}":                          `spec.network.denyCIDRs: must have networks such as 10.96.0.0/12, got "10.0.0.0"`,
		"network: {allowedPorts: [0]}":                              "spec.network.allowedPorts: must have ports from 1 to 65535, got 0",
	} {
		r := Compose(load(t, docs(doc("AuthorityPolicy", "p", "{selector: {}, "+spec+"}"), bot("{}"))))
		if got := texts(r); len(got) != 1 || got[0] != "Error InvalidSpec: AuthorityPolicy p: "+want {
			t.Errorf("%s: got %q", spec, got)
		}
	}
}

func drawPolicySpec(t *rapid.T, name string) v1alpha1.AuthorityPolicy {
	ids := []string{"1", "2"}
	capability := rapid.SampledFrom([]string{"tool:a", "tool:b"})
	p := v1alpha1.AuthorityPolicy{ObjectMeta: metav1.ObjectMeta{Name: name}}
	p.Spec.Selector = &metav1.LabelSelector{}
	for _, id := range rapid.SliceOfNDistinct(rapid.SampledFrom(ids), 0, 2, rapid.ID[string]).Draw(t, "levels") {
		level := rapid.Int32Range(-1, 3).Draw(t, "level")
		p.Spec.Levels = append(p.Spec.Levels, v1alpha1.IdentityLevel{Platform: "p", UserID: id, Level: &level})
	}
	p.Spec.DeniedCapabilities = rapid.SliceOfN(rapid.SampledFrom([]string{"tool:a", "tool:*"}), 0, 1).Draw(t, "denied")
	for _, c := range rapid.SliceOfNDistinct(capability, 0, 2, rapid.ID[string]).Draw(t, "minimum") {
		level := rapid.Int32Range(0, 3).Draw(t, "minLevel")
		p.Spec.AuthorityOverrides = append(p.Spec.AuthorityOverrides, v1alpha1.AuthorityOverride{Capability: c, MinLevel: &level})
	}
	for _, c := range rapid.SliceOfNDistinct(capability, 0, 2, rapid.ID[string]).Draw(t, "confirm") {
		p.Spec.ConfirmOverrides = append(p.Spec.ConfirmOverrides, v1alpha1.ConfirmOverride{Capability: c, Confirm: rapid.SampledFrom(confirmRules).Draw(t, "rule")})
	}
	if rapid.Bool().Draw(t, "approves") {
		p.Spec.PreApproved = &v1alpha1.PreApproval{Allow: rapid.SliceOfN(rapid.SampledFrom([]string{"tool:a", "*"}), 1, 2).Draw(t, "allow")}
	}
	if rapid.Bool().Draw(t, "auto") {
		p.Spec.AutoConfirm = &v1alpha1.AutoConfirm{Mode: rapid.SampledFrom([]v1alpha1.AutoConfirmMode{v1alpha1.AutoConfirmNever, v1alpha1.AutoConfirmForever}).Draw(t, "mode")}
	}
	return p
}

// TestOneMorePolicyDecidesNothingLooser: a policy that disagrees with those there are only ever tightens. What it is first to
// speak of (a level of somebody, an override, an approval) is its own to say, so there the policies before it speak of all.
func TestOneMorePolicyDecidesNothingLooser(t *testing.T) {
	base := load(t, docs(bot("{}")))
	full := func(t *rapid.T) v1alpha1.AuthorityPolicy {
		p := drawPolicySpec(t, "base")
		for _, id := range []string{"1", "2"} {
			level := rapid.Int32Range(-1, 3).Draw(t, "base level")
			p.Spec.Levels = append(p.Spec.Levels, v1alpha1.IdentityLevel{Platform: "p", UserID: id, Level: &level})
		}
		for _, c := range []string{"tool:a", "tool:b"} {
			level := rapid.Int32Range(0, 3).Draw(t, "base minLevel")
			p.Spec.AuthorityOverrides = append(p.Spec.AuthorityOverrides, v1alpha1.AuthorityOverride{Capability: c, MinLevel: &level})
			p.Spec.ConfirmOverrides = append(p.Spec.ConfirmOverrides, v1alpha1.ConfirmOverride{Capability: c, Confirm: rapid.SampledFrom(confirmRules).Draw(t, "base rule")})
		}
		p.Spec.PreApproved = &v1alpha1.PreApproval{Allow: []string{rapid.SampledFrom([]string{"tool:a", "*", "none"}).Draw(t, "base allow")}}
		p.Spec.AutoConfirm = &v1alpha1.AutoConfirm{Mode: rapid.SampledFrom([]v1alpha1.AutoConfirmMode{v1alpha1.AutoConfirmNever, v1alpha1.AutoConfirmForever}).Draw(t, "base mode")}
		p.Spec.Owners = []v1alpha1.Identity{{Platform: "p", UserID: "boss"}}
		return p
	}
	rank := map[policy.Outcome]int{policy.Allow: 0, policy.Ask: 1, policy.Deny: 2}
	rapid.Check(t, func(t *rapid.T) {
		in := base
		in.AuthorityPolicies = []v1alpha1.AuthorityPolicy{full(t)}
		before := Compose(in)
		in.AuthorityPolicies = append(in.AuthorityPolicies, drawPolicySpec(t, "more"))
		after := Compose(in)
		if !before.Deployable() || !after.Deployable() {
			t.Fatal(texts(before), texts(after))
		}
		for _, user := range []string{"boss", "1", "2", "guest"} {
			for i, declared := range []access.Policy{{}, {Risk: access.Dangerous}, {Confirm: access.ConfirmAlways}} {
				q := policy.Query{
					Identity: policy.Identity{Platform: "p", UserID: user}, Policy: declared, Now: time.Unix(1, 0),
					Capability: rapid.SampledFrom([]string{"tool:a", "tool:b"}).Draw(t, fmt.Sprint("capability", i)),
				}
				was, is := policy.New(before.Config.Authority).Decide(q), policy.New(after.Config.Authority).Decide(q)
				if rank[is.Outcome] < rank[was.Outcome] {
					t.Fatalf("%+v: %+v became %+v", q, was, is)
				}
			}
		}
	})
}
