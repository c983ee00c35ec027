// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package compose

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPoliciesThatDiffer(t *testing.T) {
	in := load(t, docs(
		doc("AuthorityPolicy", "b", `{selector: {}, levels: [{platform: x, userId: "a: b", level: 1}, {platform: x, userId: same, level: 3}],
  authorityOverrides: [{capability: "tool:a", minLevel: 2}], confirmOverrides: [{capability: "tool:a", confirm: Session}], autoConfirm: {mode: Forever}}`),
		doc("AuthorityPolicy", "a", `{selector: {}, levels: [{platform: x, userId: "a: b", level: 2}, {platform: x, userId: same, level: 3}],
  authorityOverrides: [{capability: "tool:a", minLevel: 5}], confirmOverrides: [{capability: "tool:a", confirm: Always}],
  autoConfirm: {mode: Until, until: "2030-01-01T00:00:00Z"}, network: {privateAddresses: Allow}}`),
		doc("AuthorityPolicy", "c", `{selector: {}, levels: [{platform: x, userId: "a: b", level: 9}], network: {privateAddresses: Deny}}`),
		doc("AuthorityPolicy", "elsewhere", `{selector: {matchLabels: {no: such}}, levels: [{platform: x, userId: same, level: -1}]}`),
		bot("{}"),
	))
	want := []string{
		"Info StricterHolds: AuthorityPolicy a: spec.levels: x:a: b: level 2 is not in effect: AuthorityPolicy b says level 1, which is stricter",
		"Info StricterHolds: AuthorityPolicy a: spec.network.privateAddresses: private addresses: Allow is not in effect: AuthorityPolicy c says Deny, which is stricter",
		"Info StricterHolds: AuthorityPolicy b: spec.authorityOverrides: tool:a: minLevel 2 is not in effect: AuthorityPolicy a says minLevel 5, which is stricter",
		"Info StricterHolds: AuthorityPolicy b: spec.autoConfirm: owners: Forever is not in effect: AuthorityPolicy a says Until, which is stricter",
		"Info StricterHolds: AuthorityPolicy b: spec.confirmOverrides: tool:a: Session is not in effect: AuthorityPolicy a says Always, which is stricter",
		"Info StricterHolds: AuthorityPolicy c: spec.levels: x:a: b: level 9 is not in effect: AuthorityPolicy b says level 1, which is stricter",
	}
	for range 2 {
		if d := cmp.Diff(want, texts(Compose(in))); d != "" {
			t.Error(d)
		}
		slices.Reverse(in.AuthorityPolicies)
	}
}
