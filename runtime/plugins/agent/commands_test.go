// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aalis-dev/aalis-operator/runtime/contract/access"
	"github.com/aalis-dev/aalis-operator/runtime/contract/commands"
	"github.com/aalis-dev/aalis-operator/runtime/contract/llm"
	"github.com/aalis-dev/aalis-operator/runtime/contract/persona"
	"github.com/aalis-dev/aalis-operator/runtime/contract/session"
	"github.com/aalis-dev/aalis-operator/runtime/i18n"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
	"github.com/aalis-dev/aalis-operator/runtime/kerneltest"
)

// fakeCommands keeps what is registered.
type fakeCommands struct {
	commands.Registry
	byName map[string]commands.Command
}

func (f *fakeCommands) Register(_ *kernel.Context, c commands.Command) (func(), error) {
	name, _, _ := strings.Cut(c.Declaration, " ")
	f.byName[name] = c
	return func() { delete(f.byName, name) }, nil
}
func (f *fakeCommands) Prefix() string { return "!" }

// fakeSessions keeps one session, under a platform's profile and the global defaults.
type fakeSessions struct {
	session.Manager
	info   session.Info
	known  bool
	layers []session.LayerConfig
	err    error
}

func (f *fakeSessions) Get(string) (session.Info, bool) { return f.info, f.known }
func (f *fakeSessions) Layers(string, string) []session.LayerConfig {
	return append([]session.LayerConfig{{Layer: session.LayerSession, Config: f.info.Config}}, f.layers...)
}
func (f *fakeSessions) Resolve(id, platform string) session.Config {
	return session.Resolve(f.Layers(id, platform))
}
func (f *fakeSessions) Ensure(_ context.Context, id string, p session.Patch) (session.Info, error) {
	f.known, f.info.ID = true, id
	f.info.Config = f.info.Config.Overlay(p.Config)
	if p.Name != "" {
		f.info.Name = p.Name
	}
	f.info.CreatedBy = p.CreatedBy
	return f.info, f.err
}
func (f *fakeSessions) Update(_ context.Context, _ string, p session.Patch) (session.Info, error) {
	for _, field := range p.Clear {
		switch field {
		case fieldModel:
			f.info.Config.LLM = nil
		case fieldPersona:
			f.info.Config.Persona = ""
		case fieldThinking:
			f.info.Config.Thinking = nil
		}
	}
	return f.info, f.err
}

type commandBot struct {
	*bot
	commands *fakeCommands
	sessions *fakeSessions
}

func newCommandBot(t *testing.T, opts ...kerneltest.Option) *commandBot {
	t.Helper()
	b := &commandBot{commands: &fakeCommands{byName: map[string]commands.Command{}}, sessions: &fakeSessions{}}
	b.bot = newBot(t, saying(text("hi")), append([]kerneltest.Option{
		kerneltest.WithService(commands.Service, commands.Registry(b.commands)),
		kerneltest.WithService(session.Service, session.Manager(b.sessions)),
		kerneltest.WithService[persona.Provider](persona.Service, &fakePersona{system: "S", names: []string{"cat", "owl"}}),
	}, opts...)...)
	return b
}

func (b *commandBot) run(name string, options map[string]any, args map[string]any) string {
	b.t.Helper()
	out, err := b.commands.byName[name].Handler(b.t.Context(), commands.Call{SessionID: "s", Options: options, Args: args})
	if err != nil {
		return "error: " + err.Error()
	}
	return out
}

