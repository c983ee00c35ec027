// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package commands

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/aalis-dev/aalis-operator/runtime/contract/access"
	"github.com/aalis-dev/aalis-operator/runtime/contract/commands"
)

func with(c commands.Command, p access.Policy, aliases ...string) commands.Command {
	c.Policy, c.Aliases = p, aliases
	return c
}

// TestDeclarationStack is case 8.6.2.
func TestDeclarationStack(t *testing.T) {
	b := start(t)
	one, two, three := b.fork("one"), b.fork("two"), b.fork("three")
	b.add(one, says("x", "first"))
	off := b.add(two, says("x", "second"))
	if len(b.Logs.Find("WARN", "Put Command in front", "one", "two")) != 1 {
		t.Errorf("no warning:\n%s", b.Logs)
	}
	b.add(three, says("x", "third"))
	if got := b.info("x"); b.run("/x") != "third" || got.Owner != "three" || got.Description != "third" {
		t.Errorf("the last one runs: %+v", got)
	}
	off()
	off()
	if b.run("/x") != "third" {
		t.Error("one below was taken away, and the last one does not run")
	}
	b.dispose(three)
	if got := b.info("x"); b.run("/x") != "first" || got.Owner != "one" || got.Description != "first" {
		t.Errorf("the earlier one is not back: %+v", got)
	}
	b.add(two, commands.Command{Declaration: "x", Description: "a group"})
	if b.run("/x") != "first" {
		t.Error("a description stands in front of a command")
	}
	b.dispose(one)
	if got := b.info("x"); !got.Group || got.Description != "a group" {
		t.Errorf("got %+v", got)
	}
	b.dispose(two)
	if _, ok := b.r.Parse("/x"); ok {
		t.Error("all are gone, and the name is still there")
	}
}

// TestPrivilege is case 8.6.3.
func TestPrivilege(t *testing.T) {
	restricted, dangerous := access.Policy{Visibility: access.Restricted}, access.Policy{Risk: access.Dangerous}
	for name, tc := range map[string]struct {
		first, later commands.Command
		want         int
	}{
		"later safe":       {with(says("x", ""), restricted), with(says("x", ""), access.Policy{Risk: access.Safe}), 2},
		"later nothing":    {with(says("x", ""), restricted), says("x", ""), 2},
		"later public":     {with(says("x", ""), restricted), with(says("x", ""), access.Policy{Visibility: access.Public}), 2},
		"public child":     {with(says("a", ""), restricted), says("a.x", ""), 2},
		"safe child":       {with(says("a", ""), dangerous), with(says("a.x", ""), access.Policy{Risk: access.Safe}), 2},
		"safe middle":      {with(says("a", ""), dangerous), with(says("a.b.x", ""), access.Policy{Risk: access.Safe}), 2},
		"later tightening": {says("x", ""), with(says("x", ""), access.Policy{Risk: access.Sensitive}), 1},
	} {
		b := start(t)
		owner := b.fork("later")
		b.add(b.Root(), tc.first)
		off := b.add(owner, tc.later)
		target, _ := cutWord(tc.later.Declaration)
		if got := b.info(target).Policy.MinLevel(); got != tc.want {
			t.Errorf("%s: level %d, want %d", name, got, tc.want)
		}
		if name == "safe middle" {
			b.add(b.Root(), with(says("a.b", ""), access.Policy{Risk: access.Safe}))
			if got := b.info("a.b.x").Policy.MinLevel(); got != 2 {
				t.Errorf("inserting a middle node lowered the level to %d", got)
			}
		}
		off()
		if name == "later tightening" {
			if got := b.info("x").Policy.MinLevel(); got != 0 {
				t.Errorf("tightening is not undone: level %d", got)
			}
		}
	}
}

