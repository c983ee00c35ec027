// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sessionmanager

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/aalis-dev/aalis-operator/runtime/contract/agent"
	"github.com/aalis-dev/aalis-operator/runtime/contract/llm"
	"github.com/aalis-dev/aalis-operator/runtime/contract/memory"
	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
	"github.com/aalis-dev/aalis-operator/runtime/contract/session"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
	"github.com/aalis-dev/aalis-operator/runtime/kerneltest"
	"github.com/aalis-dev/aalis-operator/runtime/recompute"
)

func TestConformance(t *testing.T) {
	kerneltest.Run(t, Plugin, kerneltest.WithService[memory.Backend](memory.Service, newMemory()),
		kerneltest.WithService[agent.Agent](agent.Service, &fakeAgent{}))
}

func TestIDs(t *testing.T) {
	b := start(t, newMemory(), nil)
	root := b.child(t, "", session.Patch{CreatedBy: session.ByUser})
	child := b.child(t, root.ID, session.Patch{})
	if !regexp.MustCompile(`^session-[0-9a-f]{8}$`).MatchString(root.ID) {
		t.Errorf("got %q", root.ID)
	}
	if !regexp.MustCompile(`^`+root.ID+`::[0-9a-f]{8}$`).MatchString(child.ID) || child.ParentID != root.ID {
		t.Errorf("got %+v", child)
	}
	if got, _ := b.Get(root.ID); !slices.Equal(got.Children, []string{child.ID}) || got.CreatedBy != session.ByUser {
		t.Errorf("got %+v", got)
	}
	if _, err := b.CreateChild(context.Background(), "nobody", session.Patch{}); !errors.Is(err, session.ErrUnknown) {
		t.Errorf("got %v", err)
	}
}

func TestEnsureAndUpdate(t *testing.T) {
	b := start(t, newMemory(), nil)
	if _, err := b.Update(context.Background(), "x", session.Patch{Name: "n"}); !errors.Is(err, session.ErrUnknown) {
		t.Errorf("got %v", err)
	}
	first := b.ensure(t, "onebot:1:group:2", session.Patch{
		CreatedBy: session.ByUser, Config: session.Config{Persona: "a", Thinking: ptr(true)}, Metadata: map[string]any{"a": 1, "b": 2},
	})
	b.Clock.Advance(time.Second)
	got := b.ensure(t, first.ID, session.Patch{
		CreatedBy: session.BySystem, Name: "N", Config: session.Config{LLM: &llm.Ref{Provider: "p", ID: "m"}}, Metadata: map[string]any{"b": 3},
	})
	want := first
	want.Name, want.UpdatedAt = "N", first.CreatedAt+1000
	want.Config = session.Config{Persona: "a", Thinking: ptr(true), LLM: &llm.Ref{Provider: "p", ID: "m"}}
	want.Metadata = map[string]any{"a": 1, "b": 3}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	got, err := b.Update(context.Background(), first.ID, session.Patch{Clear: []string{"persona", "llm", "thinking", "enabledToolGroups", "disableOutputFormat", "clientSideJsonRendering", "sessionDefaults"}})
	if err != nil || !cmp.Equal(got.Config, session.Config{}) {
		t.Errorf("cleared: %+v %v", got.Config, err)
	}
	got.Metadata["a"] = "spoilt"
	if again, _ := b.Get(first.ID); again.Metadata["a"] != 1 {
		t.Error("a caller changed the session")
	}
}

