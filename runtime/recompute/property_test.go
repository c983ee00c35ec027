// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package recompute

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// situation is a random list of entries with services that fit their states, or not.
type situation struct {
	entries   []Entry
	available []Provider
	reason    Reason
}

func drawSituation(t *rapid.T) situation {
	service := rapid.SampledFrom([]string{"s0", "s1", "s2", "s3", "s4", "s5", "s6", "secret:a/b"})
	services := rapid.SliceOfN(service, 0, 3)
	states := rapid.SampledFrom([]State{Pending, Pending, Active, Active, Active, Activating, Disabled, Error, Disposed})
	var s situation
	n := rapid.IntRange(0, 12).Draw(t, "entries")
	for i := range n {
		en := Entry{
			ID: fmt.Sprint("p", i), State: states.Draw(t, "state"), Provides: services.Draw(t, "provides"),
			Required: services.Draw(t, "required"), Optional: services.Draw(t, "optional"),
			BounceOnDepChange: rapid.Bool().Draw(t, "bounce"),
		}
		if en.State == Active && rapid.IntRange(0, 9).Draw(t, "provides it") > 0 {
			for _, p := range en.Provides {
				owner := en.ID + rapid.SampledFrom([]string{"", "", "/part", "#child"}).Draw(t, "part")
				s.available = append(s.available, Provider{Service: p, Owner: owner})
			}
		}
		s.entries = append(s.entries, en)
	}
	for _, h := range rapid.SliceOfN(service, 0, 3).Draw(t, "host") {
		s.available = append(s.available, Provider{Service: h, Owner: "root"})
	}
	for i := range s.entries {
		if len(s.available) > 0 && rapid.Bool().Draw(t, "bound") {
			s.entries[i].Bound = rapid.SliceOfN(rapid.SampledFrom(s.available), 0, 2).Draw(t, "binding")
		}
	}
	kind := rapid.SampledFrom([]ReasonKind{ServiceUp, ServiceDown, PluginStateChanged, Shutdown}).Draw(t, "kind")
	s.reason = Reason{Kind: kind, Service: service.Draw(t, "reason")}
	return s
}

// owners lists the services each entry owns now, by entry id.
func (s situation) owners() map[string][]string {
	g, out := newGraph(s.entries), map[string][]string{}
	for _, a := range s.available {
		if i := ownerOf(g.index, a.Owner); i >= 0 {
			out[g.entries[i].ID] = append(out[g.entries[i].ID], a.Service)
		}
	}
	return out
}

func TestOrderIsTopological(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSituation(t)
		order, cycles := Order(s.entries)
		ids := make([]string, len(s.entries))
		for i, en := range s.entries {
			ids[i] = en.ID
		}
		sorted := slices.Clone(order)
		slices.SortFunc(sorted, func(a, b string) int { return slices.Index(ids, a) - slices.Index(ids, b) })
		if !slices.Equal(ids, sorted) {
			t.Fatalf("order %v is no permutation of %v", order, ids)
		}
		g := newGraph(s.entries)
		inCycle := map[string]bool{}
		for _, c := range cycles {
			for at, id := range c {
				inCycle[id] = true
				next := g.index[c[(at+1)%len(c)]]
				if len(c) < 2 || !slices.Contains(g.upstream(g.index[id]), next) {
					t.Fatalf("%v is no cycle", c)
				}
			}
		}
		for i, en := range g.entries {
			for _, p := range g.upstream(i) {
				before := slices.Index(order, g.entries[p].ID) < slices.Index(order, en.ID)
				if !before && len(cycles) == 0 {
					t.Fatalf("%s comes before its provider in %v", en.ID, order)
				}
				if g.reaches(p, i) != (inCycle[en.ID] && g.reaches(p, i)) {
					t.Fatalf("%s is in a cycle that nobody named: %v", en.ID, cycles)
				}
			}
		}
	})
}