// TestConfirmation is case 8.6.4.
func TestConfirmation(t *testing.T) {
	b := start(t)
	b.add(b.Root(), with(says("a", ""), access.Policy{Visibility: access.Restricted}))
	b.add(b.Root(), with(says("a.x", ""), access.Policy{Risk: access.Dangerous}))
	if got := b.info("a.x").Policy; got.Confirm != access.ConfirmSession || got.MinLevel() != 2 {
		t.Errorf("a dangerous child of a restricted parent: %+v", got)
	}
	off := b.add(b.fork("strict"), with(says("a", ""), access.Policy{Confirm: access.ConfirmAlways}))
	b.add(b.Root(), with(says("a", ""), access.Policy{Visibility: access.Restricted}))
	if got := b.info("a").Policy; got.Confirm != access.ConfirmAlways || got.Visibility != access.Restricted {
		t.Errorf("a later declaration took always away: %+v", got)
	}
	if got := b.info("a.x").Policy.Confirm; got != access.ConfirmAlways {
		t.Errorf("an ancestor's confirm does not apply to the child: %q", got)
	}
	off()
	if got := b.info("a.x").Policy.Confirm; got != access.ConfirmSession {
		t.Errorf("after the strictest is gone: %q", got)
	}
	if got := b.info("a").Policy.Confirm; got != "" {
		t.Errorf("after the strictest is gone: %q", got)
	}
}

// TestAliases is case 8.6.5.
func TestAliases(t *testing.T) {
	b := start(t)
	one, thief, again := b.fork("one"), b.fork("thief"), b.fork("again")
	b.add(one, with(says("x [a]", "x"), access.Policy{}, "s", "short", "帮助"))
	if b.run("/s") != "x" || b.run("/帮助 now") != "x" {
		t.Error("an alias does not lead to its command")
	}
	b.add(thief, with(says("y", "y"), access.Policy{}, "s"))
	if b.run("/s") != "y" || len(b.Logs.Find("WARN", "Took Alias", `alias="s"`)) != 1 {
		t.Error("the later declaration has the alias")
	}
	if got := b.info("x").Aliases; !slices.Equal(got, []string{"short", "帮助"}) {
		t.Errorf("the loser shows %v", got)
	}
	b.add(again, with(says("x", "x2"), access.Policy{}, "second"))
	if got := b.info("x").Aliases; !slices.Equal(got, []string{"second", "short", "帮助"}) {
		t.Errorf("of both layers: %v", got)
	}
	b.dispose(thief)
	if b.run("/s") != "x2" {
		t.Error("the alias did not go back")
	}
	b.dispose(again)
	if _, ok := b.r.Parse("/second"); ok {
		t.Error("an alias outlived its layer")
	}
	b.add(b.fork("squatter"), with(says("z", "z"), access.Policy{}, "x"))
	if b.run("/x") != "x" || len(b.Logs.Find("WARN", "Alias does nothing", `alias="x"`)) != 1 {
		t.Error("an alias hides a command")
	}
	b.dispose(one)
	if b.run("/x") != "z" {
		t.Error("the name is free, and the alias does not lead anywhere")
	}
}

// TestGhostGroups is case 8.6.6.
func TestGhostGroups(t *testing.T) {
	b := start(t)
	deep := b.add(b.fork("deep"), says("a.b.c.d", "d"))
	other := b.add(b.fork("other"), says("a.b.e", "e"))
	parent := b.add(b.fork("parent"), says("a.b", "b"))
	deep()
	if _, ok := b.r.Parse("/a b e"); !ok {
		t.Error("a group with another member is gone")
	}
	if b.r.Execute(context.Background(), commands.Parsed{Name: "a.b.c"}, commands.Call{}) == "" || len(b.r.List()) != 7+3 {
		t.Errorf("a ghost is left: %v", b.r.List())
	}
	parent()
	if got := b.info("a.b"); !got.Group || got.Description != "A group of commands" {
		t.Errorf("got %+v", got)
	}
	other()
	if _, ok := b.r.Parse("/a"); ok || len(b.r.List()) != 7 {
		t.Errorf("ghosts are left: %v", b.r.Names())
	}
}

