// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kernel_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/aalis-dev/aalis-operator/runtime/kernel"
	"github.com/aalis-dev/aalis-operator/runtime/kerneltest"
	"github.com/aalis-dev/aalis-operator/runtime/recompute"
)

// modelSize is how much one run of the model test does.
type modelSize struct{ runs, plugins, services, batches int }

func sizeOfModel() modelSize {
	if os.Getenv("AALIS_FULL") == "1" {
		return modelSize{runs: 20, plugins: 200, services: 120, batches: 2000}
	}
	return modelSize{runs: 3, plugins: 100, services: 60, batches: 600}
}

// Behaviours of an instance, decided when it starts.
const (
	fine = iota
	slow // its cleanup takes a while
	fails
	panics
	forgets // does not register what it declares
)

// Operations.
const (
	opRegister = iota
	opUnload
	opEnable
	opDisable
	opBounce
	opProvide
	opWithdraw
	opCount
)

type op struct{ kind, target, behaviour int }

func (o op) String() string {
	return [opCount]string{"register", "unload", "enable", "disable", "bounce", "provide", "withdraw"}[o.kind] +
		fmt.Sprintf("(%d, behaviour %d)", o.target, o.behaviour)
}

// plan is one drawn test: what the modules look like, and batches of operations that run at the same time.
type plan struct {
	specs   []spec
	batches [][]op
}

func drawPlan(t *rapid.T, size modelSize) plan {
	cyclic := rapid.Bool().Draw(t, "cyclic")
	name := func(i int) string { return fmt.Sprintf("s%d", i) }
	subset := func(below, most int, label string) (out []string) {
		if below == 0 {
			return nil
		}
		for _, i := range rapid.SliceOfNDistinct(rapid.IntRange(0, below-1), 0, min(most, below), rapid.ID[int]).Draw(t, label) {
			out = append(out, name(i))
		}
		return out
	}
	var p plan
	for i := range size.plugins {
		at := i * size.services / size.plugins
		s := spec{name: fmt.Sprintf("p%03d", i), provides: []string{name(at)}, bounce: rapid.IntRange(0, 3).Draw(t, "bounce") == 0}
		below := at
		if cyclic {
			below = size.services
		}
		s.requires = subset(below, 2, "requires")
		for _, o := range subset(size.services, 2, "optional") {
			if !slices.Contains(s.requires, o) && o != name(at) {
				s.optional = append(s.optional, o)
			}
		}
		p.specs = append(p.specs, s)
	}
	draw := rapid.Custom(func(t *rapid.T) op {
		o := op{kind: rapid.IntRange(0, opCount-1).Draw(t, "kind")}
		most := size.plugins
		if o.kind == opProvide || o.kind == opWithdraw {
			most = size.services
		} else {
			o.behaviour = max(0, rapid.IntRange(-6, forgets).Draw(t, "behaviour"))
		}
		o.target = rapid.IntRange(0, most-1).Draw(t, "target")
		return o
	})
	for range size.batches {
		batch := rapid.SliceOfNDistinct(draw, 1, 4, func(o op) string {
			return fmt.Sprint(o.target, o.kind == opProvide || o.kind == opWithdraw)
		}).Draw(t, "batch")
		p.batches = append(p.batches, batch)
	}
	return p
}

// world runs a plan on a kernel and knows, from what the plugins themselves see, what must be true.
type world struct {
	h       *kerneltest.Harness
	plan    plan
	base    kernel.Stats
	mu      sync.Mutex
	host    map[int]func()    // services of the host
	next    map[string]int    // behaviour of the next start
	failed  map[string]bool   // the last start failed
	alive   map[string]int    // instances between a good start and the end of their cleanup
	off     map[string]bool   // disabled
	known   map[string]bool   // registered
	latest  map[string]string // what a When of the host has attached
	stopped []string          // order of cleanups
	infos   []kernel.RecomputeInfo
	wrong   []string
}