// reaches is a plain search that the test trusts more than the planner's component search.
func (g *graph) reaches(from, to int) bool {
	seen, queue := map[int]bool{from: true}, []int{from}
	for at := 0; at < len(queue); at++ {
		if queue[at] == to {
			return true
		}
		for _, p := range g.upstream(queue[at]) {
			if !seen[p] {
				seen[p] = true
				queue = append(queue, p)
			}
		}
	}
	return false
}

func TestPlanInvariants(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSituation(t)
		round := Plan(s.entries, s.available, s.reason)
		if d := cmp.Diff(round, Plan(s.entries, s.available, s.reason)); d != "" {
			t.Fatalf("the same input gave another plan:\n%s", d)
		}
		s.checkRetire(t, round)
		if s.reason.Kind == Shutdown {
			if len(round.Activate) > 0 || len(round.Waiting) > 0 {
				t.Fatalf("a shutdown plans %v", round)
			}
			return
		}
		s.checkActivate(t, round)
	})
}

func (s situation) checkRetire(t *rapid.T, round Round) {
	g, owned := newGraph(s.entries), s.owners()
	at := map[string]int{}
	for i, r := range round.Retire {
		if _, dup := at[r.ID]; dup {
			t.Fatalf("%s is retired twice", r.ID)
		}
		at[r.ID] = i
		st := g.entries[g.index[r.ID]].State
		if st != Active && (st != Activating || s.reason.Kind != Shutdown) {
			t.Fatalf("%s is retired while it is %s", r.ID, st)
		}
	}
	left := map[string]bool{}
	for _, a := range s.available {
		if i := ownerOf(g.index, a.Owner); i < 0 || !has(at, g.entries[i].ID) {
			left[a.Service] = true
		}
	}
	for _, en := range g.entries {
		if _, retired := at[en.ID]; en.State == Active && !retired {
			for _, r := range en.Required {
				if !left[r] {
					t.Fatalf("%s stays active without %s", en.ID, r)
				}
			}
		}
	}
	for id := range at {
		for _, r := range g.entries[g.index[id]].Required {
			for other := range at {
				if other != id && slices.Contains(owned[other], r) && at[other] < at[id] && !s.uses(other, id, at, owned) {
					t.Fatalf("provider %s goes before its consumer %s: %v", other, id, round.Retire)
				}
			}
		}
	}
}

func has(m map[string]int, k string) bool { _, ok := m[k]; return ok }

// uses reports whether a retired entry requires, directly or not, what another retired one owns.
func (s situation) uses(id, what string, at map[string]int, owned map[string][]string) bool {
	g := newGraph(s.entries)
	seen, queue := map[string]bool{id: true}, []string{id}
	for n := 0; n < len(queue); n++ {
		for _, r := range g.entries[g.index[queue[n]]].Required {
			for other := range at {
				if !seen[other] && slices.Contains(owned[other], r) {
					seen[other] = true
					queue = append(queue, other)
				}
			}
		}
	}
	return seen[what]
}

func (s situation) checkActivate(t *rapid.T, round Round) {
	g := newGraph(s.entries)
	at := map[string]int{}
	for i, r := range round.Retire {
		at[r.ID] = i
	}
	present := map[string]bool{}
	for _, a := range s.available {
		if i := ownerOf(g.index, a.Owner); i < 0 || !has(at, g.entries[i].ID) {
			present[a.Service] = true
		}
	}
	started := map[string]bool{}
	for _, id := range round.Activate {
		en := g.entries[g.index[id]]
		if en.State != Pending && !has(at, id) || started[id] {
			t.Fatalf("%s is %s and cannot be activated", id, en.State)
		}
		started[id] = true
		for _, r := range en.Required {
			if !present[r] {
				t.Fatalf("%s is activated before %s is there", id, r)
			}
		}
		for _, p := range en.Provides {
			present[p] = true
		}
	}
	waiting := map[string]bool{}
	for _, w := range round.Waiting {
		waiting[w.ID] = true
		if len(w.Missing) == 0 || w.Message == "" {
			t.Fatalf("%s waits for nothing", w.ID)
		}
		for _, m := range w.Missing {
			if present[m] {
				t.Fatalf("%s waits for %s, which is there", w.ID, m)
			}
		}
	}
	for _, en := range g.entries {
		pending := en.State == Pending || has(at, en.ID)
		if pending != (started[en.ID] || waiting[en.ID]) || started[en.ID] && waiting[en.ID] {
			t.Fatalf("%s (%s): started %v, waiting %v", en.ID, en.State, started[en.ID], waiting[en.ID])
		}
	}
}