func TestBadInput(t *testing.T) {
	b := start(t, newMemory(), nil)
	b.ensure(t, "x", session.Patch{})
	many := map[string]any{}
	for i := range 65 {
		many[fmt.Sprint(i)] = 1
	}
	for want, do := range map[string]struct {
		id string
		p  session.Patch
	}{
		"the id must not be empty":                             {" ", session.Patch{}},
		"the id may not be longer than 512 characters":         {strings.Repeat("长", 513), session.Patch{}},
		"name may not be longer than 200 characters, got 201":  {"x", session.Patch{Name: strings.Repeat("n", 201)}},
		"title may not be longer than 200 characters, got 202": {"x", session.Patch{Title: strings.Repeat("😀", 101)}},
		`status must be one of ["active"`:                      {"x", session.Patch{Status: "odd"}},
		`clear must name fields of the config: clientSide`:     {"x", session.Patch{Clear: []string{"model"}}},
		"metadata may not have more than 64 keys, got 65":      {"x", session.Patch{Metadata: many}},
		"metadata must be JSON":                                {"x", session.Patch{Metadata: map[string]any{"f": func() {}}}},
		"metadata may not take more than 65536 bytes":          {"x", session.Patch{Metadata: map[string]any{"f": strings.Repeat("x", 65536)}}},
	} {
		for name, call := range map[string]func(context.Context, string, session.Patch) (session.Info, error){"ensure": b.Ensure, "update": b.Update} {
			if _, err := call(context.Background(), do.id, do.p); !errors.Is(err, session.ErrInvalid) || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: got %v, want %q", name, err, want)
			}
		}
	}
	if _, err := b.CreateChild(context.Background(), "x", session.Patch{Status: "odd"}); !errors.Is(err, session.ErrInvalid) {
		t.Errorf("got %v", err)
	}
}

