// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kernel_test

import (
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/aalis-dev/aalis-operator/runtime/kernel"
	"github.com/aalis-dev/aalis-operator/runtime/kerneltest"
)

var prompts = kernel.NewPoint[*turn]("prompts")

func settle() { synctest.Wait() }

func contribute(t *testing.T, k *kernel.Context, id, text string) func() {
	t.Helper()
	off, err := prompts.Contribute(k, id, &turn{text})
	must(t, err)
	return off
}

func collected(k *kernel.Context) []string {
	var out []string
	for _, c := range prompts.Collect(k) {
		out = append(out, c.Key+"="+c.Spec.text)
	}
	return out
}

func wantCollected(t *testing.T, k *kernel.Context, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, collected(k)); diff != "" {
		t.Errorf("collected (-want +got):\n%s", diff)
	}
}

func TestContributions(t *testing.T) {
	t.Run("8.1.22 the order is a function of the keys", bubble(func(t *testing.T) {
		for _, reverse := range []bool{false, true} {
			h := kerneltest.New(t)
			a, b, upper := fork(t, h.Root(), "a"), fork(t, h.Root(), "b"), fork(t, h.Root(), "Z")
			steps := []func(){
				func() { contribute(t, a, "x", "1") }, func() { contribute(t, a, "y", "2") },
				func() { contribute(t, b, "x", "3") }, func() { contribute(t, upper, "x", "4") },
			}
			for i := range steps {
				if reverse {
					i = len(steps) - 1 - i
				}
				steps[i]()
			}
			wantCollected(t, h.Root(), "Z/x=4", "a/x=1", "a/y=2", "b/x=3")
		}
	}))
	t.Run("8.1.22 the same id in one context replaces, in another does not", bubble(func(t *testing.T) {
		h := kerneltest.New(t)
		a, b := fork(t, h.Root(), "a"), fork(t, h.Root(), "b")
		old := contribute(t, a, "x", "old")
		contribute(t, a, "x", "new")
		contribute(t, b, "x", "other")
		old()
		wantCollected(t, h.Root(), "a/x=new", "b/x=other")
		dispose(t, a)
		wantCollected(t, h.Root(), "b/x=other")
	}))
	t.Run("8.1.22 bad ids are refused, unknown points are empty", bubble(func(t *testing.T) {
		h := kerneltest.New(t)
		for _, id := range []string{"", "a/b", "/"} {
			off, err := prompts.Contribute(h.Root(), id, &turn{})
			wantError(t, err, "prompts", "id must be")
			off()
		}
		wantCollected(t, h.Root())
		contribute(t, h.Root(), "x", "1")()
		wantCollected(t, h.Root())
		if prompts.Name() != "prompts" {
			t.Errorf("name is %q", prompts.Name())
		}
	}))
	t.Run("8.1.22 specs keep their identity", bubble(func(t *testing.T) {
		h := kerneltest.New(t)
		spec := &turn{"mine"}
		_, err := prompts.Contribute(h.Root(), "x", spec)
		must(t, err)
		if got := prompts.Collect(h.Root()); len(got) != 1 || got[0].Spec != spec {
			t.Errorf("collected %v", got)
		}
		if got := kernel.NewPoint[int]("prompts").Collect(h.Root()); len(got) != 0 {
			t.Errorf("a point of another type sees %v", got)
		}
	}))
	t.Run("8.1.23 a module used twice has two ids", bubble(func(t *testing.T) {
		h := kerneltest.New(t)
		p := fork(t, h.Root(), "p")
		m := spec{name: "part", apply: func(k *kernel.Context, _ map[string]any) error {
			contribute(t, k, "x", k.ID())
			return nil
		}}.module()
		one, err := p.UseModule(m, nil)
		must(t, err)
		_, err = p.UseModule(m, nil)
		must(t, err)
		wantCollected(t, h.Root(), "p#part/x=p#part", "p#part~2/x=p#part~2")
		one()
		wantCollected(t, h.Root(), "p#part~2/x=p#part~2")
		dispose(t, p)
		wantCollected(t, h.Root())
	}))
	t.Run("8.1.24 a context that is gone cannot contribute for a later one of its id", bubble(func(t *testing.T) {
		h := kerneltest.New(t)
		old := fork(t, h.Root(), "a")
		dispose(t, old)
		contribute(t, fork(t, h.Root(), "a"), "x", "live")
		contribute(t, old, "x", "ghost")
		wantCollected(t, h.Root(), "a/x=live")
		wantLog(t, h, "Ignored registration", "contribute:prompts:x")
	}))
	t.Run("8.1.21 what is taken back leaves nothing behind", bubble(func(t *testing.T) {
		h := kerneltest.New(t)
		k := fork(t, h.Root(), "p")
		start := h.App.Stats()
		same := func(what string) {
			t.Helper()
			h.Idle()
			if now := h.App.Stats(); now != start {
				t.Errorf("%s: start %+v, now %+v", what, start, now)
			}
		}
		llm.Provide(k, "a")()
		same("provide")
		llm.When(k, func(string) func() { return nil })()
		same("when")
		contribute(t, k, "x", "1")()
		same("contribute")
		on(k, &trace{}, "a")()
		same("on")
		wrap(k, &trace{}, "a")()
		same("hook")
		persona.Watch(k, func(_ ctxt, _ card, _ bool) {})()
		same("watch")
		k.OnDispose("x", func(ctxt) error { return nil })()
		same("onDispose")
		off := contribute(t, k, "x", "0")
		start = h.App.Stats()
		for range 5 {
			off = contribute(t, k, "x", "again")
		}
		same("replacement")
		off()
		for range 5 {
			contribute(t, k, "x", "again")()
		}
		if n := h.App.Stats().Contributions; n != 0 {
			t.Errorf("%d contributions", n)
		}
	}))
}
