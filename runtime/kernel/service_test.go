// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kernel_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/aalis-dev/aalis-operator/runtime/kernel"
	"github.com/aalis-dev/aalis-operator/runtime/kerneltest"
)

var llm = kernel.NewService[string]("llm")

func TestServiceWinner(t *testing.T) {
	type entry struct {
		id       string
		priority int
	}
	cases := []struct {
		name    string
		entries []entry
		prefer  []string
		want    []string // in resolution order
	}{
		{"none", nil, nil, nil},
		{"single", []entry{{"a", 0}}, nil, []string{"a"}},
		{"preferred existing", []entry{{"a", 5}, {"b", 0}}, []string{"b"}, []string{"b", "a"}},
		{"preferred missing falls back to priority", []entry{{"a", 0}, {"b", 5}}, []string{"x"}, []string{"b", "a"}},
		{"equal priority is by registration", []entry{{"a", 1}, {"b", 1}}, nil, []string{"a", "b"}},
		{"equal priority with a later preferred", []entry{{"a", 1}, {"b", 1}}, []string{"b"}, []string{"b", "a"}},
		{"negative priorities", []entry{{"a", -5}, {"b", -1}, {"c", 0}}, nil, []string{"c", "b", "a"}},
		{"ordered preferences, first registered wins", []entry{{"a", 9}, {"b", 0}, {"c", 0}}, []string{"x", "c", "b"}, []string{"c", "b", "a"}},
	}
	for _, c := range cases {
		t.Run("8.1.15 "+c.name, bubble(func(t *testing.T) {
			h := kerneltest.New(t)
			for _, e := range c.entries {
				llm.Provide(fork(t, h.Root(), e.id), "instance of "+e.id, kernel.WithPriority(e.priority), kernel.WithLabel("label "+e.id))
			}
			h.Root().Prefer("llm", c.prefer...)
			var got []string
			for _, p := range llm.Entries(h.Root()) {
				got = append(got, p.EntryID)
				if p.Instance != "instance of "+p.EntryID || p.Label != "label "+p.EntryID {
					t.Errorf("entry %+v", p)
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("entries %v, want %v", got, c.want)
			}
			winner, ok := llm.Get(h.Root())
			if ok != (len(c.want) > 0) || ok && winner != "instance of "+c.want[0] {
				t.Errorf("got %q, %v: does not agree with the entries", winner, ok)
			}
			if !slices.Equal(h.Root().Preferred("llm"), c.prefer) {
				t.Errorf("preferred is %v", h.Root().Preferred("llm"))
			}
		}))
	}
	t.Run("8.1.15 unprefer goes back to priority and tells", bubble(func(t *testing.T) {
		h, r := kerneltest.New(t), &trace{}
		record(h.Root(), r, kernel.EventServicePreferenceChanged)
		llm.Provide(fork(t, h.Root(), "a"), "A", kernel.WithPriority(1))
		llm.Provide(fork(t, h.Root(), "b"), "B")
		h.Root().Prefer("llm", "b")
		if v, _ := llm.Get(h.Root()); v != "B" {
			t.Errorf("preferred B, got %s", v)
		}
		h.Root().Unprefer("llm")
		if v, _ := llm.Get(h.Root()); v != "A" {
			t.Errorf("preferred nothing, got %s", v)
		}
		r.want(t, "service:preference-changed llm", "service:preference-changed llm")
		if got := h.Root().Preferred("nothing"); got != nil {
			t.Errorf("preference of an unknown service: %v", got)
		}
	}))
	t.Run("8.1.15 a preference waits for its entry", bubble(func(t *testing.T) {
		h := kerneltest.New(t)
		h.Root().Prefer("llm", "late")
		llm.Provide(fork(t, h.Root(), "a"), "A", kernel.WithPriority(9))
		llm.Provide(fork(t, h.Root(), "late"), "L")
		if v, _ := llm.Get(h.Root()); v != "L" {
			t.Errorf("got %s", v)
		}
	}))
}

func TestServices(t *testing.T) {
	t.Run("8.1.16 a context's entries go with it, a similar id's stay", bubble(func(t *testing.T) {
		h, r := kerneltest.New(t), &trace{}
		p, p2 := fork(t, h.Root(), "p"), fork(t, h.Root(), "p2")
		llm.Provide(p, "a", kernel.WithEntryID("p/a"))
		llm.Provide(p, "b", kernel.WithEntryID("p/b"))
		llm.Provide(p2, "c", kernel.WithEntryID(""))
		record(h.Root(), r, kernel.EventServiceRegistered, kernel.EventServiceUnregistered)
		dispose(t, p)
		if got := llm.Entries(h.Root()); len(got) != 1 || got[0].EntryID != "p2" {
			t.Errorf("entries %v", got)
		}
		r.want(t, "service:unregistered llm")
	}))
	t.Run("8.1.17 what Get returned stays what it was", bubble(func(t *testing.T) {
		h := kerneltest.New(t)
		key := kernel.NewService[*turn]("turns")
		a, b := &turn{"a"}, &turn{"b"}
		key.Provide(fork(t, h.Root(), "a"), a)
		key.Provide(fork(t, h.Root(), "b"), b)
		old, _ := key.Get(h.Root())
		h.Root().Prefer("turns", "b")
		now, _ := key.Get(h.Root())
		if old != a || now != b || old.text != "a" {
			t.Errorf("old %v, now %v", old, now)
		}
	}))
	t.Run("off is idempotent and tells once", bubble(func(t *testing.T) {
		h, r := kerneltest.New(t), &trace{}
		record(h.Root(), r, kernel.EventServiceRegistered, kernel.EventServiceUnregistered)
		off := llm.Provide(h.Root(), "x")
		if names := h.Root().ServiceNames(); !slices.Equal(names, []string{"app", "llm", "plugins"}) {
			t.Errorf("names %v", names)
		}
		off()
		off()
		r.want(t, "service:registered llm", "service:unregistered llm")
		if _, ok := llm.Get(h.Root()); ok {
			t.Error("the service is still there")
		}
		if got := llm.Entries(h.Root()); len(got) != 0 {
			t.Errorf("entries %v", got)
		}
		if llm.Name() != "llm" || llm != service("llm") {
			t.Error("keys of one name and type must be equal")
		}
	}))
	t.Run("a key of another type does not see the instance", bubble(func(t *testing.T) {
		h := kerneltest.New(t)
		other := kernel.NewService[int]("llm")
		llm.Provide(h.Root(), "x")
		if v, ok := other.Get(h.Root()); ok {
			t.Errorf("got %v", v)
		}
		if got := other.Entries(h.Root()); len(got) != 0 {
			t.Errorf("entries %v", got)
		}
		other.When(h.Root(), func(int) func() { t.Error("attached"); return nil })
	}))
	t.Run("development mode warns of odd entries", bubble(func(t *testing.T) {
		h := kerneltest.New(t)
		k := fork(t, h.Root(), "p")
		llm.Provide(k, "1")
		llm.Provide(k, "2")
		llm.Provide(k, "3", kernel.WithEntryID("elsewhere"))
		wantLog(t, h, "provided twice", "llm")
		wantLog(t, h, "does not begin with", "elsewhere")
		if got := len(llm.Entries(h.Root())); got != 3 {
			t.Errorf("%d entries", got)
		}
	}))
	t.Run("many names are found, and forgotten when nothing uses them", bubble(func(t *testing.T) {
		h := kerneltest.New(t)
		before := h.App.Stats()
		for round := range 3 {
			var offs []func()
			for i := range 300 {
				name := strings.Repeat("s", round+1) + string(rune('0'+i%10)) + strings.Repeat("x", i/10)
				offs = append(offs, service(name).Provide(h.Root(), name))
				if v, ok := service(name).Get(h.Root()); !ok || v != name {
					t.Fatalf("%s: %q, %v", name, v, ok)
				}
			}
			for _, off := range offs {
				off()
			}
		}
		h.Idle()
		if after := h.App.Stats(); after != before {
			t.Errorf("before %+v, after %+v", before, after)
		}
	}))
}

func attach(r *trace) func(string) func() {
	return func(v string) func() {
		r.add("+" + v)
		return func() { r.add("-" + v) }
	}
}

func TestWhen(t *testing.T) {
	t.Run("8.1.18 follows the winner", bubble(func(t *testing.T) {
		h, r := kerneltest.New(t), &trace{}
		k := fork(t, h.Root(), "consumer")
		llm.When(k, attach(r))
		r.want(t)
		offA := llm.Provide(fork(t, h.Root(), "a"), "a")
		r.want(t, "+a")
		offB := llm.Provide(fork(t, h.Root(), "b"), "b", kernel.WithPriority(5))
		r.want(t, "-a", "+b")
		offC := llm.Provide(fork(t, h.Root(), "c"), "c")
		offC()
		r.want(t)
		offB()
		r.want(t, "-b", "+a")
		llm.Provide(fork(t, h.Root(), "d"), "d")
		h.Root().Prefer("llm", "d")
		r.want(t, "-a", "+d")
		h.Root().Unprefer("llm")
		r.want(t, "-d", "+a")
		offA()
		r.want(t, "-a", "+d")
		dispose(t, k)
		r.want(t, "-d")
		llm.Provide(fork(t, h.Root(), "e"), "e", kernel.WithPriority(9))
		r.want(t)
	}))
	t.Run("8.1.18 attaches at once and never after off", bubble(func(t *testing.T) {
		h, r := kerneltest.New(t), &trace{}
		llm.Provide(h.Root(), "a")
		off := llm.When(h.Root(), attach(r))
		r.want(t, "+a")
		off()
		r.want(t, "-a")
		off()
		llm.Provide(h.Root(), "b", kernel.WithPriority(1))
		r.want(t)
	}))
	t.Run("8.1.18 a provider in teardown is detached before its cleanups run", bubble(func(t *testing.T) {
		h, r := kerneltest.New(t), &trace{}
		llm.When(h.Root(), attach(r))
		a := fork(t, h.Root(), "a")
		a.OnDispose("close", func(context.Context) error { r.add("closed"); return nil })
		llm.Provide(a, "a")
		dispose(t, a)
		r.want(t, "+a", "-a", "closed")
	}))
	t.Run("8.1.19 a failing callback keeps the subscription", bubble(func(t *testing.T) {
		h, r := kerneltest.New(t), &trace{}
		fail := true
		llm.Provide(fork(t, h.Root(), "a"), "a")
		off := llm.When(h.Root(), func(v string) func() {
			if fail {
				panic("cannot attach " + v)
			}
			return attach(r)(v)
		})
		wantLog(t, h, "WARN", "Service callback failed", "cannot attach a", "service=\"llm\"")
		llm.Provide(fork(t, h.Root(), "b"), "b", kernel.WithPriority(1))
		wantLog(t, h, "WARN", "Service callback failed", "cannot attach b", "service=\"llm\"")
		fail = false
		llm.Provide(fork(t, h.Root(), "c"), "c", kernel.WithPriority(2))
		r.want(t, "+c")
		off()
		r.want(t, "-c")
	}))
	t.Run("8.1.19 a failing detach is logged", bubble(func(t *testing.T) {
		h := kerneltest.New(t)
		llm.Provide(h.Root(), "a")
		llm.When(h.Root(), func(string) func() { return func() { panic("cannot detach") } })()
		wantLog(t, h, "WARN", "cannot detach", "callback=\"detach\"")
	}))
	t.Run("8.1.20 a callback that ends its own subscription is detached at once, once", bubble(func(t *testing.T) {
		h, r := kerneltest.New(t), &trace{}
		var off func()
		off = llm.When(h.Root(), func(v string) func() {
			off()
			return attach(r)(v)
		})
		llm.Provide(h.Root(), "a")
		r.want(t, "+a", "-a")
		off()
		r.want(t)
	}))
	t.Run("teardown waits for a callback that runs", bubble(func(t *testing.T) {
		h, r := kerneltest.New(t), &trace{}
		k := fork(t, h.Root(), "consumer")
		gate := make(chan struct{})
		llm.When(k, func(string) func() {
			<-gate
			r.add("attached")
			return func() { r.add("detached") }
		})
		go llm.Provide(h.Root(), "a")
		settle()
		done := make(chan struct{})
		go func() { dispose(t, k); r.add("disposed"); close(done) }()
		settle()
		r.want(t)
		close(gate)
		<-done
		r.want(t, "attached", "detached", "disposed")
	}))
	t.Run("teardown gives up on a callback that does not return", bubble(func(t *testing.T) {
		h := kerneltest.New(t)
		k, p := fork(t, h.Root(), "consumer"), fork(t, h.Root(), "provider")
		gate := make(chan struct{})
		llm.When(k, func(string) func() { return func() { <-gate } })
		llm.Provide(p, "a")
		dispose(t, p)
		wantLog(t, h, "Gave up waiting", "service callbacks")
		dispose(t, k)
		wantLog(t, h, "Gave up waiting", "whenService:llm")
		close(gate)
	}))
}

type forgetful struct {
	r     *trace
	panic bool
}

func (f forgetful) UnregisterByPlugin(id string) {
	f.r.add("forget " + id)
	if f.panic {
		panic("cannot forget")
	}
}

type keeper interface{ UnregisterByPlugin(string) }

type uncomparable struct {
	r *trace
	_ []int
}

func (u uncomparable) UnregisterByPlugin(id string) { u.r.add("uncomparable " + id) }

func TestUnregisterByPlugin(t *testing.T) {
	t.Run("8.1.25 every distinct instance is told once, losers too", bubble(func(t *testing.T) {
		h, r := kerneltest.New(t), &trace{}
		key := kernel.NewService[keeper]("keepers")
		one, two := &forgetful{r: r}, &forgetful{r: r, panic: true}
		key.Provide(h.Root(), one, kernel.WithEntryID("root/1"))
		key.Provide(h.Root(), one, kernel.WithEntryID("root/2"))
		off := key.Provide(h.Root(), two, kernel.WithEntryID("root/3"))
		key.Provide(h.Root(), uncomparable{r: r}, kernel.WithEntryID("root/4"))
		dispose(t, fork(t, h.Root(), "p"))
		r.want(t, "forget p", "forget p", "uncomparable p")
		wantLog(t, h, "WARN", "cannot forget", "keepers", "context=\"p\"")
		off()
		dispose(t, fork(t, h.Root(), "q"))
		r.want(t, "forget q", "uncomparable q")
	}))
}
