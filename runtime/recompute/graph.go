// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package recompute

import "slices"

// graph holds the entries with ids resolved to indexes. Indexes follow registration order.
type graph struct {
	entries   []Entry
	index     map[string]int
	providers map[string][]int // service -> entries that declare it, in registration order
}

func newGraph(entries []Entry) *graph {
	g := &graph{index: make(map[string]int, len(entries)), providers: make(map[string][]int)}
	g.entries = make([]Entry, 0, len(entries))
	for _, e := range entries {
		if _, dup := g.index[e.ID]; dup {
			continue
		}
		e.Provides, e.Required, e.Optional = distinct(e.Provides), distinct(e.Required), distinct(e.Optional)
		i := len(g.entries)
		g.index[e.ID] = i
		g.entries = append(g.entries, e)
		for _, s := range e.Provides {
			g.providers[s] = append(g.providers[s], i)
		}
	}
	return g
}

// distinct drops empty and repeated names. It returns the list itself where there are none.
func distinct(names []string) []string {
	for i, n := range names {
		if n != "" && !slices.Contains(names[:i], n) {
			continue
		}
		out := slices.Clone(names[:i])
		for _, m := range names[i:] {
			if m != "" && !slices.Contains(out, m) {
				out = append(out, m)
			}
		}
		return out
	}
	return names
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

// order is Kahn's algorithm over the declared dependencies: an edge runs from the first entry that declares a service to
// each entry that requires it. Optional services make no edges, and neither does an entry's own service. Ties follow
// registration order; what is in a cycle or behind one follows at the end, in registration order.
func (g *graph) order() (order, rest []int) {
	n := len(g.entries)
	consumers, blocked := make([][]int, n), make([]int, n)
	for i := range g.entries {
		for _, p := range g.upstream(i) {
			consumers[p] = append(consumers[p], i)
			blocked[i]++
		}
	}
	order = make([]int, 0, n)
	for i := range n {
		if blocked[i] == 0 {
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

// upstream lists the entries that i's declared dependencies point at, each once, never i itself.
func (g *graph) upstream(i int) []int {
	var out []int
	for _, s := range g.entries[i].Required {
		ps := g.providers[s]
		if len(ps) > 0 && ps[0] != i && !slices.Contains(out, ps[0]) {
			out = append(out, ps[0])
		}
	}
	return out
}

// cycles finds dependency cycles among the given entries such that every entry that is in any cycle is in one of those
// returned: for each such entry, in registration order and unless an earlier cycle holds it, a shortest one through it.
func (g *graph) cycles(among []int) [][]int {
	in := make(map[int]bool, len(among))
	for _, i := range among {
		in[i] = true
	}
	var found [][]int
	covered := make(map[int]bool)
	for _, comp := range g.components(among, in) {
		if len(comp) < 2 {
			continue
		}
		inComp := make(map[int]bool, len(comp))
		for _, i := range comp {
			inComp[i] = true
		}
		for _, i := range comp {
			if covered[i] {
				continue
			}
			cycle := g.shortestCycle(i, inComp)
			for _, m := range cycle {
				covered[m] = true
			}
			found = append(found, cycle)
		}
	}
	slices.SortFunc(found, func(a, b []int) int { return a[0] - b[0] })
	return found
}

// shortestCycle is a breadth-first search from start back to start inside a strongly connected component.
func (g *graph) shortestCycle(start int, within map[int]bool) []int {
	from := map[int]int{}
	queue := []int{start}
	for at := 0; at < len(queue); at++ {
		for _, p := range g.upstream(queue[at]) {
			if p == start {
				var path []int
				for n := queue[at]; n != start; n = from[n] {
					path = append(path, n)
				}
				path = append(path, start)
				slices.Reverse(path)
				return path
			}
			if _, seen := from[p]; !seen && within[p] {
				from[p] = queue[at]
				queue = append(queue, p)
			}
		}
	}
	return []int{start}
}

// components finds the strongly connected components among the given entries (Tarjan's algorithm with an explicit stack,
// so that a chain of any length is fine). Each is sorted by registration order.
func (g *graph) components(among []int, in map[int]bool) [][]int {
	t := &tarjan{g: g, in: in, num: map[int]int{}, low: map[int]int{}, onStack: map[int]bool{}}
	for _, i := range among {
		if t.num[i] == 0 {
			t.visit(i)
		}
	}
	return t.found
}

type tarjan struct {
	g        *graph
	in       map[int]bool
	num, low map[int]int // 1-based visiting number, lowest number reachable
	onStack  map[int]bool
	stack    []int
	found    [][]int
}

type frame struct {
	node int
	next []int // upstream nodes not looked at yet
}

func (t *tarjan) push(i int) frame {
	n := len(t.num) + 1
	t.num[i], t.low[i] = n, n
	t.stack = append(t.stack, i)
	t.onStack[i] = true
	return frame{node: i, next: t.g.upstream(i)}
}

func (t *tarjan) visit(root int) {
	frames := []frame{t.push(root)}
	for len(frames) > 0 {
		top := &frames[len(frames)-1]
		if len(top.next) == 0 {
			t.pop(top.node)
			if len(frames) > 1 {
				parent := frames[len(frames)-2].node
				t.low[parent] = min(t.low[parent], t.low[top.node])
			}
			frames = frames[:len(frames)-1]
			continue
		}
		next := top.next[0]
		top.next = top.next[1:]
		switch {
		case !t.in[next]:
		case t.num[next] == 0:
			frames = append(frames, t.push(next))
		case t.onStack[next]:
			t.low[top.node] = min(t.low[top.node], t.num[next])
		}
	}
}

// pop closes a component when node is the first of it that was visited.
func (t *tarjan) pop(node int) {
	if t.low[node] != t.num[node] {
		return
	}
	at := slices.Index(t.stack, node)
	comp := slices.Clone(t.stack[at:])
	t.stack = t.stack[:at]
	for _, i := range comp {
		t.onStack[i] = false
	}
	slices.Sort(comp)
	t.found = append(t.found, comp)
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