func TestListings(t *testing.T) {
	b := newCommandBot(t)
	for i := range 44 {
		provide(b.Root(), modelNamed("p", fmt.Sprintf("Model-%02d", i)))
	}
	provide(b.Root(), modelNamed("p", "embedder", "embedding"))
	lines := func(s string) (head, first string, n int, rest []string) {
		l := strings.Split(s, "\n")
		entries := slices.DeleteFunc(slices.Clone(l), func(s string) bool { return !strings.HasPrefix(s, "- ") })
		return l[0], entries[0], len(entries), l[1+len(entries):]
	}
	for name, tc := range map[string]struct {
		page  any
		word  string
		head  string
		first string
		n     int
		rest  []string
	}{
		"first":   {nil, "", "Available models (45 in total, page 1/3):", "- llm:main/gpt", 20, []string{"Next page: !model -p 2", "Search: !model <keyword>"}},
		"last":    {float64(3), "", "Available models (45 in total, page 3/3):", "- p/Model-39", 5, []string{"Next page: !model -p 1", "Search: !model <keyword>"}},
		"beyond":  {99, "", "Available models (45 in total, page 3/3):", "- p/Model-39", 5, []string{"Next page: !model -p 1", "Search: !model <keyword>"}},
		"before":  {int64(-1), "", "Available models (45 in total, page 1/3):", "- llm:main/gpt", 20, []string{"Next page: !model -p 2", "Search: !model <keyword>"}},
		"search":  {nil, "MODEL-1", `Available models (with "MODEL-1" 10 in total, page 1/1):`, "- p/Model-10", 10, nil},
		"search2": {2.0, "model", `Available models (with "model" 44 in total, page 2/3):`, "- p/Model-20", 20, []string{"Next page: !model model -p 3"}},
	} {
		head, first, n, rest := lines(b.run("model", map[string]any{optPage: tc.page}, map[string]any{"keyword": tc.word}))
		if head != tc.head || first != tc.first || n != tc.n || !slices.Equal(rest, tc.rest) {
			t.Errorf("%s: got %q, %q, %d, %q", name, head, first, n, rest)
		}
	}
	if got := b.run("persona", nil, nil); got != "Available personas (2 in total, page 1/1):\n- cat\n- owl" {
		t.Errorf("personas: %q", got)
	}
	if got := b.run("persona", nil, map[string]any{"keyword": "zebra"}); got != `Available personas: nothing contains "zebra".` {
		t.Errorf("no match: %q", got)
	}
	if got := (list{label: i18n.LabelModels()}).show(nil, i18n.Chinese); got != "可用模型：（无）" {
		t.Errorf("none: %q", got)
	}
	l := list{label: i18n.LabelModels(), keyword: "a", page: 1}
	if got := l.show([]string{"a"}, i18n.Chinese); got != "可用模型（含\"a\" 共 1 · 第 1/1 页）:\n- a" {
		t.Errorf("Chinese: %q", got)
	}
}

