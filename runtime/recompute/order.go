// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package recompute

// Order sorts entries so that each comes after the first entry that declares a service it requires. Optional services do
// not count, nor does an entry's own service. Ties follow registration order.
//
// Entries in a cycle of required services, and those behind one, come last in registration order. Cycles lists such
// cycles, each as ids in the order "requires", starting with the one registered first; every entry that is in a cycle
// is in at least one of them.
func Order(entries []Entry) (order []string, cycles [][]string) {
	g := newGraph(entries)
	all, rest := g.order()
	return g.ids(all), g.idLists(g.cycles(rest))
}
