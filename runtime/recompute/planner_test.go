// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package recompute

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// TestPlannerKeepsNothingWrong checks that a Planner that has planned other situations before plans as a new one does.
func TestPlannerKeepsNothingWrong(t *testing.T) {
	states := rapid.SampledFrom([]State{Pending, Active, Active, Error})
	rapid.Check(t, func(t *rapid.T) {
		var kept Planner
		for range 3 {
			s := drawSituation(t)
			for range 3 {
				if d := cmp.Diff(Plan(s.entries, s.available, s.reason), kept.Plan(s.entries, s.available, s.reason)); d != "" {
					t.Fatalf("a kept planner plans otherwise (-new +kept):\n%s", d)
				}
				for i := range s.entries {
					if rapid.Bool().Draw(t, "changes") {
						s.entries[i].State = states.Draw(t, "state")
					}
				}
				if len(s.available) > 0 && rapid.Bool().Draw(t, "goes") {
					gone := rapid.IntRange(0, len(s.available)-1).Draw(t, "gone")
					s.available = slices.Delete(slices.Clone(s.available), gone, gone+1)
				}
			}
		}
	})
}

func TestMayProvide(t *testing.T) {
	may := func(en Entry, services ...string) Entry { en.MayProvide = services; return en }
	consumer := e("c", nil, names("x"))
	for name, tc := range map[string]struct {
		providers []Entry
		want      string
	}{
		"active":          {[]Entry{may(active(e("p", nil, nil)), "x")}, "waiting for service x (p may provide it and does not at present)"},
		"in error":        {[]Entry{may(in(Error, e("p", nil, nil)), "x")}, "waiting for service x (p may provide it and is in error)"},
		"itself":          {nil, "waiting for service x"},
		"another service": {[]Entry{may(active(e("p", nil, nil)), "y")}, "waiting for service x"},
		"declared too": {
			[]Entry{may(active(e("p", nil, nil)), "x", "x"), in(Disabled, e("q", names("x"), nil))},
			"waiting for service x (provided by q, which is disabled)",
		},
	} {
		t.Run(name, func(t *testing.T) {
			planCase{
				entries: append(tc.providers, may(consumer, "x")),
				waiting: map[string]string{"c": tc.want},
			}.run(t)
		})
	}
	t.Run("makes no order", func(t *testing.T) {
		order, cycles := Order([]Entry{consumer, may(e("p", nil, names("y")), "x"), may(e("q", nil, nil), "y")})
		if !slices.Equal(order, names("c", "p", "q")) || cycles != nil {
			t.Errorf("order %v, cycles %v", order, cycles)
		}
	})
}

// TestTenThousand plans what nobody has, in the shapes that are worst for a planner.
func TestTenThousand(t *testing.T) {
	const n = 10000
	service := func(i int) string { return fmt.Sprint("s", i) }
	for name, tc := range map[string]struct {
		entry func(i int) Entry
		waits int
	}{
		"chain":       {func(i int) Entry { return e(fmt.Sprint("p", i), names(service(i+1)), names(service(i))) }, n},
		"ring":        {func(i int) Entry { return e(fmt.Sprint("p", i), names(service(i)), names(service((i+1)%n))) }, n},
		"pairs":       {func(i int) Entry { return e(fmt.Sprint("p", i), names(service(i)), names(service(i^1))) }, n},
		"self":        {func(i int) Entry { return e(fmt.Sprint("p", i), names(service(i)), names(service(i))) }, n},
		"independent": {func(i int) Entry { return e(fmt.Sprint("p", i), names(service(i)), nil) }, 0},
		"hub": {func(i int) Entry {
			if i > 0 {
				return e(fmt.Sprint("p", i), names(service(i)), names(service(0)))
			}
			hub := e("hub", names(service(0)), nil)
			for s := range n - 1 {
				hub.Required = append(hub.Required, service(s+1))
			}
			return hub
		}, n},
	} {
		t.Run(name, func(t *testing.T) {
			entries := make([]Entry, n)
			for i := range entries {
				entries[i] = tc.entry(i)
			}
			p := Predict(entries, nil, changed)
			if !p.Converged || len(p.Waits) != tc.waits {
				t.Fatalf("converged %v, %d wait", p.Converged, len(p.Waits))
			}
			for _, w := range p.Waits {
				if len(w.Message) > 300 {
					t.Fatalf("%s has a message of %d bytes", w.ID, len(w.Message))
				}
			}
		})
	}
}

func TestLongCycleIsCut(t *testing.T) {
	var entries []Entry
	for i := range 15 {
		entries = append(entries, e(fmt.Sprint("p", i), names(fmt.Sprint("s", i)), names(fmt.Sprint("s", (i+1)%15))))
	}
	round := Plan(entries, nil, changed)
	want := "in a dependency cycle: p0 -> p1 -> p2 -> p3 -> p4 -> p5 -> p6 -> p7 -> p8 -> p9 -> p10 -> p11 -> 3 more -> p0"
	for _, w := range round.Waiting {
		if w.Message != want || len(w.Cycle) != 15 {
			t.Errorf("%s: %q", w.ID, w.Message)
		}
	}
	if len(round.Cycles) != 1 || strings.Count(want, "->") != 13 {
		t.Errorf("cycles %v", round.Cycles)
	}
}
