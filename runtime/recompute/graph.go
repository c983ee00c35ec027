// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package recompute

import "slices"

// graph is what entries declare, with ids and service names resolved to small numbers. An entry's number is its place in
// the list, without those whose id came before. States play no part in it, so it stays right while only they change.
type graph struct {
	entries  []Entry // a copy of the list, without repeated ids
	repeated bool    // there were such
	index    map[string]int
	numbers  map[string]int // by service name
	names    []string       // by service

	provides, required, optional [][]int // services by entry, each once
	providers, maybe             [][]int // entries by service that declare to provide it, or that they may

	above [][]int // see upstream
	ranks []int   // see rank; nil until it is needed
}

func newGraph(entries []Entry) *graph {
	g := &graph{
		entries: make([]Entry, 0, len(entries)),
		index:   make(map[string]int, len(entries)), numbers: make(map[string]int, len(entries)),
	}
	for i := range entries {
		id := entries[i].ID
		if _, again := g.index[id]; !again {
			g.index[id] = len(g.entries)
			g.entries = append(g.entries, entries[i])
		}
	}
	g.repeated = len(g.entries) < len(entries)
	g.number()
	g.link()
	return g
}

// number resolves the names of services.
func (g *graph) number() {
	n, total := len(g.entries), 0
	for i := range g.entries {
		e := &g.entries[i]
		total += len(e.Provides) + len(e.Required) + len(e.Optional)
	}
	room := make([]int, 0, total) // all lists are parts of it
	lists := make([][]int, 3*n)
	g.provides, g.required, g.optional = lists[:n:n], lists[n:2*n:2*n], lists[2*n:]
	for i := range g.entries {
		e := &g.entries[i]
		g.provides[i], room = g.resolve(room, e.Provides)
		g.required[i], room = g.resolve(room, e.Required)
		g.optional[i], room = g.resolve(room, e.Optional)
	}
}

// resolve appends the numbers of names to room, without empty and repeated ones, and returns that part and the whole.
func (g *graph) resolve(room []int, names []string) (part, whole []int) {
	from := len(room)
	for _, name := range names {
		if name == "" {
			continue
		}
		s, known := g.numbers[name]
		if !known {
			s = len(g.names)
			g.numbers[name] = s
			g.names = append(g.names, name)
		}
		if !slices.Contains(room[from:], s) {
			room = append(room, s)
		}
	}
	return room[from:len(room):len(room)], room
}

// link finds who declares which service, and from that what each entry depends on.
func (g *graph) link() {
	g.providers, g.maybe = make([][]int, len(g.names)), make([][]int, len(g.names))
	for i, services := range g.provides {
		for _, s := range services {
			g.providers[s] = append(g.providers[s], i)
		}
		for _, name := range g.entries[i].MayProvide {
			if s, known := g.numbers[name]; known && !slices.Contains(g.maybe[s], i) {
				g.maybe[s] = append(g.maybe[s], i)
			}
		}
	}
	total := 0
	for _, services := range g.required {
		total += len(services)
	}
	room := make([]int, 0, total)
	g.above = make([][]int, len(g.entries))
	for i, services := range g.required {
		from := len(room)
		for _, s := range services {
			if ps := g.providers[s]; len(ps) > 0 && ps[0] != i && !slices.Contains(room[from:], ps[0]) {
				room = append(room, ps[0])
			}
		}
		g.above[i] = room[from:len(room):len(room)]
	}
}

// describes takes over the states of entries and reports whether they otherwise are those that the graph was made of.
func (g *graph) describes(entries []Entry) bool {
	if g.repeated || len(g.entries) != len(entries) {
		return false
	}
	for i := range entries {
		a, b := &g.entries[i], &entries[i]
		if a.ID != b.ID || !same(a.Provides, b.Provides) || !same(a.Required, b.Required) ||
			!same(a.Optional, b.Optional) || !same(a.MayProvide, b.MayProvide) {
			return false
		}
		*a = *b
	}
	return true
}

// same compares lists, at once if they are one and the same.
func same(a, b []string) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0] || slices.Equal(a, b))
}

// ownerOf returns the entry that owns a registration made under the given id: the entry of that id or of the nearest id
// above it ("id/part", "id#child"), or -1 for the host.
func ownerOf(index map[string]int, id string) int {
	for end := len(id); end > 0; end-- {
		if end < len(id) && id[end] != '/' && id[end] != '#' {
			continue
		}
		if i, ok := index[id[:end]]; ok {
			return i
		}
	}
	return -1
}

// upstream lists the entries that i's declared dependencies point at, the first that declares each service, each once,
// never i itself.
func (g *graph) upstream(i int) []int { return g.above[i] }

// order is Kahn's algorithm over the declared dependencies: an edge runs from the first entry that declares a service to
// each entry that requires it. Optional services make no edges, and neither does an entry's own service. Ties follow
// registration order; what is in a cycle or behind one follows at the end, in registration order.
func (g *graph) order() (order, rest []int) {
	n := len(g.entries)
	blocked, consumers := make([]int, n), g.consumers()
	order = make([]int, 0, n)
	for i := range n {
		if blocked[i] = len(g.upstream(i)); blocked[i] == 0 {
			order = append(order, i)
		}
	}
	for at := 0; at < len(order); at++ {
		for _, c := range consumers[order[at]] {
			if blocked[c]--; blocked[c] == 0 {
				order = append(order, c)
			}
		}
	}
	for i := range n {
		if blocked[i] > 0 {
			rest = append(rest, i)
		}
	}
	return append(order, rest...), rest
}

// consumers turns upstream around: for each entry those that depend on it, in registration order.
func (g *graph) consumers() [][]int {
	counts, total := make([]int, len(g.entries)), 0
	for i := range g.entries {
		for _, p := range g.upstream(i) {
			counts[p]++
			total++
		}
	}
	room, out := make([]int, 0, total), make([][]int, len(g.entries))
	for p, n := range counts {
		from := len(room)
		room = room[:from+n]
		out[p] = room[from : from : from+n]
	}
	for i := range g.entries {
		for _, p := range g.upstream(i) {
			out[p] = append(out[p], i)
		}
	}
	return out
}

// rank gives each entry's place in the order.
func (g *graph) rank() []int {
	if g.ranks == nil {
		order, _ := g.order()
		g.ranks = make([]int, len(order))
		for at, i := range order {
			g.ranks[i] = at
		}
	}
	return g.ranks
}

func (g *graph) ids(indexes []int) []string {
	out := make([]string, len(indexes))
	for i, x := range indexes {
		out[i] = g.entries[x].ID
	}
	return out
}

func (g *graph) idLists(lists [][]int) [][]string {
	var out [][]string
	for _, l := range lists {
		out = append(out, g.ids(l))
	}
	return out
}
