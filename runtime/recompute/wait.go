// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package recompute

import (
	"fmt"
	"slices"
	"strings"
)

// secretPrefix begins the names of the services that stand for a key of a Secret: secret:NAME/KEY.
const secretPrefix = "secret:"

// maxNamed is how many missing services a message names.
const maxNamed = 3

// maxInCycle is how many members of a cycle a message names.
const maxInCycle = 12

// waits explains every entry that is pending after this round.
func (p *Planner) waits() ([]Wait, [][]string) {
	var waiting []int
	for i := range p.entries {
		if p.pending(i) && !p.ready[i] {
			waiting = append(waiting, i)
		}
	}
	if waiting == nil {
		return nil, nil
	}
	var cycles [][]string
	in := map[int]*ring{}
	for _, c := range p.cycles(waiting) {
		if !p.stuck(c) {
			continue
		}
		ids := p.ids(c)
		cycles = append(cycles, ids)
		r := &ring{ids: ids, message: cycleMessage(ids)}
		for _, i := range c {
			if in[i] == nil {
				in[i] = r
			}
		}
	}
	out := make([]Wait, 0, len(waiting))
	for _, i := range waiting {
		w := Wait{ID: p.entries[i].ID, Missing: p.missing(i)}
		switch r := in[i]; {
		case r != nil:
			w.Cycle, w.Message = r.ids, r.message
		case p.selfOnly(i):
			w.Cycle = []string{w.ID}
			w.Message = cycleMessage(w.Cycle)
		default:
			w.Message = p.message(i, w.Missing)
		}
		out = append(out, w)
	}
	return out, cycles
}

// ring is a cycle as all of its members are told of it: they share it, because it may be long.
type ring struct {
	ids     []string
	message string
}

func cycleMessage(ids []string) string {
	named := ids
	more := ""
	if len(ids) > maxInCycle {
		named = ids[:maxInCycle]
		more = fmt.Sprintf(" -> %d more", len(ids)-maxInCycle)
	}
	return "in a dependency cycle: " + strings.Join(named, " -> ") + more + " -> " + ids[0]
}

// stuck reports whether each member of a cycle really lacks what the next one would provide: a service that somebody
// else provides already does not hold a cycle together.
func (p *Planner) stuck(cycle []int) bool {
	for at, i := range cycle {
		next := cycle[(at+1)%len(cycle)]
		if !slices.ContainsFunc(p.required[i], func(s int) bool {
			return p.alive[s] == 0 && len(p.providers[s]) > 0 && p.providers[s][0] == next
		}) {
			return false
		}
	}
	return true
}

func (p *Planner) missing(i int) []string {
	var out []string
	for _, s := range p.required[i] {
		if p.alive[s] == 0 {
			out = append(out, p.names[s])
		}
	}
	return out
}

// selfOnly reports whether a missing service is declared by the waiting entry and nobody else.
func (p *Planner) selfOnly(i int) bool {
	return slices.ContainsFunc(p.required[i], func(s int) bool {
		return p.alive[s] == 0 && len(p.providers[s]) == 1 && p.providers[s][0] == i
	})
}

func (p *Planner) message(i int, missing []string) string {
	parts := make([]string, 0, maxNamed)
	for _, s := range missing[:min(len(missing), maxNamed)] {
		parts = append(parts, p.describe(i, s))
	}
	text := "waiting for " + strings.Join(parts, ", ")
	if more := len(missing) - maxNamed; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// describe names a missing service and, if an entry declares it, what that entry is doing instead of providing it.
func (p *Planner) describe(i int, service string) string {
	if strings.HasPrefix(service, secretPrefix) {
		return service
	}
	s := p.numbers[service]
	if best := p.mostTelling(p.providers[s], i); best >= 0 {
		return "service " + service + " (provided by " + p.entries[best].ID + ", which " + doing(p.endState(best)) + ")"
	}
	if best := p.mostTelling(p.maybe[s], i); best >= 0 {
		is := doing(p.endState(best))
		if p.endState(best) == Active {
			is = "does not at present"
		}
		return "service " + service + " (" + p.entries[best].ID + " may provide it and " + is + ")"
	}
	return "service " + service
}

// mostTelling picks, of entries that could provide what entry i lacks, the one that explains most, or -1.
func (p *Planner) mostTelling(providers []int, i int) int {
	best := -1
	for _, c := range providers {
		if c != i && (best < 0 || p.blame(c) < p.blame(best)) {
			best = c
		}
	}
	return best
}

func (p *Planner) endState(i int) State {
	if p.cause[i] != "" {
		return Pending
	}
	return p.entries[i].State
}

// blame orders providers by how much they explain a wait: the most telling first.
func (p *Planner) blame(i int) int {
	return slices.Index([]State{Error, Pending, Activating, Active, Disabled, Disposed}, p.endState(i))
}

func doing(s State) string {
	switch s {
	case Error:
		return "is in error"
	case Pending:
		return "is pending itself"
	case Activating:
		return "is starting"
	case Active:
		return "is active but does not provide it"
	case Disabled:
		return "is disabled"
	case Disposed:
		return "is disposed"
	default:
		return "is in an unknown state"
	}
}
