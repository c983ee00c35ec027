// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package recompute

import (
	"container/heap"
	"slices"
)

// Plan computes one round.
//
// An active entry is retired when a service it requires is not available, or will not be because everything that
// provides it is retired in this round: the whole chain behind a lost service goes in one round, consumers first. An
// entry with BounceOnDepChange is retired too when a provider it is bound to is gone or goes, and when the reason is that
// a service it uses optionally went down and nothing else provides that. A missing service never retires entries that
// only use it optionally without asking for that.
//
// What is pending after that, and has every required service available or provided by an entry activated before it in
// this round, is activated. On Shutdown everything that is active or activating is disposed of and nothing activated.
func Plan(entries []Entry, available []Provider, reason Reason) Round {
	p := newPlanner(entries, available)
	if reason.Kind == Shutdown {
		p.doomAll()
		return Round{Retire: p.retirements(Disposed)}
	}
	p.doom(reason)
	round := Round{Retire: p.retirements(Pending)}
	round.Activate = p.activate()
	round.Waiting, round.Cycles = p.waits()
	return round
}

type planner struct {
	*graph
	rank  []int            // topological position by entry
	alive map[string]int   // registrations of a service that outlast this round's retirements
	regs  map[Provider]int // the same, by registration
	owned [][]Provider     // registrations by owning entry
	cause []string         // why an entry is retired; "" if it is not
	ready []bool           // activated by this round
	queue []int            // retired entries whose effects are still to be followed
}

func newPlanner(entries []Entry, available []Provider) *planner {
	g := newGraph(entries)
	n := len(g.entries)
	p := &planner{
		graph: g, rank: make([]int, n), alive: map[string]int{}, regs: map[Provider]int{},
		owned: make([][]Provider, n), cause: make([]string, n), ready: make([]bool, n),
	}
	order, _ := g.order()
	for at, i := range order {
		p.rank[i] = at
	}
	for _, a := range available {
		p.alive[a.Service]++
		p.regs[a]++
		if i := ownerOf(g.index, a.Owner); i >= 0 {
			p.owned[i] = append(p.owned[i], a)
		}
	}
	return p
}

func (p *planner) doomAll() {
	for i, e := range p.entries {
		if e.State == Active || e.State == Activating {
			p.cause[i] = "shutdown"
		}
	}
}

// doom marks every entry that this round retires: those that lack something now, then those that lack it because of them.
func (p *planner) doom(reason Reason) {
	users, bound := p.users()
	for i, e := range p.entries {
		if e.State == Active {
			p.mark(i, p.lacks(e, reason))
		}
	}
	for at := 0; at < len(p.queue); at++ {
		lost := p.entries[p.queue[at]].ID
		for _, reg := range p.owned[p.queue[at]] {
			p.regs[reg]--
			for _, c := range bound[reg] {
				if p.regs[reg] == 0 {
					p.mark(c, "service "+reg.Service+" is being replaced: "+lost+" is retired")
				}
			}
			if p.alive[reg.Service]--; p.alive[reg.Service] > 0 {
				continue
			}
			for _, c := range users[reg.Service] {
				p.mark(c, "service "+reg.Service+" goes away: "+lost+" is retired")
			}
		}
	}
}

// users maps services to the active entries that require them, and registrations to the active entries that want a bounce
// when they go.
func (p *planner) users() (users map[string][]int, bound map[Provider][]int) {
	users, bound = map[string][]int{}, map[Provider][]int{}
	for i, e := range p.entries {
		if e.State != Active {
			continue
		}
		for _, s := range e.Required {
			users[s] = append(users[s], i)
		}
		if e.BounceOnDepChange {
			for _, b := range e.Bound {
				bound[b] = append(bound[b], i)
			}
		}
	}
	return users, bound
}

// lacks says why an active entry cannot stay as it is, or "".
func (p *planner) lacks(e Entry, reason Reason) string {
	for _, s := range e.Required {
		if p.alive[s] == 0 {
			return "service " + s + " is gone"
		}
	}
	if !e.BounceOnDepChange {
		return ""
	}
	if reason.Kind == ServiceDown && p.alive[reason.Service] == 0 && slices.Contains(e.Optional, reason.Service) {
		return "service " + reason.Service + " is gone"
	}
	for _, b := range e.Bound {
		if p.regs[b] == 0 && (p.alive[b.Service] > 0 || slices.Contains(e.Optional, b.Service)) {
			return "service " + b.Service + " was replaced: " + ownerName(b.Owner) + " no longer provides it"
		}
	}
	return ""
}