// Recomputed implements kernel.Observer.
func (w *world) Recomputed(info kernel.RecomputeInfo) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.infos = append(w.infos, info)
}

// PluginChanged implements kernel.Observer.
func (w *world) PluginChanged(kernel.PluginStatus) {}

// checkRecomputes checks every recompute since the last check: that it came to rest, and that it retired consumers before
// the plugins that they require. What retires in different rounds has no such order, so the latter is for those of one round.
func (w *world) checkRecomputes() {
	w.mu.Lock()
	infos := w.infos
	w.infos = nil
	w.mu.Unlock()
	for _, info := range infos {
		if info.Rounds >= recompute.MaxRounds {
			w.fault("a recompute took %d rounds", info.Rounds)
		}
		if info.Rounds == 1 {
			w.checkOrder("was retired", info.Retired)
		}
	}
}

// checkOrder checks that in a list of plugins that went, which were all active, consumers are before those who provide what
// they require, except in a cycle. (One that is behind a cycle only may go before its members have all gone.)
func (w *world) checkOrder(what string, gone []string) {
	owner, requires, at := map[string][]string{}, map[string][]string{}, map[string]int{}
	for i, id := range gone {
		at[id] = i
	}
	for _, s := range w.plan.specs {
		if _, went := at[s.name]; went {
			requires[s.name] = s.requires
			for _, p := range s.provides {
				owner[p] = append(owner[p], s.name)
			}
		}
	}
	for _, id := range gone {
		for _, s := range requires[id] {
			for _, p := range owner[s] {
				if at[p] < at[id] && !slices.Contains(upstream(p, requires, owner), id) {
					w.fault("%s %s before %s, which requires it", p, what, id)
				}
			}
		}
	}
}

func (w *world) fault(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.wrong = append(w.wrong, fmt.Sprintf(format, args...))
}

func (w *world) module(s spec) kernel.Module {
	s.apply = func(k *kernel.Context, _ map[string]any) error {
		w.mu.Lock()
		behaviour := w.next[s.name]
		w.failed[s.name] = behaviour >= fails
		w.alive[s.name]++
		if w.alive[s.name] > 1 {
			w.wrong = append(w.wrong, s.name+" has two instances")
		}
		w.mu.Unlock()
		k.OnDispose("instance", func(context.Context) error {
			if behaviour == slow {
				pass(time.Second)
			}
			w.mu.Lock()
			defer w.mu.Unlock()
			w.alive[s.name]--
			w.stopped = append(w.stopped, s.name)
			return nil
		})
		k.Go("worker", func(ctx context.Context) { <-ctx.Done() })
		ping.On(k, func(context.Context, string) error { return nil })
		before.Use(k, func(ctx context.Context, _ *turn, next kernel.Next) error { return next(ctx) })
		if _, err := prompts.Contribute(k, "x", &turn{}); err != nil {
			return err
		}
		if behaviour != forgets {
			for _, p := range s.provides {
				service(p).Provide(k, k.ID())
			}
		}
		switch behaviour {
		case fails:
			return errors.New("fails")
		case panics:
			panic("panics")
		}
		return nil
	}
	return s.module()
}

// do carries out one operation. Its own outcome is checked here, its effects after the batch.
func (w *world) do(o op) {
	ctx, m := context.Background(), w.h.App.Plugins()
	if o.kind == opProvide || o.kind == opWithdraw {
		w.doService(o)
		return
	}
	s := w.plan.specs[o.target]
	w.mu.Lock()
	w.next[s.name] = o.behaviour
	known, off := w.known[s.name], w.off[s.name]
	w.mu.Unlock()
	var want, got error
	if !known {
		want = kernel.ErrUnknownPlugin
	}
	switch o.kind {
	case opRegister:
		if want = nil; known {
			want = kernel.ErrDuplicate
		}
		got = m.Register(w.module(s), "", kernel.PluginConfig{})
	case opUnload:
		got = m.Unload(ctx, s.name)
	case opEnable:
		got = m.Enable(s.name)
	case opDisable:
		got = m.Disable(ctx, s.name)
	case opBounce:
		if known && off {
			want = kernel.ErrPluginDisabled
		}
		got = m.Bounce(ctx, s.name)
	}
	if !errors.Is(got, want) {
		w.fault("%v: got error %v, want %v", o, got, want)
		return
	}
	if got == nil {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.known[s.name] = o.kind != opUnload
		w.off[s.name] = o.kind == opDisable || w.off[s.name] && o.kind != opEnable && o.kind != opUnload
	}
}

