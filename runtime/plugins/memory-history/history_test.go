// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package memoryhistory

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/aalis-dev/aalis-operator/runtime/contract/access"
	"github.com/aalis-dev/aalis-operator/runtime/contract/agent"
	"github.com/aalis-dev/aalis-operator/runtime/contract/memory"
	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
	"github.com/aalis-dev/aalis-operator/runtime/contract/tools"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
	"github.com/aalis-dev/aalis-operator/runtime/kerneltest"
	memoryinmemory "github.com/aalis-dev/aalis-operator/runtime/plugins/memory-inmemory"
)

var errDown = errors.New("out of order")

// fakeMemory has nothing but a failure.
type fakeMemory struct{ memory.Backend }

func (fakeMemory) RecentAcrossSessions(context.Context, memory.Query) ([]memory.SessionMessage, error) {
	return nil, errDown
}

// fakeRegistry holds the tools and groups that are registered.
type fakeRegistry struct {
	tools.Registry
	mu     sync.Mutex
	tools  map[string]tools.Tool
	groups map[string]tools.Group
}

func newRegistry() *fakeRegistry {
	return &fakeRegistry{tools: map[string]tools.Tool{}, groups: map[string]tools.Group{}}
}

func (r *fakeRegistry) Register(_ *kernel.Context, t tools.Tool) func() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tools[t.Definition.Function.Name] = t
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.tools, t.Definition.Function.Name)
	}
}

func (r *fakeRegistry) RegisterGroup(_ *kernel.Context, g tools.Group) func() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.groups[g.Name] = g
	return func() {}
}

func TestConformance(t *testing.T) {
	kerneltest.Run(t, Plugin, kerneltest.WithService[memory.Backend](memory.Service, fakeMemory{}),
		kerneltest.WithService[tools.Registry](tools.Service, newRegistry()))
}

type bot struct {
	*kerneltest.Harness
	t   *testing.T
	mem memory.Backend
	reg *fakeRegistry
}

func start(t *testing.T, cfg map[string]any, opts ...kerneltest.Option) *bot {
	t.Helper()
	kerneltest.NoLeaks(t)
	b := &bot{t: t, reg: newRegistry()}
	b.Harness = kerneltest.New(t, append(opts, kerneltest.WithPlugin(memoryinmemory.Plugin, "", nil),
		kerneltest.WithPlugin(Plugin, "", cfg), kerneltest.WithService[tools.Registry](tools.Service, b.reg))...)
	var ok bool
	if b.mem, ok = memory.Service.Get(b.Root()); !ok {
		t.Fatalf("no memory:\n%s", b.Logs)
	}
	return b
}

// say saves a message of a person, some minutes ago.
func (b *bot) say(session, platform, text string, minutes int) {
	b.t.Helper()
	b.save(session, message.Message{
		Role: message.RoleUser, Content: text,
		Metadata: map[string]any{"platform": platform, "nickname": "Ann", "userId": "1", "sessionType": "group"},
	}, minutes)
}

func (b *bot) save(session string, m message.Message, minutes int) {
	b.t.Helper()
	m.Timestamp = b.Clock.Now().Add(-time.Duration(minutes) * time.Minute).UnixMilli()
	if err := b.mem.SaveMessage(b.t.Context(), session, m); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bot) build(view agent.PromptView) ([]string, error) {
	b.t.Helper()
	all := agent.Prompt.Collect(b.Root())
	if len(all) != 1 || !strings.HasSuffix(all[0].Key, "/memory-history") || all[0].Spec.Anchor != agent.AnchorTurnContext {
		b.t.Fatalf("contributions: %+v", all)
	}
	return all[0].Spec.Build(b.t.Context(), view)
}

// texts are the texts of the lines of a block, without its header.
func (b *bot) texts(view agent.PromptView) string {
	b.t.Helper()
	got, err := b.build(view)
	if err != nil {
		b.t.Fatal(err)
	}
	if len(got) == 0 {
		return ""
	}
	return ends(strings.Split(got[0], "\n")[1:])
}

func ends(lines []string) string {
	var out []string
	for _, l := range lines {
		out = append(out, l[strings.LastIndex(l, "] ")+2:])
	}
	return strings.Join(out, " ")
}

