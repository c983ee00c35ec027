// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package recompute

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func e(id string, provides, required []string) Entry {
	return Entry{ID: id, State: Pending, Provides: provides, Required: required}
}

func names(s ...string) []string { return s }

func TestOrder(t *testing.T) {
	tests := map[string]struct {
		entries []Entry
		order   []string
		cycles  [][]string
	}{
		"empty": {order: []string{}},
		"independent entries keep registration order": {
			entries: []Entry{e("c", nil, nil), e("a", nil, nil), e("b", nil, nil)},
			order:   names("c", "a", "b"),
		},
		"providers come first": {
			entries: []Entry{e("app", nil, names("mid")), e("mid", names("mid"), names("low")), e("low", names("low"), nil)},
			order:   names("low", "mid", "app"),
		},
		"the first that declares a service counts": {
			entries: []Entry{e("use", nil, names("s")), e("one", names("s"), names("two")), e("two", names("s", "two"), nil)},
			order:   names("two", "one", "use"),
		},
		"two services of one provider are one edge": {
			entries: []Entry{e("use", nil, names("x", "y", "x")), e("p", names("x", "y"), nil)},
			order:   names("p", "use"),
		},
		"optional makes no edge": {
			entries: []Entry{
				{ID: "a", Provides: names("a"), Optional: names("b")},
				{ID: "b", Provides: names("b"), Optional: names("a")},
			},
			order: names("a", "b"),
		},
		"self-dependency and unknown providers are ignored": {
			entries: []Entry{e("a", names("a"), names("a", "nobody", "")), e("b", nil, names("a"))},
			order:   names("a", "b"),
		},
		"a cycle and what is behind it come last": {
			entries: []Entry{
				e("behind", nil, names("a")), e("a", names("a"), names("b")), e("b", names("b"), names("a")), e("free", nil, nil),
			},
			order:  names("free", "behind", "a", "b"),
			cycles: [][]string{{"a", "b"}},
		},
		"a cycle names the way": {
			entries: []Entry{e("b", names("b"), names("c")), e("c", names("c"), names("a")), e("a", names("a"), names("b"))},
			order:   names("b", "c", "a"),
			cycles:  [][]string{{"b", "c", "a"}},
		},
		"two cycles through one entry are both named": {
			entries: []Entry{
				e("hub", names("hub"), names("l", "r")), e("l", names("l"), names("hub")), e("r", names("r"), names("hub")),
			},
			order:  names("hub", "l", "r"),
			cycles: [][]string{{"hub", "l"}, {"r", "hub"}},
		},
		"separate cycles": {
			entries: []Entry{
				e("a", names("a"), names("b")), e("x", names("x"), names("y")),
				e("b", names("b"), names("a")), e("y", names("y"), names("x", "a")),
			},
			order:  names("a", "x", "b", "y"),
			cycles: [][]string{{"a", "b"}, {"x", "y"}},
		},
		"a repeated id counts once": {
			entries: []Entry{e("a", names("a"), nil), e("b", nil, names("a")), e("a", nil, names("b"))},
			order:   names("a", "b"),
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			order, cycles := Order(tc.entries)
			if d := cmp.Diff(tc.order, order); d != "" {
				t.Errorf("order (-want +got):\n%s", d)
			}
			if d := cmp.Diff(tc.cycles, cycles); d != "" {
				t.Errorf("cycles (-want +got):\n%s", d)
			}
		})
	}
}

// TestOrderDeepChain makes sure that nothing recurses: a cycle of 20,000 entries, and a chain of as many.
func TestOrderDeepChain(t *testing.T) {
	const n = 20_000
	entries := make([]Entry, n)
	for i := range entries {
		entries[i] = e(fmt.Sprint("p", i), names(fmt.Sprint("s", i)), names(fmt.Sprint("s", (i+1)%n)))
	}
	order, cycles := Order(entries)
	if len(order) != n || len(cycles) != 1 || len(cycles[0]) != n {
		t.Fatalf("got %d entries in order and %d cycles", len(order), len(cycles))
	}
	entries[n-1].Required = nil
	order, cycles = Order(entries)
	if order[0] != fmt.Sprint("p", n-1) || order[n-1] != "p0" || cycles != nil {
		t.Fatalf("chain came out as %s ... %s, cycles %v", order[0], order[n-1], cycles)
	}
}

func TestMerge(t *testing.T) {
	up, down, stop := Reason{ServiceUp, "x"}, Reason{ServiceDown, "x"}, Reason{Kind: Shutdown}
	changed := Reason{Kind: PluginStateChanged}
	tests := map[string]struct {
		queued *Reason
		next   Reason
		want   Reason
	}{
		"nothing queued keeps the reason":      {nil, down, down},
		"nothing queued keeps a shutdown":      {nil, stop, stop},
		"two services degrade":                 {&up, down, changed},
		"service and state change degrade":     {&down, changed, changed},
		"a queued shutdown stays":              {&stop, down, stop},
		"a shutdown replaces what is queued":   {&down, stop, stop},
		"a state change twice is one":          {&changed, changed, changed},
		"the same service twice degrades, too": {&down, down, changed},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := Merge(tc.queued, tc.next); got != tc.want {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
	if Degrade(down) != changed || Degrade(stop) != stop {
		t.Error("Degrade must keep only a shutdown")
	}
}
