// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package recompute

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func active(en Entry) Entry { en.State = Active; return en }

func in(s State, en Entry) Entry { en.State = s; return en }

func bounces(en Entry, optional ...string) Entry {
	en.BounceOnDepChange, en.Optional = true, optional
	return en
}

func bound(en Entry, b ...Provider) Entry { en.Bound = b; return en }

// own lists registrations as "service" of "owner" pairs.
func own(pairs ...string) []Provider {
	var out []Provider
	for i := 0; i < len(pairs); i += 2 {
		out = append(out, Provider{Service: pairs[i], Owner: pairs[i+1]})
	}
	return out
}

var changed = Reason{Kind: PluginStateChanged}

type planCase struct {
	entries   []Entry
	available []Provider
	reason    Reason
	retire    []string
	activate  []string
	waiting   map[string]string
}

func (tc planCase) run(t *testing.T) Round {
	t.Helper()
	reason := tc.reason
	if reason.Kind == "" {
		reason = changed
	}
	got := Plan(tc.entries, tc.available, reason)
	var retired []string
	for _, r := range got.Retire {
		retired = append(retired, r.ID)
		if r.Cause == "" {
			t.Errorf("%s is retired without a cause", r.ID)
		}
	}
	waiting := map[string]string{}
	for _, w := range got.Waiting {
		waiting[w.ID] = w.Message
	}
	if d := cmp.Diff(tc.retire, retired); d != "" {
		t.Errorf("retire (-want +got):\n%s", d)
	}
	if d := cmp.Diff(tc.activate, got.Activate); d != "" {
		t.Errorf("activate (-want +got):\n%s", d)
	}
	if d := cmp.Diff(tc.waiting, waiting, cmpopts.EquateEmpty()); d != "" {
		t.Errorf("waiting (-want +got):\n%s", d)
	}
	return got
}

func TestPlanActivation(t *testing.T) {
	tests := map[string]planCase{
		"nothing": {},
		"a whole chain starts in one round, providers first": {
			entries:  []Entry{e("c", nil, names("b")), e("b", names("b"), names("a")), e("a", names("a"), nil)},
			activate: names("a", "b", "c"),
		},
		"what the host provides counts": {
			entries:   []Entry{e("llm", names("llm"), names("secret:llm/api-key", "app"))},
			available: own("app", "root", "secret:llm/api-key", ""),
			activate:  names("llm"),
		},
		"the second provider serves when the first cannot": {
			entries:  []Entry{e("use", nil, names("s")), in(Disabled, e("one", names("s"), nil)), e("two", names("s"), nil)},
			activate: names("two", "use"),
		},
		"an alternative provider breaks a cycle": {
			entries:  []Entry{e("a", names("a"), names("b")), e("b", names("b"), names("a")), e("alt", names("b"), nil)},
			activate: names("alt", "a", "b"),
		},
		"optional services are not waited for": {
			entries:  []Entry{{ID: "a", State: Pending, Optional: names("nobody")}},
			activate: names("a"),
		},
		"other states stay": {
			entries: []Entry{
				in(Disabled, e("d", nil, nil)), in(Error, e("e", nil, nil)), in(Disposed, e("x", nil, nil)),
				in(Activating, e("g", nil, names("nobody"))), in("Odd", e("o", nil, nil)), active(e("ok", nil, nil)),
			},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) { tc.run(t) })
	}
}

