// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package recompute

import "slices"

// doom marks every entry that this round retires: those that lack something now, then those that lack it because of them.
func (p *Planner) doom(reason Reason) {
	for i := range p.entries {
		if p.entries[i].State == Active {
			p.mark(i, p.lacks(i, reason))
		}
	}
	if len(p.queue) == 0 {
		return
	}
	users, owned := p.users(), p.owned()
	for at := 0; at < len(p.queue); at++ {
		lost := p.queue[at]
		for _, r := range owned[lost] {
			p.withdraw(r, lost, users)
		}
	}
}

// withdraw follows the effects of a registration that goes because its owner does.
func (p *Planner) withdraw(r, owner int, users [][]int) {
	reg, lost := &p.seen[r], p.entries[owner].ID
	if b := p.bound[*reg]; b != nil {
		if b.left--; b.left == 0 {
			for _, c := range b.users {
				p.mark(c, "service "+reg.Service+" is being replaced: "+lost+" is retired")
			}
		}
	}
	s := p.regs[r].service
	if s < 0 {
		return
	}
	if p.alive[s]--; p.alive[s] > 0 {
		return
	}
	for _, c := range users[s] {
		p.mark(c, "service "+reg.Service+" goes away: "+lost+" is retired")
	}
}

// users lists by service the active entries that require it.
func (p *Planner) users() [][]int {
	out := make([][]int, len(p.names))
	for i := range p.entries {
		if p.entries[i].State == Active {
			for _, s := range p.required[i] {
				out[s] = append(out[s], i)
			}
		}
	}
	return out
}

// owned lists by entry the registrations that it owns.
func (p *Planner) owned() [][]int {
	out := make([][]int, len(p.entries))
	for r := range p.regs {
		if i := p.regs[r].owner; i >= 0 {
			out[i] = append(out[i], r)
		}
	}
	return out
}

// lacks says why an active entry cannot stay as it is, or "".
func (p *Planner) lacks(i int, reason Reason) string {
	for _, s := range p.required[i] {
		if p.alive[s] == 0 {
			return "service " + p.names[s] + " is gone"
		}
	}
	e := &p.entries[i]
	if !e.BounceOnDepChange {
		return ""
	}
	if reason.Kind == ServiceDown && p.optionally(i, reason.Service) && !p.there(reason.Service) {
		return "service " + reason.Service + " is gone"
	}
	for _, to := range e.Bound {
		if p.bound[to].left == 0 && (p.there(to.Service) || p.optionally(i, to.Service)) {
			return "service " + to.Service + " was replaced: " + ownerName(to.Owner) + " no longer provides it"
		}
	}
	return ""
}

func (p *Planner) optionally(i int, service string) bool {
	return slices.Contains(p.optional[i], p.numberOf(service))
}

func (p *Planner) there(service string) bool {
	s := p.numberOf(service)
	return s >= 0 && p.alive[s] > 0
}

func ownerName(id string) string {
	if id == "" {
		return "the host"
	}
	return id
}

// mark retires an entry for a cause, the first cause winning.
func (p *Planner) mark(i int, cause string) {
	if cause != "" && p.cause[i] == "" {
		p.cause[i] = cause
		p.queue = append(p.queue, i)
	}
}

// retirements lists the marked entries, consumers before the entries that now own what they require. Where that leaves
// a choice the later in topological order goes first; entries that own each other's services follow by the same rule.
func (p *Planner) retirements(target State) []Retirement {
	if len(p.queue) == 0 {
		return nil
	}
	owners, consumers := p.ownership()
	left := make([]int, len(p.entries)) // consumers that did not go yet; -1 for an entry that did
	out := make([]Retirement, 0, len(p.queue))
	next := queue{rank: p.rank(), last: true}
	for _, i := range p.queue {
		if left[i] = len(consumers[i]); left[i] == 0 {
			next.push(i)
		}
	}
	for len(out) < len(p.queue) {
		if len(next.items) == 0 {
			next.push(p.breakTie(left, consumers))
		}
		i := next.pop()
		left[i] = -1
		out = append(out, Retirement{ID: p.entries[i].ID, Target: target, Cause: p.cause[i]})
		for _, o := range owners[i] {
			if left[o]--; left[o] == 0 {
				next.push(o)
			}
		}
	}
	return out
}

// ownership finds, for each marked entry, the marked ones that own what it requires, and the other way round.
func (p *Planner) ownership() (owners, consumers [][]int) {
	byService := make([][]int, len(p.names))
	for _, reg := range p.regs {
		if i := reg.owner; i >= 0 && reg.service >= 0 && p.cause[i] != "" {
			byService[reg.service] = append(byService[reg.service], i)
		}
	}
	owners, consumers = make([][]int, len(p.entries)), make([][]int, len(p.entries))
	for _, i := range p.queue {
		for _, s := range p.required[i] {
			for _, o := range byService[s] {
				if o != i && !slices.Contains(owners[i], o) {
					owners[i] = append(owners[i], o)
					consumers[o] = append(consumers[o], i)
				}
			}
		}
	}
	return owners, consumers
}

// breakTie picks the entry to go first when each one left has a consumer that did not go yet: of entries that own each
// other's services and that nobody else is left to use, the last in topological order.
func (p *Planner) breakTie(left []int, consumers [][]int) int {
	rank := p.rank()
	last := func(of []int) int {
		pick := -1
		for _, i := range of {
			if left[i] > 0 && (pick < 0 || rank[i] > rank[pick]) {
				pick = i
			}
		}
		return pick
	}
	t := newTarjan(func(i int) []int { return consumers[i] }, func(i int) bool { return left[i] > 0 })
	t.visit(last(p.queue))
	return last(t.found[0]) // those found first have no way out to others
}

// queue gives entries out by rank: the lowest first, or the highest.
type queue struct {
	rank  []int
	last  bool
	items []int // a heap
}

func (q *queue) before(a, b int) bool {
	if q.last {
		a, b = b, a
	}
	return q.rank[q.items[a]] < q.rank[q.items[b]]
}

func (q *queue) push(i int) {
	q.items = append(q.items, i)
	for at := len(q.items) - 1; at > 0; {
		up := (at - 1) / 2
		if !q.before(at, up) {
			return
		}
		q.items[at], q.items[up] = q.items[up], q.items[at]
		at = up
	}
}

func (q *queue) pop() int {
	top, end := q.items[0], len(q.items)-1
	q.items[0] = q.items[end]
	q.items = q.items[:end]
	for at := 0; ; {
		down := 2*at + 1
		if down >= end {
			return top
		}
		if down+1 < end && q.before(down+1, down) {
			down++
		}
		if !q.before(down, at) {
			return top
		}
		q.items[at], q.items[down] = q.items[down], q.items[at]
		at = down
	}
}