// TestResolution is trap 14: defaults < profile < the parent's sessionDefaults, not its config < own; undefined never
// overrides; an unknown session still gets the profile.
func TestResolution(t *testing.T) {
	b := start(t, newMemory(), map[string]any{
		"defaults": map[string]any{"persona": "default"},
		"platformProfiles": []any{
			map[string]any{"platform": "onebot", "persona": "profile", "llm": map[string]any{"plugin": "p", "id": "m"}, "enabledToolGroups": []any{"a"}, "disableOutputFormat": true, "clientSideJsonRendering": true},
			map[string]any{"platform": "onebot", "persona": "second"},
			map[string]any{"platform": "half", "llm": map[string]any{"plugin": "p", "id": ""}},
		},
	})
	b.ensure(t, "grand", session.Patch{Config: session.Config{SessionDefaults: &session.Config{Persona: "grand"}}})
	parent := b.child(t, "grand", session.Patch{Config: session.Config{Persona: "parent-own", SessionDefaults: &session.Config{Thinking: ptr(false)}}})
	child := b.child(t, parent.ID, session.Patch{Config: session.Config{EnabledToolGroups: []string{"*"}}})
	profile := session.Config{
		Persona: "profile", LLM: &llm.Ref{Provider: "p", ID: "m"}, EnabledToolGroups: []string{"a"},
		DisableOutputFormat: ptr(true), ClientSideJSONRendering: ptr(true),
	}
	own := profile
	own.EnabledToolGroups, own.Thinking = []string{"*"}, ptr(false)
	inherited := profile
	inherited.Thinking = ptr(false)
	for name, tc := range map[string]struct{ got, want session.Config }{
		"unknown session":       {b.Resolve("nobody", "onebot"), profile},
		"unknown platform":      {b.Resolve("nobody", "x"), session.Config{Persona: "default"}},
		"half a model":          {b.Resolve("nobody", "half"), session.Config{Persona: "default"}},
		"direct parent only":    {b.Resolve(child.ID, "onebot"), own},
		"inherited":             {b.Inherited(child.ID, "onebot"), inherited},
		"defaults of a parent":  {b.Resolve(parent.ID, "x"), session.Config{Persona: "parent-own"}},
		"own defaults are gone": {b.Resolve("grand", "x"), session.Config{Persona: "default"}},
	} {
		if diff := cmp.Diff(tc.want, tc.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	var layers []session.Layer
	for _, l := range b.Layers(child.ID, "onebot") {
		layers = append(layers, l.Layer)
	}
	if !slices.Equal(layers, []session.Layer{session.LayerSession, session.LayerParent, session.LayerPlatform, session.LayerDefault}) {
		t.Errorf("got %v", layers)
	}
	report := b.Apply(func(cfg *kernel.Config) {
		cfg.Plugins[Plugin.Name] = kernel.PluginConfig{Config: map[string]any{"defaults": map[string]any{"persona": "new"}}}
	})
	if !slices.Equal(report.Reconfigured, []string{Plugin.Name}) || b.Resolve("nobody", "onebot").Persona != "new" {
		t.Errorf("report %+v, got %+v", report, b.Resolve("nobody", "onebot"))
	}
}

func TestABadProfileIsAnErrorThatNamesTheField(t *testing.T) {
	h := kerneltest.New(t, kerneltest.WithPlugin(Plugin, "", map[string]any{"platformProfiles": []any{map[string]any{"platform": " "}}}),
		kerneltest.WithService[memory.Backend](memory.Service, newMemory()))
	h.WantState(Plugin.Name, recompute.Error)
	if got := h.Plugin(Plugin.Name).Error; !strings.Contains(got, "config.platformProfiles[0].platform: must not be empty") {
		t.Errorf("got %q", got)
	}
}

// TestResolutionAgainstAModel: for each field the highest layer that decides it wins.
func TestResolutionAgainstAModel(t *testing.T) {
	config := func(rt *rapid.T, label string) session.Config {
		var c session.Config
		c.Persona = rapid.SampledFrom([]string{"", "a", "b"}).Draw(rt, label+" persona")
		c.Thinking = rapid.SampledFrom([]*bool{nil, ptr(true), ptr(false)}).Draw(rt, label+" thinking")
		c.LLM = rapid.SampledFrom([]*llm.Ref{nil, {}, {Provider: "p", ID: "m"}}).Draw(rt, label+" llm")
		c.EnabledToolGroups = rapid.SampledFrom([][]string{nil, {}, {"g"}}).Draw(rt, label+" groups")
		return c
	}
	rapid.Check(t, func(rt *rapid.T) {
		var layers []session.LayerConfig
		for i := range 4 {
			layers = append(layers, session.LayerConfig{Config: config(rt, fmt.Sprint(i))})
		}
		var want session.Config
		for _, l := range layers {
			if want.Persona == "" {
				want.Persona = l.Config.Persona
			}
			if want.Thinking == nil {
				want.Thinking = l.Config.Thinking
			}
			if want.LLM == nil && l.Config.LLM != nil && !l.Config.LLM.IsZero() {
				want.LLM = l.Config.LLM
			}
			if len(want.EnabledToolGroups) == 0 && len(l.Config.EnabledToolGroups) > 0 {
				want.EnabledToolGroups = l.Config.EnabledToolGroups
			}
		}
		if diff := cmp.Diff(want, session.Resolve(layers)); diff != "" {
			rt.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestListAndTree(t *testing.T) {
	b := start(t, newMemory(), nil)
	for _, id := range []string{"a", "b", "c"} {
		b.ensure(t, id, session.Patch{})
		b.Clock.Advance(time.Second)
	}
	c1 := b.child(t, "a", session.Patch{Status: session.Waiting}).ID
	b.Clock.Advance(time.Second)
	c2 := b.child(t, "a", session.Patch{}).ID
	ids := func(list []session.Info) (out []string) {
		for _, i := range list {
			out = append(out, i.ID)
		}
		return out
	}
	if got := ids(b.List("", "")); !slices.Equal(got, []string{"c", "b", "a"}) {
		t.Errorf("roots %v", got)
	}
	if got := ids(b.List("a", "")); !slices.Equal(got, []string{c2, c1}) {
		t.Errorf("children %v", got)
	}
	if got := ids(b.List("a", session.Waiting)); !slices.Equal(got, []string{c1}) {
		t.Errorf("waiting %v", got)
	}
	tree := b.Tree("")
	if len(tree) != 3 || tree[2].Info.ID != "a" || len(tree[2].Children) != 2 || tree[2].Children[0].Info.ID != c2 {
		t.Errorf("tree %+v", tree)
	}
	if got := b.Tree("b"); len(got) != 1 || got[0].Info.ID != "b" || b.Tree("nobody") != nil {
		t.Errorf("got %+v", got)
	}
}

func TestDelete(t *testing.T) {
	a := &fakeAgent{}
	b := start(t, newMemory(), nil, kerneltest.WithService[agent.Agent](agent.Service, a))
	b.ensure(t, "broken", session.Patch{})
	child := b.child(t, "broken", session.Patch{}).ID
	grand := b.child(t, child, session.Patch{}).ID
	b.ensure(t, "other", session.Patch{})
	var told []string
	session.Deleted.On(b.Root(), func(_ context.Context, id string) error { told = append(told, id); return nil })
	for range 2 {
		if err := b.Delete(context.Background(), "broken"); err != nil {
			t.Fatal(err)
		}
	}
	order := []string{grand, child, "broken"}
	for what, got := range map[string][]string{"cleared": b.mem.cleared, "told": told, "aborted": a.aborted} {
		if !slices.Equal(got, order) {
			t.Errorf("%s %v, want %v", what, got, order)
		}
	}
	if len(b.Logs.Find("WARN", "Could not clear the memory")) != 1 {
		t.Errorf("the failure is not in the log:\n%s", b.Logs)
	}
	if list := b.List("", ""); len(list) != 1 || list[0].ID != "other" {
		t.Errorf("left: %+v", list)
	}
	parent := b.ensure(t, "p", session.Patch{}).ID
	one, two := b.child(t, parent, session.Patch{}).ID, b.child(t, parent, session.Patch{}).ID
	if err := b.Delete(context.Background(), one); err != nil {
		t.Fatal(err)
	}
	if got, _ := b.Get(parent); !slices.Equal(got.Children, []string{two}) {
		t.Errorf("not unlinked: %v", got.Children)
	}
}

func TestStatusAutomation(t *testing.T) {
	b := start(t, newMemory(), nil)
	b.ensure(t, "r", session.Patch{Status: session.Waiting})
	child := b.child(t, "r", session.Patch{Status: session.Waiting}).ID
	ctx := context.Background()
	var events []session.Status
	session.Updated.On(b.Root(), func(_ context.Context, i session.Info) error { events = append(events, i.Status); return nil })
	want := func(id string, s session.Status) {
		t.Helper()
		if got, _ := b.Get(id); got.Status != s {
			t.Errorf("%s is %s, want %s", id, got.Status, s)
		}
	}
	in := func(id string) {
		message.Inbound.Emit(ctx, b.Root(), message.Incoming{SessionID: id, Platform: "onebot"})
	}
	for _, id := range []string{"r", child, "nobody", "r"} {
		in(id)
	}
	want("r", session.Active)
	want(child, session.Active)
	for _, id := range []string{"r", child, "nobody"} {
		message.Outbound.Emit(ctx, b.Root(), message.Outgoing{SessionID: id})
	}
	want("r", session.Completed)
	want(child, session.Active)
	for _, outcome := range []agent.Outcome{agent.Replied, agent.Silent, agent.Aborted, agent.Failed} {
		in("r")
		for _, id := range []string{"r", child} {
			if _, err := agent.TurnAfter.Run(ctx, b.Root(), &agent.TurnData{SessionID: id, Outcome: outcome}, nil); err != nil {
				t.Fatal(err)
			}
		}
		want("r", session.Completed)
		want(child, session.Active)
	}
	var ended []session.Info
	session.Ended.On(b.Root(), func(_ context.Context, i session.Info) error { ended = append(ended, i); return nil })
	if err := b.Complete(ctx, child, "done"); err != nil || len(ended) != 1 || ended[0].Result != "done" || ended[0].Status != session.Completed {
		t.Errorf("got %v %+v", err, ended)
	}
	if err := b.Complete(ctx, "nobody", ""); !errors.Is(err, session.ErrUnknown) {
		t.Errorf("got %v", err)
	}
	if len(events) != 12 {
		t.Errorf("%d events: %v", len(events), events)
	}
	if _, ok := b.Get("nobody"); ok {
		t.Error("a message made a session")
	}
}

func TestTheLongestQuietGoes(t *testing.T) {
	b := start(t, newMemory(), map[string]any{"maxSessions": 3})
	b.ensure(t, "set", session.Patch{Config: session.Config{Persona: "x"}})
	for _, id := range []string{"a", "b"} {
		b.Clock.Advance(time.Second)
		b.ensure(t, id, session.Patch{})
	}
	b.Clock.Advance(time.Second)
	message.Inbound.Emit(context.Background(), b.Root(), message.Incoming{SessionID: "a", Platform: "x"})
	var archived []string
	session.Updated.On(b.Root(), func(_ context.Context, i session.Info) error {
		if i.Status == session.Archived {
			archived = append(archived, i.ID)
		}
		return nil
	})
	b.ensure(t, "c", session.Patch{Config: session.Config{Persona: "x"}})
	b.ensure(t, "d", session.Patch{Config: session.Config{Persona: "x"}})
	if !slices.Equal(archived, []string{"b", "a"}) {
		t.Errorf("archived %v", archived)
	}
	if _, err := b.Ensure(context.Background(), "e", session.Patch{}); !errors.Is(err, session.ErrFull) || !strings.Contains(err.Error(), "at most 3") {
		t.Errorf("got %v", err)
	}
	b.ensure(t, "set", session.Patch{Status: session.Archived})
	b.ensure(t, "e", session.Patch{})
	if _, ok := b.Get("set"); ok || len(b.mem.cleared) > 0 {
		t.Errorf("set is there: %v, cleared %v", ok, b.mem.cleared)
	}
}

func TestPersistence(t *testing.T) {
	kerneltest.NoLeaks(t)
	mem := newMemory()
	b := start(t, mem, nil)
	mem.with(func(m *fakeMemory) { m.values["orphan"] = json.RawMessage(`{"id":"orphan"}`) }) // came after the start
	b.ensure(t, "a", session.Patch{Config: session.Config{Persona: "x"}})
	child := b.child(t, "a", session.Patch{Title: "T"}).ID
	gone := b.ensure(t, "gone", session.Patch{}).ID
	if mem.commits != 0 {
		t.Error("stored at once")
	}
	b.hands.fire(t)
	settled(t, b) // whoever waits again has stored what was there
	if got := mem.keys(); !slices.Equal(got, []string{"a", child, gone}) || mem.commits != 1 || mem.bad {
		t.Errorf("stored %v in %d commits", got, mem.commits)
	}
	if err := b.Delete(context.Background(), gone); err != nil {
		t.Fatal(err)
	}
	before, _ := b.Get(child)
	b.Stop() // flushes
	if got := mem.keys(); !slices.Equal(got, []string{"a", child}) {
		t.Errorf("stored %v", got)
	}
	b = start(t, mem, nil)
	after, ok := b.Get(child)
	if diff := cmp.Diff(before, after); !ok || diff != "" {
		t.Errorf("after a restart (-want +got):\n%s", diff)
	}
	if got, _ := b.Get("a"); !slices.Equal(got.Children, []string{child}) || got.Config.Persona != "x" {
		t.Errorf("got %+v", got)
	}
}

// settled changes something and waits until the writer waits for more of it: all before that is stored. The writer then
// waits until the bot stops, which stores what is left.
func settled(t *testing.T, b *bot) {
	t.Helper()
	b.ensure(t, probe, session.Patch{})
	b.hands.waiting(t)
}

func TestAFailedWriteIsTriedAgain(t *testing.T) {
	mem := newMemory()
	for _, breakIt := range []func(*fakeMemory, bool){
		func(m *fakeMemory, v bool) { m.noCommit = v },
		func(m *fakeMemory, v bool) { m.noList = v }, // the listing of orphans is inside of the same attempt
	} {
		b := start(t, mem, nil)
		b.ensure(t, "a", session.Patch{})
		b.ensure(t, "b", session.Patch{})
		mem.with(func(m *fakeMemory) { breakIt(m, true) })
		if err := b.Delete(context.Background(), "b"); err != nil {
			t.Fatal(err)
		}
		b.hands.fire(t)             // the debounce: the write fails
		pause := b.hands.waiting(t) // the pause after it
		mem.with(func(m *fakeMemory) { breakIt(m, false); m.values["b"] = json.RawMessage(`{}`) })
		pause <- time.Time{}
		b.hands.fire(t) // the debounce again
		settled(t, b)
		if got := mem.keys(); !slices.Equal(got, []string{"a"}) {
			t.Errorf("stored %v", got)
		}
		if len(b.Logs.Find("WARN", "Could not store sessions")) != 1 {
			t.Errorf("the log:\n%s", b.Logs)
		}
		b.Stop()
		mem.with(func(m *fakeMemory) { clear(m.values) })
	}
}

// TestAStoreThatCannotBeReadAtTheStart is read later; nothing in it is written over before.
func TestAStoreThatCannotBeReadAtTheStart(t *testing.T) {
	mem := newMemory()
	store := func(i session.Info) {
		raw, err := json.Marshal(i)
		if err != nil {
			t.Fatal(err)
		}
		mem.values[i.ID] = raw
	}
	store(session.Info{ID: "a", Name: "Ann", Title: "T", Config: session.Config{Persona: "kept", Thinking: ptr(true)}, CreatedAt: 5, Status: session.Completed})
	store(session.Info{ID: "deleted"})
	store(session.Info{ID: "lost", ParentID: "nobody"})
	store(session.Info{ID: "x", ParentID: "y"})
	store(session.Info{ID: "y", ParentID: "x", CreatedAt: 1})
	mem.values["odd"] = json.RawMessage(`{"id":7}`)
	mem.noList = true
	b := start(t, mem, nil)
	b.ensure(t, "a", session.Patch{Config: session.Config{Thinking: ptr(false)}, Metadata: map[string]any{"m": 1}})
	b.ensure(t, "deleted", session.Patch{})
	if err := b.Delete(context.Background(), "deleted"); err != nil {
		t.Fatal(err)
	}
	b.hands.fire(t)
	pause := b.hands.waiting(t)
	mem.with(func(m *fakeMemory) { m.noList = false })
	pause <- time.Time{}
	b.hands.fire(t)
	settled(t, b)
	got, _ := b.Get("a")
	if got.Name != "Ann" || got.Title != "T" || got.Config.Persona != "kept" || *got.Config.Thinking || got.CreatedAt != 5 || got.Metadata["m"] != 1 {
		t.Errorf("got %+v", got)
	}
	if got := mem.keys(); !slices.Equal(got, []string{"a", "lost", "odd", "x", "y"}) {
		t.Errorf("stored %v", got)
	}
	if roots := b.Tree(""); len(b.List("", "")) < 3 || len(roots) < 3 {
		t.Errorf("roots %+v", roots)
	}
	if x, _ := b.Get("x"); x.ParentID != "" && x.ParentID != "y" {
		t.Errorf("got %+v", x)
	}
	if len(b.Logs.Find("WARN", "Ignored a stored Session")) != 1 || len(b.Logs.Find("WARN", "Could not read sessions")) != 1 {
		t.Errorf("the log:\n%s", b.Logs)
	}
}

func TestConcurrentUse(t *testing.T) {
	kerneltest.NoLeaks(t)
	b := start(t, newMemory(), map[string]any{"maxSessions": 20})
	ctx := context.Background()
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for n := range 50 {
				id := fmt.Sprintf("s%d", (i+n)%12)
				who := fmt.Sprint(i)
				_, _ = b.Ensure(ctx, id, session.Patch{Metadata: map[string]any{who: n}})
				_, _ = b.CreateChild(ctx, id, session.Patch{Title: who})
				message.Inbound.Emit(ctx, b.Root(), message.Incoming{SessionID: id, Platform: "x"})
				b.Resolve(id, "x")
				b.List("", "")
				b.Tree("")
				if n%5 == 0 {
					_ = b.Delete(ctx, id)
				}
			}
		})
	}
	wg.Wait()
	b.Stop()
	if got := len(b.mem.keys()); got > 20 {
		t.Errorf("%d sessions stored", got)
	}
}