func ownerName(id string) string {
	if id == "" {
		return "the host"
	}
	return id
}

// mark retires an entry for a cause, the first cause winning.
func (p *planner) mark(i int, cause string) {
	if cause != "" && p.cause[i] == "" {
		p.cause[i] = cause
		p.queue = append(p.queue, i)
	}
}

// retirements lists the marked entries, consumers before the entries that now own what they require. Where that leaves
// a choice the later in topological order goes first; entries that own each other's services follow by the same rule.
func (p *planner) retirements(target State) []Retirement {
	var doomed []int
	for i := range p.entries {
		if p.cause[i] != "" {
			doomed = append(doomed, i)
		}
	}
	upstream, blocked := p.ownership(doomed)
	var out []Retirement
	h := &byRank{rank: p.rank, last: true}
	for _, i := range doomed {
		if blocked[i] == 0 {
			heap.Push(h, i)
		}
	}
	for len(out) < len(doomed) {
		if h.Len() == 0 {
			heap.Push(h, p.breakTie(doomed, blocked))
		}
		i := heap.Pop(h).(int)
		blocked[i] = -1
		out = append(out, Retirement{ID: p.entries[i].ID, Target: target, Cause: p.cause[i]})
		for _, o := range upstream[i] {
			if blocked[o]--; blocked[o] == 0 {
				heap.Push(h, o)
			}
		}
	}
	return out
}

// ownership finds, among the given entries, which own what the others require, and how many consumers each has.
func (p *planner) ownership(among []int) (upstream map[int][]int, consumers map[int]int) {
	owners := map[string][]int{}
	for _, i := range among {
		for _, reg := range p.owned[i] {
			owners[reg.Service] = append(owners[reg.Service], i)
		}
	}
	upstream, consumers = map[int][]int{}, map[int]int{}
	for _, i := range among {
		for _, s := range p.entries[i].Required {
			for _, o := range owners[s] {
				if o != i && !slices.Contains(upstream[i], o) {
					upstream[i] = append(upstream[i], o)
					consumers[o]++
				}
			}
		}
	}
	return upstream, consumers
}

// breakTie picks the entry to go first among those that own each other's services: the last in topological order.
func (p *planner) breakTie(doomed []int, blocked map[int]int) int {
	pick := -1
	for _, i := range doomed {
		if blocked[i] > 0 && (pick < 0 || p.rank[i] > p.rank[pick]) {
			pick = i
		}
	}
	return pick
}

// activate lists what can start, in an order in which everything required is there when its consumer's turn comes.
func (p *planner) activate() []string {
	missing, waiting := make([]int, len(p.entries)), map[string][]int{}
	h := &byRank{rank: p.rank}
	for i, e := range p.entries {
		if !p.pending(i) {
			continue
		}
		for _, s := range e.Required {
			if p.alive[s] == 0 {
				missing[i]++
				waiting[s] = append(waiting[s], i)
			}
		}
		if missing[i] == 0 {
			heap.Push(h, i)
		}
	}
	var out []string
	for h.Len() > 0 {
		i := heap.Pop(h).(int)
		p.ready[i] = true
		out = append(out, p.entries[i].ID)
		for _, s := range p.entries[i].Provides {
			p.alive[s]++
			for _, c := range waiting[s] {
				if missing[c]--; missing[c] == 0 {
					heap.Push(h, c)
				}
			}
			delete(waiting, s)
		}
	}
	return out
}

// pending reports whether the entry is pending once this round's retirements are done.
func (p *planner) pending(i int) bool { return p.entries[i].State == Pending || p.cause[i] != "" }

// byRank is a heap of entries, first in topological order on top, or last.
type byRank struct {
	rank  []int
	items []int
	last  bool
}

func (h *byRank) Len() int { return len(h.items) }
func (h *byRank) Less(a, b int) bool {
	if h.last {
		return h.rank[h.items[a]] > h.rank[h.items[b]]
	}
	return h.rank[h.items[a]] < h.rank[h.items[b]]
}
func (h *byRank) Swap(a, b int) { h.items[a], h.items[b] = h.items[b], h.items[a] }
func (h *byRank) Push(x any)    { h.items = append(h.items, x.(int)) }
func (h *byRank) Pop() any {
	last := h.items[len(h.items)-1]
	h.items = h.items[:len(h.items)-1]
	return last
}