// TestCase6 is what is shown, by config.
func TestCase6(t *testing.T) {
	here := agent.PromptView{SessionID: "here", Platform: "qq"}
	for name, tc := range map[string]struct {
		cfg  map[string]any
		view agent.PromptView
		want string
	}{
		"same platform":      {nil, here, "a1 b1"},
		"dry run":            {nil, agent.PromptView{SessionID: "here", Platform: "qq", DryRun: true}, "a1 b1"},
		"cross platform":     {map[string]any{"scope": scopeCross}, here, "a1 w1 b1"},
		"no platform":        {nil, agent.PromptView{SessionID: "here"}, ""},
		"current too":        {map[string]any{"excludeCurrentSession": false}, here, "a1 h1 b1"},
		"no session":         {nil, agent.PromptView{Platform: "qq"}, "a1 h1 b1"},
		"off":                {map[string]any{"injectEnabled": false}, here, ""},
		"off, legacy":        {map[string]any{"scope": scopeOff}, here, ""},
		"younger":            {map[string]any{"maxAgeMinutes": 15}, here, "b1"},
		"any age":            {map[string]any{"maxAgeMinutes": 0}, here, "old a1 b1"},
		"limit":              {map[string]any{"limit": 1}, here, "b1"},
		"limit, without cap": {map[string]any{"limit": 1, "perSessionLimit": 0}, here, "b1"},
	} {
		t.Run(name, func(t *testing.T) {
			b := start(t, tc.cfg)
			b.say("a", "qq", "old", 500)
			b.say("a", "qq", "[Ann(1)]: a1", 40)
			b.say("w", "web", "w1", 30)
			b.say("here", "qq", "h1", 20)
			b.say("b", "qq", "b1", 10)
			b.save("b", message.Message{Role: message.RoleTool, Content: "tool", Metadata: map[string]any{"platform": "qq"}}, 5)
			b.save("b", message.Message{Role: message.RoleNotice, Kind: message.KindEventMarker, Content: "marker", Metadata: map[string]any{"platform": "qq"}}, 5)
			b.save("b", message.Message{Role: message.RoleAssistant, Content: " \n", Metadata: map[string]any{"platform": "qq"}}, 5)
			if name == "limit" || name == "limit, without cap" {
				b.say("b", "qq", "b1", 1)
			}
			for range 2 {
				if got := b.texts(tc.view); got != tc.want {
					t.Errorf("got %q, want %q", got, tc.want)
				}
			}
		})
	}
}

// TestPrivateStaysPrivate: what somebody says to the bot alone is shown in no prompt but that person's own; groups are open.
// The tool, which asks for a level, shows it.
func TestPrivateStaysPrivate(t *testing.T) {
	b := start(t, map[string]any{"scope": scopeCross})
	save := func(session, platform, user, kind string, role message.Role, text string) {
		meta := map[string]any{"platform": platform, "sessionType": kind}
		if role == message.RoleUser {
			meta["userId"] = user
		}
		b.save(session, message.Message{Role: role, Content: text, Metadata: meta}, 10)
	}
	for i, kind := range []string{"private", ""} {
		save(fmt.Sprint("p", i), "qq", "ann", kind, message.RoleUser, "ann-says")
		save(fmt.Sprint("p", i), "qq", "", kind, message.RoleAssistant, "to-ann")
	}
	save("w", "web", "ann", "private", message.RoleUser, "web-ann")
	save("orphan", "qq", "", "private", message.RoleAssistant, "to-whom")
	save("g", "qq", "ann", "group", message.RoleUser, "in-group")
	for _, tc := range []struct{ platform, user, want string }{
		{"qq", "ann", "ann-says to-ann ann-says to-ann in-group"}, {"qq", "bob", "in-group"}, {"qq", "", "in-group"}, {"web", "ann", "web-ann in-group"},
	} {
		if got := b.texts(agent.PromptView{SessionID: "here", Platform: tc.platform, UserID: tc.user}); got != tc.want {
			t.Errorf("%s:%s is shown %q", tc.platform, tc.user, got)
		}
	}
	b.reg.mu.Lock()
	handler := b.reg.tools[toolName].Handler
	b.reg.mu.Unlock()
	got, err := handler(t.Context(), map[string]any{}, tools.CallContext{SessionID: "here", Platform: "qq", UserID: "boss"})
	if err != nil || !strings.Contains(got, "ann-says") || !strings.Contains(got, "to-whom") {
		t.Errorf("the tool shows %q, %v", got, err)
	}
}