// TestLaterRegistrationsOnlyTighten: whatever is registered, in whatever order, what a name asks for never gets less.
func TestLaterRegistrationsOnlyTighten(t *testing.T) {
	rank := map[access.Confirm]int{"": 0, access.ConfirmSession: 1, access.ConfirmAlways: 2}
	rapid.Check(t, func(t *rapid.T) {
		tr := newTree()
		var layers []*layer
		snapshot := func() map[string]access.Policy {
			out := map[string]access.Policy{}
			for _, n := range tr.all() {
				out[n.name] = n.policy()
			}
			return out
		}
		for i := range rapid.IntRange(1, 12).Draw(t, "count") {
			before := snapshot()
			l := &layer{name: rapid.SampledFrom([]string{"a", "a.b", "a.b.c", "a.d", "e"}).Draw(t, "name"), owner: fmt.Sprint(i)}
			l.Policy = access.Policy{
				Visibility: rapid.SampledFrom([]access.Visibility{"", access.Public, access.Restricted}).Draw(t, "visibility"),
				Risk:       rapid.SampledFrom([]access.Risk{"", access.Safe, access.Sensitive, access.Dangerous}).Draw(t, "risk"),
				Confirm:    rapid.SampledFrom([]access.Confirm{"", access.ConfirmSession, access.ConfirmAlways}).Draw(t, "confirm"),
			}
			layers = append(layers, l)
			tr.add(l)
			for name, was := range before {
				is := tr.find(name).policy()
				if is.MinLevel() < was.MinLevel() || rank[is.Confirm] < rank[was.Confirm] ||
					(access.MayRunUnguarded(is) && !access.MayRunUnguarded(was)) {
					t.Fatalf("registering %+v as %s loosened %s from %+v to %+v", l.Policy, l.name, name, was, is)
				}
			}
		}
		for _, i := range rapid.Permutation(layers).Draw(t, "order") {
			tr.remove(i)
			tr.remove(i)
		}
		if left := tr.all(); len(left) != 0 || len(tr.aliases) != 0 {
			t.Fatalf("left behind: %v", left)
		}
	})
}

func TestGuard(t *testing.T) {
	b := start(t)
	b.add(b.Root(), with(shows("x [a]", commands.Option{Syntax: "-f"}), access.Policy{Risk: access.Sensitive}))
	if got := b.run("/x"); got != `"x" needs a permission check, and none is running, so it is refused.` {
		t.Errorf("without a guard: %q", got)
	}
	var asked []access.Request
	off := b.r.SetGuard(func(_ context.Context, r access.Request) string {
		asked = append(asked, r)
		if r.UserID == "" {
			return "no"
		}
		return ""
	})
	if got := b.run("/x a -f"); got != "no" {
		t.Errorf("got %q", got)
	}
	if got := b.run("/x --bad"); got == "no" {
		t.Error("the arguments are read before the guard is asked")
	}
	if got := b.runAs("/x a", commands.Call{UserID: "u", Platform: "p", SessionID: "s", SkipConfirm: true}); got != `[{"a":"a"},{}]` {
		t.Errorf("got %q", got)
	}
	if len(asked) != 2 || asked[0].Platform != "unknown" || asked[0].Capability != "command:x" || asked[0].Args["a"] != "a" ||
		asked[0].Args["f"] != true || asked[0].Policy.Risk != access.Sensitive || !asked[1].SkipConfirm || asked[1].SessionID != "s" {
		t.Errorf("asked %+v", asked)
	}
	second := b.r.SetGuard(func(context.Context, access.Request) string { panic("broken") })
	off()
	if got := b.run("/status"); got != `The permission check of "status" failed, so it is refused. The log has the details.` {
		t.Errorf("a guard that fails must not let anything run: %q", got)
	}
	second()
	b.r.SetGuard(nil)()
	if got := b.run("/status"); got == "" || len(b.Logs.Find("WARN", "Replaced Guard")) != 1 {
		t.Errorf("got %q", got)
	}
}
