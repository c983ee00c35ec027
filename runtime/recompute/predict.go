// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package recompute

import "slices"

// Predict carries out rounds of [Plan] on paper until one changes nothing, as if every activation succeeded and provided
// exactly what its entry declares. Entries in Error, Disabled or Disposed stay as they are, as they do in a kernel.
func Predict(entries []Entry, available []Provider, reason Reason) Prediction {
	w := newWorld(entries, available)
	var (
		p       Prediction
		planner Planner
	)
	for p.Rounds < MaxRounds {
		round := planner.Plan(w.entries, w.available, reason)
		if !round.Changes() {
			p.Converged = true
			p.Waits, p.Cycles = round.Waiting, round.Cycles
			break
		}
		p.Rounds++
		w.carryOut(round)
		for _, r := range round.Retire {
			p.Retired = append(p.Retired, r.ID)
		}
		p.Activated = append(p.Activated, round.Activate...)
		p.Waits, p.Cycles = round.Waiting, round.Cycles
		if reason.Kind == Shutdown {
			p.Converged = true
			break
		}
		reason = Degrade(reason)
	}
	p.States = make(map[string]State, len(w.entries))
	for _, e := range w.entries {
		p.States[e.ID] = e.State
	}
	return p
}

// world is the imagined state of a kernel between two rounds.
type world struct {
	entries   []Entry
	index     map[string]int
	available []Provider
}

func newWorld(entries []Entry, available []Provider) *world {
	g := newGraph(entries)
	return &world{entries: g.entries, index: g.index, available: slices.Clone(available)}
}

func (w *world) carryOut(round Round) {
	gone := make(map[int]bool, len(round.Retire))
	for _, r := range round.Retire {
		i := w.index[r.ID]
		w.entries[i].State, w.entries[i].Bound = r.Target, nil
		gone[i] = true
	}
	w.available = slices.DeleteFunc(w.available, func(p Provider) bool { return gone[ownerOf(w.index, p.Owner)] })
	for _, id := range round.Activate {
		e := &w.entries[w.index[id]]
		e.State = Active
		for _, s := range e.Provides {
			w.available = append(w.available, Provider{Service: s, Owner: id})
		}
	}
	w.bind(round.Activate)
}

// bind notes which provider each dependency of the activated entries resolved to. It runs after all activations, when an
// optional service that came up later in the round has been found by its consumers too.
func (w *world) bind(activated []string) {
	first := make(map[string]Provider, len(w.available))
	for _, p := range w.available {
		if _, ok := first[p.Service]; !ok {
			first[p.Service] = p
		}
	}
	for _, id := range activated {
		e := &w.entries[w.index[id]]
		for _, list := range [][]string{e.Required, e.Optional} {
			for _, s := range list {
				if p, ok := first[s]; ok {
					e.Bound = append(e.Bound, p)
				}
			}
		}
	}
}