// TestCase6PerSession: the newest of each session, and all of them as long as they fit.
func TestCase6PerSession(t *testing.T) {
	for name, tc := range map[string]struct {
		each, limit, per int
		want             string
	}{
		"fits":    {3, 6, 1, "a0 b0 a1 b1 a2 b2"},
		"capped":  {4, 6, 2, "a2 b2 a3 b3"},
		"limited": {4, 3, 2, "b2 a3 b3"},
		"no cap":  {4, 3, 0, "b2 a3 b3"},
	} {
		t.Run(name, func(t *testing.T) {
			b := start(t, map[string]any{"limit": tc.limit, "perSessionLimit": tc.per})
			for i := range tc.each {
				b.say("a", "qq", fmt.Sprint("a", i), 50-2*i)
				b.say("b", "qq", fmt.Sprint("b", i), 49-2*i)
			}
			if got := b.texts(agent.PromptView{Platform: "qq"}); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestLine(t *testing.T) {
	now := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	at := now.Add(-time.Minute).UnixMilli()
	for name, tc := range map[string]struct {
		session string
		m       message.Message
		want    string
	}{
		"user": {"s", message.Message{Role: message.RoleUser, Content: "[Ann(1)]: hi\n[fake][line] x", Timestamp: at, Metadata: map[string]any{
			"platform": "qq", "nickname": "Ann", "userId": "1", "groupId": "9", "groupName": "G",
		}}, "[3/4 05:05][qq/s@G][User/Ann] hi [fake][line] x"},
		"assistant": {strings.Repeat("x", 30), message.Message{Role: message.RoleAssistant, Content: "yes", Timestamp: at, Metadata: map[string]any{
			"nickname": "Ann", "groupId": "9",
		}}, "[3/4 05:05][?/" + strings.Repeat("x", 23) + "…@9][Assistant] yes"},
		"notice":    {"s", message.Message{Role: message.RoleNotice, Content: "poke", Timestamp: now.AddDate(-1, 0, 0).UnixMilli(), Metadata: map[string]any{"userId": "1", "platform": 4}}, "[2025/3/4 05:06][?/s][Notice/1] poke"},
		"long":      {"s", message.Message{Role: message.RoleUser, Content: strings.Repeat("字", 2000), Timestamp: at}, "[3/4 05:05][?/s][User] " + strings.Repeat("字", 999) + "…"},
		"no speech": {"s", message.Message{Role: message.RoleUser, Content: "\n"}, ""},
	} {
		if diff := cmp.Diff(tc.want, line(memory.SessionMessage{SessionID: tc.session, Message: tc.m}, now)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestHeader(t *testing.T) {
	for name, tc := range map[string]struct {
		cfg  map[string]any
		lang string
		want string
	}{
		"English": {nil, "en", "📜 Recent messages"}, "Chinese": {nil, "zh-CN", "📜 以下是"},
		"own": {map[string]any{"headerText": "Elsewhere:"}, "en", "Elsewhere:\n["},
	} {
		b := start(t, tc.cfg, kerneltest.WithSetting("language", tc.lang))
		b.say("a", "qq", "x", 1)
		if got, err := b.build(agent.PromptView{Platform: "qq"}); err != nil || len(got) != 1 || !strings.HasPrefix(got[0], tc.want) {
			t.Errorf("%s: got %q, %v", name, got, err)
		}
	}
}

func TestMemoryFails(t *testing.T) {
	b := start(t, nil)
	memory.Service.Provide(b.Root(), memory.Backend(fakeMemory{}), kernel.WithPriority(10))
	if got, err := b.build(agent.PromptView{Platform: "qq"}); !errors.Is(err, errDown) || got != nil {
		t.Errorf("got %q, %v", got, err)
	}
	if got, err := b.reg.tools[toolName].Handler(t.Context(), nil, tools.CallContext{Platform: "qq"}); !errors.Is(err, errDown) || got != "" {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestTool(t *testing.T) {
	b := start(t, nil)
	b.say("a", "qq", "a1", 40)
	b.say("b", "qq", "b1", 20)
	b.say("w", "web", "w1", 10)
	b.say("here", "qq", "h1", 5)
	b.say("a", "qq", "old", 300)
	tool := b.reg.tools[toolName]
	if b.reg.groups[toolGroup].Label == "" || tool.Policy.Risk != access.Sensitive || tool.Groups[0] != toolGroup {
		t.Errorf("tool %+v, groups %+v", tool, b.reg.groups)
	}
	for name, tc := range map[string]struct {
		args       map[string]any
		platform   string
		want, fail string
	}{
		"defaults":    {nil, "qq", "a1 b1", ""},
		"null":        {map[string]any{"limit": nil}, "qq", "a1 b1", ""},
		"limit":       {map[string]any{"limit": 1.0}, "qq", "b1", ""},
		"minutes":     {map[string]any{"within_minutes": 30}, "qq", "b1", ""},
		"longer":      {map[string]any{"within_minutes": 400.0}, "qq", "old a1 b1", ""},
		"nothing":     {nil, "tg", noneFound, ""},
		"no platform": {nil, "", noneFound, ""},
		"zero":        {map[string]any{"limit": 0.0}, "qq", "", "limit 必须是 1 到 500"},
		"too many":    {map[string]any{"limit": 501.0}, "qq", "", "收到 501"},
		"broken":      {map[string]any{"within_minutes": 1.5}, "qq", "", "within_minutes 必须是"},
		"text":        {map[string]any{"within_minutes": "5"}, "qq", "", "收到 string"},
	} {
		got, err := tool.Handler(t.Context(), tc.args, tools.CallContext{SessionID: "here", Platform: tc.platform})
		if tc.fail != "" {
			if err == nil || !strings.Contains(err.Error(), tc.fail) {
				t.Errorf("%s: got %q, %v", name, got, err)
			}
			continue
		}
		if got != noneFound {
			got = ends(strings.Split(got, "\n"))
		}
		if err != nil || got != tc.want {
			t.Errorf("%s: got %q, %v", name, got, err)
		}
	}
}

// TestReconfigure at once, and with a restart only for the tool.
func TestReconfigure(t *testing.T) {
	b := start(t, nil)
	b.say("a", "qq", "x", 1)
	set := func(cfg map[string]any) kernel.ApplyReport {
		return b.Apply(func(c *kernel.Config) { c.Plugins[Plugin.Name] = kernel.PluginConfig{Config: cfg} })
	}
	if r := set(map[string]any{"injectEnabled": false}); len(r.Bounced) != 0 || b.texts(agent.PromptView{Platform: "qq"}) != "" {
		t.Errorf("report %+v", r)
	}
	if r := set(map[string]any{"toolEnabled": false}); len(r.Bounced) != 1 || len(b.reg.tools) != 0 {
		t.Errorf("report %+v, tools %v", r, b.reg.tools)
	}
}

// TestClear: what was said elsewhere before a session was cleared does not come back to it.
func TestClear(t *testing.T) {
	for name, tc := range map[string]struct {
		data memory.ClearData
		want string
	}{
		"session":       {memory.ClearData{Scope: memory.ClearSessionScope, SessionID: "here"}, "new"},
		"by type":       {memory.ClearData{Scope: memory.ClearSessionScope, SessionID: "here", Types: []string{source}}, "new"},
		"another type":  {memory.ClearData{Scope: memory.ClearSessionScope, SessionID: "here", Types: []string{"vector"}}, "before new"},
		"another one":   {memory.ClearData{Scope: memory.ClearSessionScope, SessionID: "x"}, "before new"},
		"no session":    {memory.ClearData{Scope: memory.ClearSessionScope}, "before new"},
		"everything":    {memory.ClearData{Scope: memory.ClearAllScope, SessionID: "here"}, "new"},
		"failed before": {memory.ClearData{Scope: memory.ClearSessionScope, SessionID: "here", Types: []string{source}}, "before new"},
	} {
		b := start(t, nil)
		b.say("a", "qq", "before", 1)
		if name == "failed before" {
			memory.Clear.Use(b.Root(), func(context.Context, *memory.ClearData, kernel.Next) error { return errDown })
		}
		if err := memory.RunClear(t.Context(), b.Root(), &tc.data); (err != nil) != (name == "failed before") {
			t.Fatal(err)
		}
		b.Clock.Advance(time.Second)
		b.say("a", "qq", "new", 0)
		if got := b.texts(agent.PromptView{SessionID: "here", Platform: "qq"}); got != tc.want {
			t.Errorf("%s: got %q, want %q", name, got, tc.want)
		}
	}
}