func TestPlanWaiting(t *testing.T) {
	tests := map[string]planCase{
		"nobody provides it": {
			entries: []Entry{e("a", nil, names("llm"))},
			waiting: map[string]string{"a": "waiting for service llm"},
		},
		"a secret key": {
			entries: []Entry{e("a", nil, names("secret:llm/api-key"))},
			waiting: map[string]string{"a": "waiting for secret:llm/api-key"},
		},
		"the provider's state is said": {
			entries: []Entry{
				e("a", nil, names("err")), in(Error, e("p1", names("err"), nil)),
				e("b", nil, names("dis")), in(Disabled, e("p2", names("dis"), nil)),
				e("c", nil, names("pend")), e("p3", names("pend"), names("x")),
				e("d", nil, names("start")), in(Activating, e("p4", names("start"), nil)),
				e("f", nil, names("liar")), active(e("p5", names("liar"), nil)),
				e("g", nil, names("gone")), in(Disposed, e("p6", names("gone"), nil)),
				e("h", nil, names("odd")), in("Odd", e("p7", names("odd"), nil)),
			},
			waiting: map[string]string{
				"a":  "waiting for service err (provided by p1, which is in error)",
				"b":  "waiting for service dis (provided by p2, which is disabled)",
				"c":  "waiting for service pend (provided by p3, which is pending itself)",
				"p3": "waiting for service x",
				"d":  "waiting for service start (provided by p4, which is starting)",
				"f":  "waiting for service liar (provided by p5, which is active but does not provide it)",
				"g":  "waiting for service gone (provided by p6, which is disposed)",
				"h":  "waiting for service odd (provided by p7, which is in an unknown state)",
			},
		},
		"the most telling provider is named": {
			entries: []Entry{
				e("a", nil, names("s")), in(Disabled, e("one", names("s"), nil)), in(Error, e("two", names("s"), nil)),
			},
			waiting: map[string]string{"a": "waiting for service s (provided by two, which is in error)"},
		},
		"three missing services are named": {
			entries: []Entry{e("a", nil, names("w", "x", "y", "z", "x", "v"))},
			waiting: map[string]string{"a": "waiting for service w, service x, service y and 2 more"},
		},
		"a cycle": {
			entries: []Entry{e("a", names("a"), names("b")), e("b", names("b"), names("a")), e("c", nil, names("a"))},
			waiting: map[string]string{
				"a": "in a dependency cycle: a -> b -> a",
				"b": "in a dependency cycle: a -> b -> a",
				"c": "waiting for service a (provided by a, which is pending itself)",
			},
		},
		"an entry that requires its own service": {
			entries: []Entry{e("a", names("s"), names("s"))},
			waiting: map[string]string{"a": "in a dependency cycle: a -> a"},
		},
		"a service somebody else provides holds no cycle together": {
			entries:   []Entry{e("a", names("a"), names("b", "x")), e("b", names("b"), names("a", "x"))},
			available: own("a", "root"),
			waiting: map[string]string{
				"a": "waiting for service b (provided by b, which is pending itself), service x",
				"b": "waiting for service x",
			},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) { tc.run(t) })
	}
	round := tests["a cycle"].run(t)
	if d := cmp.Diff([][]string{{"a", "b"}}, round.Cycles); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(Wait{ID: "b", Missing: names("a"), Cycle: names("a", "b"), Message: "in a dependency cycle: a -> b -> a"}, round.Waiting[1]); d != "" {
		t.Error(d)
	}
}

