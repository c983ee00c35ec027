// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package recompute

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
	return new(Planner).Plan(entries, available, reason)
}

// Planner plans like [Plan] and gives the same results, but keeps what it found out about its arguments, so that planning
// again after a small change, or none, costs little. The zero value is ready to use. One Planner must not be used by
// several goroutines at a time, and the lists inside the entries it was given (not those holding the entries) must not be
// modified.
type Planner struct {
	*graph
	seen []Provider     // the available providers of the last call
	regs []registration // the same, resolved

	alive []int                 // by service: registrations that outlast this round's retirements
	bound map[Provider]*binding // what active entries that want to know are bound to
	cause []string              // by entry: why it is retired; "" if it is not
	ready []bool                // by entry: activated by this round
	queue []int                 // retired entries whose effects are still to be followed
}

// registration is a Provider resolved to numbers: -1 for a service that no entry names and for the host as owner.
type registration struct{ service, owner int }

// binding is one provider with the active entries bound to it that want a bounce when it goes.
type binding struct {
	left  int // registrations like it that outlast this round's retirements
	users []int
}

// Plan computes one round; see the function [Plan].
func (p *Planner) Plan(entries []Entry, available []Provider, reason Reason) Round {
	p.begin(entries, available)
	if reason.Kind == Shutdown {
		for i := range p.entries {
			if s := p.entries[i].State; s == Active || s == Activating {
				p.mark(i, "shutdown")
			}
		}
		return Round{Retire: p.retirements(Disposed)}
	}
	p.doom(reason)
	round := Round{Retire: p.retirements(Pending), Activate: p.activate()}
	round.Waiting, round.Cycles = p.waits()
	return round
}

// begin takes the arguments in, working out anew only what differs from the last call.
func (p *Planner) begin(entries []Entry, available []Provider) {
	if p.graph == nil || !p.describes(entries) {
		p.graph = newGraph(entries)
		p.seen, p.regs = p.seen[:0], p.regs[:0]
	}
	p.alive = zeros(p.alive, len(p.names))
	p.cause = zeros(p.cause, len(p.entries))
	p.ready = zeros(p.ready, len(p.entries))
	p.queue = p.queue[:0]
	p.bind()
	for at := range available {
		p.take(at, &available[at])
	}
	p.seen, p.regs = p.seen[:len(available)], p.regs[:len(available)]
}

// zeros returns a list of n zero values, in the place of the old one if it has room.
func zeros[T any](old []T, n int) []T {
	if cap(old) < n {
		return make([]T, n)
	}
	old = old[:n]
	clear(old)
	return old
}

// take counts the registration at a place of the list.
func (p *Planner) take(at int, a *Provider) {
	switch {
	case at == len(p.seen):
		p.seen, p.regs = append(p.seen, *a), append(p.regs, p.resolved(a))
	case p.seen[at] != *a:
		p.seen[at], p.regs[at] = *a, p.resolved(a)
	}
	if s := p.regs[at].service; s >= 0 {
		p.alive[s]++
	}
	if len(p.bound) > 0 {
		if b := p.bound[*a]; b != nil {
			b.left++
		}
	}
}

func (p *Planner) resolved(a *Provider) registration {
	return registration{service: p.numberOf(a.Service), owner: ownerOf(p.index, a.Owner)}
}

// numberOf gives a service's number, or -1 if no entry names it.
func (p *Planner) numberOf(service string) int {
	if s, known := p.numbers[service]; known {
		return s
	}
	return -1
}

// bind collects what active entries that want to know are bound to.
func (p *Planner) bind() {
	clear(p.bound)
	for i := range p.entries {
		e := &p.entries[i]
		if e.State != Active || !e.BounceOnDepChange {
			continue
		}
		for _, to := range e.Bound {
			if p.bound == nil {
				p.bound = map[Provider]*binding{}
			}
			b := p.bound[to]
			if b == nil {
				b = &binding{}
				p.bound[to] = b
			}
			b.users = append(b.users, i)
		}
	}
}

// pending reports whether the entry is pending once this round's retirements are done.
func (p *Planner) pending(i int) bool { return p.entries[i].State == Pending || p.cause[i] != "" }

// activate lists what can start, in an order in which everything required is there when its consumer's turn comes.
func (p *Planner) activate() []string {
	var (
		missing []int   // by entry: how many required services are not there yet
		waiting [][]int // by service: the entries that miss it
		next    queue
	)
	for i := range p.entries {
		if !p.pending(i) {
			continue
		}
		if missing == nil {
			missing, waiting, next.rank = make([]int, len(p.entries)), make([][]int, len(p.names)), p.rank()
		}
		for _, s := range p.required[i] {
			if p.alive[s] == 0 {
				missing[i]++
				waiting[s] = append(waiting[s], i)
			}
		}
		if missing[i] == 0 {
			next.push(i)
		}
	}
	var out []string
	for len(next.items) > 0 {
		i := next.pop()
		p.ready[i] = true
		out = append(out, p.entries[i].ID)
		for _, s := range p.provides[i] {
			p.alive[s]++
			for _, c := range waiting[s] {
				if missing[c]--; missing[c] == 0 {
					next.push(c)
				}
			}
			waiting[s] = nil
		}
	}
	return out
}