func TestSessionCommands(t *testing.T) {
	b := newCommandBot(t)
	provide(b.Root(), modelNamed("p", "a/b"))
	on := true
	b.sessions.layers = []session.LayerConfig{
		{Layer: session.LayerParent, Config: session.Config{Thinking: &on}},
		{Layer: session.LayerPlatform, Config: session.Config{Persona: "cat", LLM: &llm.Ref{Provider: "x"}}},
		{Layer: session.LayerDefault, Config: session.Config{Persona: "owl"}},
	}
	const usage = "Change: !session.set -m provider/model -p persona -t on|off -n name\nReset: !session.reset [-m] [-p] [-t]"
	if diff := cmp.Diff(strings.Join([]string{
		"Session: s", "Model: llm:main/gpt (from: default)",
		"Persona: cat (from: platform profile (webui))", "  by layers: platform profile (webui) = cat > default = owl",
		"Thinking: on (from: the parent session's sessionDefaults)", "  by layers: the parent session's sessionDefaults = on",
		"Name: not set (from: default)", "This session has no record yet: all of this is inherited.", usage,
	}, "\n"), b.run("session", nil, nil)); diff != "" {
		t.Errorf("session (-want +got):\n%s", diff)
	}
	for _, tc := range []struct {
		options map[string]any
		want    string
	}{
		{nil, usage},
		{map[string]any{optModel: "gpt"}, `A model is given as provider/model, not as "gpt".`},
		{map[string]any{optModel: "gpt/"}, `A model is given as provider/model, not as "gpt/".`},
		{map[string]any{optModel: "p/nope"}, `There is no chat model "p/nope" among the 2 available ones; !model lists them.`},
		{map[string]any{optPersona: "dog"}, `There is no persona "dog" among the 2 available ones; !persona lists them.`},
		{map[string]any{optModel: "p/a/b", optPersona: "owl", optThinking: "off", optName: "Night"}, "Changed for this session: Model = p/a/b, Persona = owl, Thinking = off, Name = Night"},
	} {
		if got := b.run("session.set", tc.options, nil); got != tc.want {
			t.Errorf("%v: got %q, want %q", tc.options, got, tc.want)
		}
	}
	if c := b.sessions.info.Config; *c.LLM != (llm.Ref{Provider: "p", ID: "a/b"}) || c.Persona != "owl" || *c.Thinking || b.sessions.info.CreatedBy != session.ByUser {
		t.Errorf("config %+v", c)
	}
	if got := b.run("session", nil, nil); !strings.HasPrefix(got, "Session: Night\nModel: p/a/b (from: session override)") || !strings.Contains(got, "Thinking: off (from: session override)") {
		t.Errorf("session: %q", got)
	}
	for _, tc := range []struct {
		options map[string]any
		want    string
	}{
		{map[string]any{optThinking: true}, "The session's own settings are reset. In effect: model p/a/b, persona owl."},
		{map[string]any{optThinking: true}, "The session has no such settings of its own. In effect: model p/a/b, persona owl."},
		{nil, "The session's own settings are reset. In effect: model llm:main/gpt, persona cat."},
	} {
		if got := b.run("session.reset", tc.options, nil); got != tc.want {
			t.Errorf("reset %v: got %q, want %q", tc.options, got, tc.want)
		}
	}
	if b.sessions.info.Name != "Night" {
		t.Error("the name was reset")
	}
	b.sessions.err = errors.New("disk full")
	b.sessions.info.Config.Persona = "owl"
	for name, options := range map[string]map[string]any{"session.set": {optName: "x"}, "session.reset": nil} {
		if got := b.run(name, options, nil); got != "error: disk full" {
			t.Errorf("%s: %q", name, got)
		}
	}
	for name, c := range b.commands.byName {
		if sensitive := strings.HasPrefix(name, "session"); (c.Policy.Risk == access.Sensitive) != sensitive {
			t.Errorf("%s has the policy %+v", name, c.Policy)
		}
		if c.Translations[string(i18n.Chinese)].Description == "" {
			t.Errorf("%s is not described in Chinese", name)
		}
	}
}

func TestSessionCommandsWithoutAManager(t *testing.T) {
	registry := &fakeCommands{byName: map[string]commands.Command{}}
	b := newBot(t, nil, kerneltest.WithService(commands.Service, commands.Registry(registry)))
	got, err := registry.byName["session"].Handler(b.t.Context(), commands.Call{})
	if err != nil || !strings.HasPrefix(got, "No session manager") {
		t.Errorf("got %q, %v", got, err)
	}
	b.Stop()
	if len(registry.byName) != 0 {
		t.Errorf("left registered: %v", registry.byName)
	}
}

// What a session decides reaches its turns.
func TestASessionDecides(t *testing.T) {
	registry := &fakeTools{}
	p := &fakePersona{system: "S", volatile: "V"}
	sessions := &fakeSessions{}
	off := false
	sessions.info.Config = session.Config{
		LLM: &llm.Ref{Provider: "p", ID: "chosen"}, Persona: "cat", Thinking: &off, EnabledToolGroups: []string{"web"},
		DisableOutputFormat: new(bool),
	}
	b := newBot(t, saying(text("default")), kerneltest.WithService(session.Service, session.Manager(sessions)),
		kerneltest.WithService[persona.Provider](persona.Service, p), withRegistry(registry))
	chosen := saying(text("chosen"))
	chosen.info.Provider, chosen.info.ID = "p", "chosen"
	gone := provide(b.Root(), chosen)
	b.handle(hello())
	if req := chosen.last(t); req.Think == nil || *req.Think || p.options.Persona != "cat" || !slices.Equal(registry.groups, []string{"web"}) {
		t.Errorf("request %+v, persona %+v, groups %v", req.Think, p.options, registry.groups)
	}
	if b.calls[0].Persona != "cat" {
		t.Errorf("call %+v", b.calls[0])
	}
	gone()
	b.handle(hello())
	if got := b.out[1].Content; !strings.Contains(got, `"p/chosen"`) || b.turns[1].Outcome != "error" {
		t.Errorf("another model took the place of the chosen one: %q", got)
	}
}
