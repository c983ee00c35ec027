// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package recompute

import "slices"

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
		node := queue[at]
		if slices.Contains(g.upstream(node), start) { // looked for first: a hub may have thousands
			var path []int
			for n := node; n != start; n = from[n] {
				path = append(path, n)
			}
			path = append(path, start)
			slices.Reverse(path)
			return path
		}
		for _, p := range g.upstream(node) {
			if _, seen := from[p]; !seen && within[p] {
				from[p] = node
				queue = append(queue, p)
			}
		}
	}
	return []int{start}
}

// components finds the strongly connected components among the given entries (Tarjan's algorithm with an explicit stack,
// so that a chain of any length is fine). Each is sorted by registration order.
func (g *graph) components(among []int, in map[int]bool) [][]int {
	t := newTarjan(g.upstream, func(i int) bool { return in[i] })
	for _, i := range among {
		if t.num[i] == 0 {
			t.visit(i)
		}
	}
	return t.found
}

type tarjan struct {
	next     func(int) []int // where the edges of a node lead
	in       func(int) bool  // which nodes count
	num, low map[int]int     // 1-based visiting number, lowest number reachable
	onStack  map[int]bool
	stack    []int
	found    [][]int
}

func newTarjan(next func(int) []int, in func(int) bool) *tarjan {
	return &tarjan{next: next, in: in, num: map[int]int{}, low: map[int]int{}, onStack: map[int]bool{}}
}

type frame struct {
	node int
	next []int // edges not looked at yet
}

func (t *tarjan) push(i int) frame {
	n := len(t.num) + 1
	t.num[i], t.low[i] = n, n
	t.stack = append(t.stack, i)
	t.onStack[i] = true
	return frame{node: i, next: t.next(i)}
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
		case !t.in(next):
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
