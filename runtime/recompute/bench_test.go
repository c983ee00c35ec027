// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package recompute

import (
	"fmt"
	"testing"
)

// steady makes n active entries, each requiring the one before it and one of the host's services.
func steady(n int) ([]Entry, []Provider) {
	entries, available := make([]Entry, 0, n), own("app", "root", "s-1", "root")
	for i := range n {
		id, s := fmt.Sprint("@aalis/plugin-", i), fmt.Sprint("s", i)
		entries = append(entries, active(e(id, names(s), names(fmt.Sprint("s", i-1), "app"))))
		available = append(available, Provider{Service: s, Owner: id})
	}
	return entries, available
}

func BenchmarkPlan(b *testing.B) {
	for _, n := range []int{40, 1000} {
		entries, available := steady(n)
		b.Run(fmt.Sprintf("nothing to do/%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if Plan(entries, available, changed).Changes() {
					b.Fatal("a steady state planned something")
				}
			}
		})
		b.Run(fmt.Sprintf("nothing to do again/%d", n), func(b *testing.B) {
			b.ReportAllocs()
			var p Planner
			for b.Loop() {
				if p.Plan(entries, available, changed).Changes() {
					b.Fatal("a steady state planned something")
				}
			}
		})
		b.Run(fmt.Sprintf("root lost/%d", n), func(b *testing.B) {
			b.ReportAllocs()
			lost := available[2:]
			for b.Loop() {
				if got := Plan(entries, lost, changed); len(got.Retire) != n {
					b.Fatal("the chain did not go")
				}
			}
		})
	}
}
