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

// waits explains every entry that is pending after this round.
func (p *planner) waits() ([]Wait, [][]string) {
	var waiting []int
	for i := range p.entries {
		if p.pending(i) && !p.ready[i] {
			waiting = append(waiting, i)
		}
	}
	var cycles [][]int
	for _, c := range p.cycles(waiting) {
		if p.stuck(c) {
			cycles = append(cycles, c)
		}
	}
	in := map[int][]int{}
	for _, c := range cycles {
		for _, i := range c {
			if in[i] == nil {
				in[i] = c
			}
		}
	}
	var out []Wait
	for _, i := range waiting {
		w := Wait{ID: p.entries[i].ID, Missing: p.missing(i)}
		switch {
		case in[i] != nil:
			w.Cycle = p.ids(in[i])
		case p.selfOnly(w.Missing, i):
			w.Cycle = []string{w.ID}
		}
		w.Message = p.message(i, w)
		out = append(out, w)
	}
	return out, p.idLists(cycles)
}

// stuck reports whether each member of a cycle really lacks what the next one would provide: a service that somebody
// else provides already does not hold a cycle together.
func (p *planner) stuck(cycle []int) bool {
	for at, i := range cycle {
		next := cycle[(at+1)%len(cycle)]
		if !slices.ContainsFunc(p.missing(i), func(s string) bool { return p.providers[s] != nil && p.providers[s][0] == next }) {
			return false
		}
	}
	return true
}

func (p *planner) missing(i int) []string {
	var out []string
	for _, s := range p.entries[i].Required {
		if p.alive[s] == 0 {
			out = append(out, s)
		}
	}
	return out
}

// selfOnly reports whether a missing service is declared by the waiting entry and nobody else.
func (p *planner) selfOnly(missing []string, i int) bool {
	return slices.ContainsFunc(missing, func(s string) bool { return len(p.providers[s]) == 1 && p.providers[s][0] == i })
}

func (p *planner) message(i int, w Wait) string {
	if w.Cycle != nil {
		return "in a dependency cycle: " + strings.Join(append(slices.Clone(w.Cycle), w.Cycle[0]), " -> ")
	}
	parts := make([]string, 0, maxNamed)
	for _, s := range w.Missing[:min(len(w.Missing), maxNamed)] {
		parts = append(parts, p.describe(i, s))
	}
	text := "waiting for " + strings.Join(parts, ", ")
	if more := len(w.Missing) - maxNamed; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// describe names a missing service and, if an entry declares it, what that entry is doing instead of providing it.
func (p *planner) describe(i int, service string) string {
	if strings.HasPrefix(service, secretPrefix) {
		return service
	}
	best := -1
	for _, c := range p.providers[service] {
		if c != i && (best < 0 || p.blame(c) < p.blame(best)) {
			best = c
		}
	}
	text := "service " + service
	if best >= 0 {
		text += " (provided by " + p.entries[best].ID + ", which " + doing(p.endState(best)) + ")"
	}
	return text
}

func (p *planner) endState(i int) State {
	if p.cause[i] != "" {
		return Pending
	}
	return p.entries[i].State
}

// blame orders providers by how much they explain a wait: the most telling first.
func (p *planner) blame(i int) int {
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