func TestPlanRetirement(t *testing.T) {
	chain := []Entry{
		active(e("c", nil, names("b"))), active(e("b", names("b"), names("a"))), active(e("a", names("a"), names("root"))),
	}
	tests := map[string]planCase{
		"a steady state plans nothing": {
			entries: chain, available: own("root", "", "a", "a", "b", "b"),
		},
		"a lost root takes the whole chain, consumers first": {
			entries: chain, available: own("a", "a", "b", "b"),
			retire: names("c", "b", "a"),
			waiting: map[string]string{
				"a": "waiting for service root",
				"b": "waiting for service a (provided by a, which is pending itself)",
				"c": "waiting for service b (provided by b, which is pending itself)",
			},
		},
		"a second provider keeps the consumer": {
			entries: []Entry{
				active(e("use", nil, names("s"))), active(e("one", names("s"), names("x"))), active(e("two", names("s"), nil)),
			},
			available: own("s", "one", "s", "two"),
			retire:    names("one"),
			waiting:   map[string]string{"one": "waiting for service x"},
		},
		"all providers retired dooms the consumer": {
			entries: []Entry{
				active(e("use", nil, names("s"))), active(e("one", names("s"), names("x"))), active(e("two", names("s"), names("x"))),
			},
			available: own("s", "one/main", "s", "two#child"),
			retire:    names("use", "two", "one"),
			waiting: map[string]string{
				"one": "waiting for service x", "two": "waiting for service x",
				"use": "waiting for service s (provided by one, which is pending itself)",
			},
		},
		"a replacement in the same round brings the consumer back": {
			entries: []Entry{
				active(e("use", nil, names("s"))), active(e("one", names("s"), names("x"))), e("two", names("s"), nil),
			},
			available: own("s", "one"),
			retire:    names("use", "one"),
			activate:  names("two", "use"),
			waiting:   map[string]string{"one": "waiting for service x"},
		},
		"entries that own each other's services go together": {
			entries: []Entry{
				active(e("a", names("a"), names("b", "x"))), active(e("b", names("b"), names("a"))), active(e("c", nil, names("b"))),
			},
			available: own("a", "a", "b", "b"),
			retire:    names("c", "b", "a"),
			waiting: map[string]string{
				"a": "in a dependency cycle: a -> b -> a", "b": "in a dependency cycle: a -> b -> a",
				"c": "waiting for service b (provided by b, which is pending itself)",
			},
		},
		"a lost optional service retires nobody by itself": {
			entries: []Entry{{ID: "a", State: Active, Optional: names("s")}},
			reason:  Reason{ServiceDown, "s"},
		},
		"shutdown disposes of everything that runs, consumers first": {
			entries:   append([]Entry{e("p", nil, nil), in(Error, e("x", nil, nil)), in(Activating, e("g", nil, nil))}, chain...),
			available: own("root", "", "a", "a", "b", "b"),
			reason:    Reason{Kind: Shutdown},
			retire:    names("c", "b", "a", "g"),
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			round := tc.run(t)
			want := Pending
			if tc.reason.Kind == Shutdown {
				want = Disposed
			}
			for _, r := range round.Retire {
				if r.Target != want {
					t.Errorf("%s is to become %s, want %s", r.ID, r.Target, want)
				}
			}
		})
	}
}

func TestPlanBounce(t *testing.T) {
	tests := map[string]planCase{
		"optional service down": {
			entries: []Entry{bounces(active(e("a", nil, nil)), "s")}, reason: Reason{ServiceDown, "s"},
			retire: names("a"), activate: names("a"),
		},
		"optional service down, but another provides it": {
			entries: []Entry{bounces(active(e("a", nil, nil)), "s")}, reason: Reason{ServiceDown, "s"}, available: own("s", "x"),
		},
		"another service down": {
			entries: []Entry{bounces(active(e("a", nil, nil)), "s")}, reason: Reason{ServiceDown, "t"},
		},
		"after the first round nothing bounces again": {
			entries: []Entry{bounces(active(e("a", nil, nil)), "s")},
		},
		"the provider it is bound to was replaced": {
			entries:   []Entry{bound(bounces(active(e("a", nil, names("s")))), own("s", "old")...)},
			available: own("s", "new"),
			retire:    names("a"), activate: names("a"),
		},
		"the provider it is bound to registered anew": {
			entries:   []Entry{bound(bounces(active(e("a", nil, nil)), "s"), Provider{"s", "p", 1})},
			available: []Provider{{"s", "p", 2}},
			retire:    names("a"), activate: names("a"),
		},
		"an optional provider it is bound to is gone, whatever the reason": {
			entries: []Entry{bound(bounces(active(e("a", nil, nil)), "s"), own("s", "old")...)},
			retire:  names("a"), activate: names("a"),
		},
		"a better provider changes nothing while its own is there": {
			entries:   []Entry{bound(bounces(active(e("a", nil, names("s")))), own("s", "old")...)},
			available: own("s", "new", "s", "old"),
		},
		"without the declaration a replaced provider changes nothing": {
			entries:   []Entry{bound(active(e("a", nil, names("s"))), own("s", "old")...)},
			available: own("s", "new"),
		},
		"its provider goes in this round while another stays": {
			entries: []Entry{
				bound(bounces(active(e("a", nil, names("s")))), own("s", "old")...),
				active(e("old", names("s"), names("x"))), active(e("new", names("s"), nil)),
			},
			available: own("s", "old", "s", "new"),
			retire:    names("a", "old"), activate: names("a"),
			waiting: map[string]string{"old": "waiting for service x"},
		},
		"a binding to a service it does not use is ignored": {
			entries: []Entry{bound(bounces(active(e("a", nil, nil))), own("s", "old")...)},
		},
		"a provider of the host was replaced": {
			entries:   []Entry{bound(bounces(active(e("a", nil, names("s")))), own("s", "")...)},
			available: own("s", "p"),
			retire:    names("a"), activate: names("a"),
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) { tc.run(t) })
	}
}