// TestPredictEnds checks that a predicted end state is one: it plans nothing more, is reached in at most two rounds, and
// has an entry active exactly if everything it requires is there.
func TestPredictEnds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSituation(t)
		p := Predict(s.entries, s.available, s.reason)
		if !p.Converged || p.Rounds > 2 {
			t.Fatalf("took %d rounds, converged %v", p.Rounds, p.Converged)
		}
		if s.reason.Kind == Shutdown {
			return
		}
		w := newWorld(s.entries, s.available)
		reason := s.reason
		for range p.Rounds {
			w.carryOut(Plan(w.entries, w.available, reason))
			reason = Degrade(reason)
		}
		if again := Plan(w.entries, w.available, reason); again.Changes() {
			t.Fatalf("the end state still plans %+v", again)
		}
		present := map[string]bool{}
		for _, a := range w.available {
			present[a.Service] = true
		}
		for _, en := range w.entries {
			missing := slices.ContainsFunc(en.Required, func(r string) bool { return !present[r] })
			if p.States[en.ID] != en.State || en.State == Active && missing || en.State == Pending && !missing {
				t.Fatalf("%s ends %s (predicted %s), missing %v", en.ID, en.State, p.States[en.ID], missing)
			}
		}
	})
}

func FuzzPlan(f *testing.F) {
	f.Add([]byte("a:s<t;b:t<s;c:<s"), "s", uint8(1))
	f.Fuzz(func(t *testing.T, data []byte, service string, kind uint8) {
		entries, available := decode(data)
		kinds := []ReasonKind{ServiceUp, ServiceDown, PluginStateChanged, Shutdown, "odd"}
		reason := Reason{Kind: kinds[int(kind)%len(kinds)], Service: service}
		if d := cmp.Diff(Plan(entries, available, reason), Plan(entries, available, reason)); d != "" {
			t.Fatal(d)
		}
		if p := Predict(entries, available, reason); !p.Converged {
			t.Fatalf("did not converge: %+v", p)
		}
	})
}

// decode reads any bytes as entries: "id:provides<required;...", each name one byte, the state from the id.
func decode(data []byte) (entries []Entry, available []Provider) {
	states := []State{Pending, Active, Disabled, Error, Activating, Disposed, ""}
	for _, part := range slices.Collect(split(data, ';')) {
		en := Entry{}
		target := &en.Provides
		for at, b := range part {
			switch {
			case at == 0:
				en.ID, en.State, en.BounceOnDepChange = string(b), states[int(b)%len(states)], b%2 == 0
			case b == '<':
				target = &en.Required
			case b == '?':
				target = &en.Optional
			default:
				*target = append(*target, string(b))
			}
		}
		for _, p := range en.Provides {
			available = append(available, Provider{Service: p, Owner: en.ID, Epoch: uint64(len(p))})
		}
		entries = append(entries, en)
	}
	return entries, available
}

func split(data []byte, sep byte) func(func([]byte) bool) {
	return func(yield func([]byte) bool) {
		for {
			i := slices.Index(data, sep)
			if i < 0 {
				yield(data)
				return
			}
			if !yield(data[:i]) {
				return
			}
			data = data[i+1:]
		}
	}
}