func (w *world) doService(o op) {
	w.mu.Lock()
	off := w.host[o.target]
	w.mu.Unlock()
	switch {
	case o.kind == opProvide && off == nil:
		off = service(fmt.Sprintf("s%d", o.target)).Provide(w.h.Root(), "host", kernel.WithPriority(-1))
	case o.kind == opWithdraw && off != nil:
		off()
		off = nil
	default:
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.host[o.target] = off; off == nil {
		delete(w.host, o.target)
	}
}

// check compares the kernel at rest with what must be true of it.
func (w *world) check() {
	active, owners := 0, map[string][]string{}
	statuses := w.h.App.Plugins().Status()
	for _, p := range statuses {
		if p.State == recompute.Active {
			active++
			for _, s := range p.Provides {
				owners[s] = append(owners[s], p.ID)
			}
		}
	}
	w.mu.Lock()
	for i := range w.host {
		owners[fmt.Sprintf("s%d", i)] = append(owners[fmt.Sprintf("s%d", i)], "root")
	}
	w.mu.Unlock()
	for _, p := range statuses {
		w.checkPlugin(p, owners)
	}
	w.mu.Lock()
	known := 0
	for _, k := range w.known {
		if k {
			known++
		}
	}
	w.mu.Unlock()
	if len(statuses) != known {
		w.fault("%d plugins are registered, want %d", len(statuses), known)
	}
	w.checkServices(owners)
	w.checkStats(active, owners)
	w.checkRecomputes()
}

func (w *world) checkPlugin(p kernel.PluginStatus, owners map[string][]string) {
	var missing []string
	for _, s := range p.Required {
		if len(owners[s]) == 0 {
			missing = append(missing, s)
		}
	}
	w.mu.Lock()
	off, failed, alive := w.off[p.ID], w.failed[p.ID], w.alive[p.ID]
	w.mu.Unlock()
	ok := false
	switch p.State {
	case recompute.Disabled:
		ok = off && alive == 0
	case recompute.Active:
		ok = !off && !failed && alive == 1 && missing == nil
	case recompute.Pending:
		ok = !off && alive == 0 && missing != nil && slices.Equal(sorted(missing), sorted(p.Missing)) && p.Message != ""
	case recompute.Error:
		ok = !off && failed && alive == 0 && p.Error != ""
	}
	if !ok {
		w.fault("%s is %s (error %q, message %q, missing %v): disabled %v, last start failed %v, instances %d, missing %v",
			p.ID, p.State, p.Error, p.Message, p.Missing, off, failed, alive, missing)
	}
}

// checkServices sees that the container has the services of the active plugins and of the host and no others, and that a
// When is attached to each winner.
func (w *world) checkServices(owners map[string][]string) {
	names := slices.Sorted(maps.Keys(owners))
	if got := w.h.Root().ServiceNames(); !slices.Equal(sorted(append(names, "app", "plugins")), got) {
		w.fault("services are %v, want %v", got, names)
	}
	for i := range 1000 {
		name := fmt.Sprintf("s%d", i)
		entries := service(name).Entries(w.h.Root())
		var ids []string
		for _, e := range entries {
			ids = append(ids, e.EntryID)
		}
		if !slices.Equal(sorted(ids), sorted(owners[name])) {
			w.fault("service %s has the owners %v, want %v", name, ids, owners[name])
		}
		want := ""
		if len(entries) > 0 {
			want = entries[0].Instance
		}
		w.mu.Lock()
		got, watched := w.latest[name]
		w.mu.Unlock()
		if !watched {
			return
		}
		if got != want {
			w.fault("attached to %s is %q, want %q", name, got, want)
		}
	}
}

func (w *world) checkStats(active int, owners map[string][]string) {
	want := w.base
	want.Contexts += active
	want.Goroutines += active
	want.Handlers += active
	want.Hooks += active
	want.Contributions += active
	want.Disposables += 4 * active
	for _, ids := range owners {
		want.Services += len(ids)
		want.Disposables += len(ids)
	}
	if got := w.h.App.Stats(); got != want {
		w.fault("stats are %+v, want %+v", got, want)
	}
}

// runPlan runs a plan and returns what was wrong, and after which batch.
func runPlan(t *testing.T, p plan, services int) (wrong []string) {
	w := &world{
		plan: p, host: map[int]func(){}, next: map[string]int{}, failed: map[string]bool{}, alive: map[string]int{},
		off: map[string]bool{}, known: map[string]bool{}, latest: map[string]string{},
	}
	w.h = kerneltest.New(t, kerneltest.WithOptions(func(o *kernel.Options) {
		o.DevMode, o.Logger, o.Observer = false, nil, w
	}))
	for i := range services {
		name := fmt.Sprintf("s%d", i)
		w.latest[name] = ""
		service(name).When(w.h.Root(), func(v string) func() {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.latest[name] = v
			return func() {
				w.mu.Lock()
				defer w.mu.Unlock()
				w.latest[name] = ""
			}
		})
	}
	w.base = w.h.App.Stats()
	for i := range p.specs {
		w.do(op{kind: opRegister, target: i})
	}
	for i, batch := range p.batches {
		var wait sync.WaitGroup
		for _, o := range batch {
			wait.Go(func() { w.do(o) })
		}
		wait.Wait()
		w.h.Idle()
		if w.check(); len(w.wrong) > 0 {
			return append(w.wrong, fmt.Sprintf("after batch %d: %v", i, batch))
		}
	}
	return w.stop()
}

// stop stops the kernel and checks that consumers went before the plugins they require, as far as there is no cycle, and
// that nothing is left.
func (w *world) stop() []string {
	active := map[string]bool{}
	for _, p := range w.h.App.Plugins().Status() {
		active[p.ID] = p.State == recompute.Active
	}
	w.stopped = nil
	w.h.Stop()
	w.checkOrder("stopped", w.stopped)
	for id, was := range active {
		if was != slices.Contains(w.stopped, id) {
			w.fault("%s was active (%v) and stopped (%v)", id, was, !was)
		}
	}
	if s := w.h.App.Stats(); s != (kernel.Stats{}) {
		w.fault("after the stop there is %+v", s)
	}
	return w.wrong
}

// upstream lists everything that a plugin requires, directly or not.
func upstream(id string, requires, owner map[string][]string) (out []string) {
	queue := []string{id}
	for len(queue) > 0 {
		for _, s := range requires[queue[0]] {
			for _, p := range owner[s] {
				if !slices.Contains(out, p) {
					out = append(out, p)
					queue = append(queue, p)
				}
			}
		}
		queue = queue[1:]
	}
	return out
}

// TestModel drives random operations, several at a time, and checks after each batch that every plugin is where its
// dependencies allow, that services, Whens and counts agree with that, and at the end that the order of stopping was right.
func TestModel(t *testing.T) {
	size := sizeOfModel()
	checks := flag.Lookup("rapid.checks")
	was := checks.Value.String()
	must(t, checks.Value.Set(strconv.Itoa(size.runs)))
	defer func() { must(t, checks.Value.Set(was)) }()
	rapid.Check(t, func(rt *rapid.T) {
		p := drawPlan(rt, size)
		var wrong []string
		synctest.Test(t, func(t *testing.T) { wrong = runPlan(t, p, size.services) })
		if len(wrong) > 0 {
			rt.Fatalf("%v", wrong)
		}
	})
}