func TestPlanCauses(t *testing.T) {
	entries := []Entry{
		active(e("use", nil, names("s"))), active(e("one", names("s"), names("x"))),
		bound(bounces(active(e("opt", nil, nil)), "s"), own("s", "one")...),
		bound(bounces(active(e("rep", nil, nil)), "t"), own("t", "")...),
	}
	got := map[string]string{}
	for _, r := range Plan(entries, own("s", "one"), changed).Retire {
		got[r.ID] = r.Cause
	}
	want := map[string]string{
		"one": "service x is gone",
		"use": "service s goes away: one is retired",
		"opt": "service s is being replaced: one is retired",
		"rep": "service t was replaced: the host no longer provides it",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	down := Plan([]Entry{bounces(active(e("a", nil, nil)), "s")}, nil, Reason{ServiceDown, "s"})
	stop := Plan([]Entry{active(e("a", nil, nil))}, nil, Reason{Kind: Shutdown})
	if down.Retire[0].Cause != "service s is gone" || stop.Retire[0].Cause != "shutdown" {
		t.Errorf("got %q and %q", down.Retire[0].Cause, stop.Retire[0].Cause)
	}
}

// TestChainCollapsesInOneRound is case 8.3.16: 24 entries, each requiring the one before, lose their root.
func TestChainCollapsesInOneRound(t *testing.T) {
	const n = 24
	var entries []Entry
	available := own()
	for i := range n {
		entries = append(entries, active(e(fmt.Sprint("p", i), names(fmt.Sprint("s", i)), names(fmt.Sprint("s", i-1)))))
		available = append(available, Provider{Service: fmt.Sprint("s", i), Owner: fmt.Sprint("p", i)})
	}
	round := Plan(entries, available, Reason{ServiceDown, "s-1"})
	if len(round.Retire) != n || round.Retire[0].ID != "p23" || round.Retire[n-1].ID != "p0" || len(round.Activate) != 0 {
		t.Fatalf("unexpected round: %+v", round)
	}
	p := Predict(entries, available, Reason{ServiceDown, "s-1"})
	if p.Rounds != 1 || !p.Converged || len(p.Waits) != n {
		t.Errorf("rounds %d, converged %v, %d waiting", p.Rounds, p.Converged, len(p.Waits))
	}
}

func TestPredict(t *testing.T) {
	entries := []Entry{
		e("agent", names("agent"), names("memory")), e("memory", names("memory"), nil),
		e("llm", names("llm"), names("secret:llm/key")), in(Disabled, e("off", nil, nil)), in(Error, e("bad", nil, nil)),
		e("a", names("a"), names("b")), e("b", names("b"), names("a")),
	}
	got := Predict(entries, nil, changed)
	want := Prediction{
		States: map[string]State{
			"agent": Active, "memory": Active, "llm": Pending, "off": Disabled, "bad": Error, "a": Pending, "b": Pending,
		},
		Waits: []Wait{
			{ID: "llm", Missing: names("secret:llm/key"), Message: "waiting for secret:llm/key"},
			{ID: "a", Missing: names("b"), Cycle: names("a", "b"), Message: "in a dependency cycle: a -> b -> a"},
			{ID: "b", Missing: names("a"), Cycle: names("a", "b"), Message: "in a dependency cycle: a -> b -> a"},
		},
		Rounds: 1, Activated: names("memory", "agent"), Cycles: [][]string{{"a", "b"}}, Converged: true,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if entries[0].State != Pending {
		t.Error("the caller's entries were changed")
	}

	stop := Predict([]Entry{active(e("a", nil, nil)), e("p", nil, nil)}, nil, Reason{Kind: Shutdown})
	if d := cmp.Diff(map[string]State{"a": Disposed, "p": Pending}, stop.States); d != "" || !stop.Converged || stop.Rounds != 1 {
		t.Errorf("shutdown: %+v", stop)
	}
	if idle := Predict(nil, nil, Reason{Kind: Shutdown}); !idle.Converged || idle.Rounds != 0 {
		t.Errorf("shutdown of nothing: %+v", idle)
	}
}
