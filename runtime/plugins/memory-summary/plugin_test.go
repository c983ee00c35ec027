// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package memorysummary

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aalis-dev/aalis-operator/runtime/contract/agent"
	"github.com/aalis-dev/aalis-operator/runtime/contract/llm"
	"github.com/aalis-dev/aalis-operator/runtime/contract/memory"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
	"github.com/aalis-dev/aalis-operator/runtime/kerneltest"
)

func TestConformance(t *testing.T) {
	kerneltest.Run(t, Plugin, kerneltest.WithService[memory.Backend](memory.Service, &fakeMemory{}),
		kerneltest.WithService[llm.Model](llm.Service, newModel("S")))
}

// plugged is start with the plugin itself.
func plugged(t *testing.T, m llm.Model, cfg map[string]any) *bot {
	t.Helper()
	return start(t, m, nil, kerneltest.WithPlugin(Plugin, "", cfg))
}

func turn(b *bot, o agent.Outcome) {
	b.t.Helper()
	if _, err := agent.TurnAfter.Run(context.Background(), b.Root(), &agent.TurnData{SessionID: "s", Outcome: o}, nil); err != nil {
		b.t.Fatal(err)
	}
}

func TestAfterATurn(t *testing.T) {
	b := plugged(t, newModel("S"), nil)
	changed := make(chan memory.Changed, 10)
	memory.HistoryChanged.On(b.Root(), func(_ context.Context, c memory.Changed) error {
		changed <- c
		return nil
	})
	b.say("s", "word", 40)
	turn(b, agent.Failed)
	memory.Compress.Emit(context.Background(), b.Root(), memory.CompressRequest{Reason: memory.CompressManual})
	turn(b, agent.Replied)
	if c := wait(t, changed); c.SessionID != "s" || len(b.live("s")) != 21 {
		t.Errorf("%+v, %d are left", c, len(b.live("s")))
	}
}

// TestCase3Manual: the events of session:compress, done and failed, in both languages.
func TestCase3Manual(t *testing.T) {
	for name, tc := range map[string]struct {
		model  *fakeModel
		broken bool
		want   memory.CompressProgress
	}{
		"done":      {newModel("S"), false, memory.CompressProgress{Phase: memory.CompressDone}},
		"failed":    {newModel(""), false, memory.CompressProgress{Phase: memory.CompressError, Error: "The conversation could not be summarised; the summary so far is kept."}},
		"no model":  {&fakeModel{id: "m"}, false, memory.CompressProgress{Phase: memory.CompressError, Error: "No chat model is available: no provider offers any."}},
		"no memory": {newModel("S"), true, memory.CompressProgress{Phase: memory.CompressError, Error: "The conversation could not be summarised; the summary so far is kept."}},
	} {
		t.Run(name, func(t *testing.T) {
			b := plugged(t, tc.model, nil)
			b.say("s", "word", 25)
			b.put("s", record{Summary: "old"})
			if tc.broken {
				memory.Service.Provide(b.Root(), memory.Backend(&fakeMemory{Backend: b.mem, noMetadata: true}), kernel.WithPriority(10))
			}
			progress := b.progress()
			memory.Compress.Emit(context.Background(), b.Root(), memory.CompressRequest{SessionID: "s", Reason: memory.CompressManual})
			begun := memory.CompressProgress{SessionID: "s", Reason: memory.CompressManual, Phase: memory.CompressStart}
			tc.want.SessionID, tc.want.Reason = "s", memory.CompressManual
			if diff := cmp.Diff([]memory.CompressProgress{begun, tc.want}, []memory.CompressProgress{wait(t, progress), wait(t, progress)}); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if r := b.record("s"); (r.Summary == "S") != (tc.want.Error == "") {
				t.Errorf("record %+v", r)
			}
		})
	}
}

// TestAuto compresses by usage, once in a while, and not below the threshold or when turned off.
func TestAuto(t *testing.T) {
	b := plugged(t, newModel("S"), nil)
	b.say("s", "word", 25)
	progress := b.progress()
	tell := func(ratio float64) {
		agent.Usage.Emit(context.Background(), b.Root(), agent.TokenUsage{SessionID: "s", UsageRatio: ratio})
	}
	tell(0.69)
	tell(0.7)
	if p := wait(t, progress); p.Reason != memory.CompressAuto || p.Phase != memory.CompressStart {
		t.Errorf("got %+v", p)
	}
	if p := wait(t, progress); p.Phase != memory.CompressDone {
		t.Errorf("got %+v", p)
	}
	tell(0.9)
	b.Apply(func(cfg *kernel.Config) {
		cfg.Plugins[Plugin.Name] = kernel.PluginConfig{Config: map[string]any{"autoCompressThreshold": 0.0}}
	})
	b.Clock.Advance(autoPause)
	tell(0.9)
	b.Apply(func(cfg *kernel.Config) {
		cfg.Plugins[Plugin.Name] = kernel.PluginConfig{Config: map[string]any{"autoCompressThreshold": 0.8}}
	})
	if len(progress) != 0 {
		t.Errorf("it did not pause: %+v", <-progress)
	}
	tell(0.9)
	wait(t, progress)
	if p := wait(t, progress); p.Phase != memory.CompressDone {
		t.Errorf("got %+v", p)
	}
}

// held is a model that waits until it may answer.
func held() (m *fakeModel, asked chan struct{}, release chan struct{}) {
	m, asked, release = newModel(""), make(chan struct{}, 10), make(chan struct{})
	m.answer = func(int, llm.Request) (string, error) {
		asked <- struct{}{}
		<-release
		return "S", nil
	}
	return m, asked, release
}

// TestOneRunPerSession: who comes while a session is summarised joins, and is told the end too.
func TestOneRunPerSession(t *testing.T) {
	m, asked, release := held()
	b := plugged(t, m, nil)
	b.say("s", "word", 40)
	b.say("t", "word", 40)
	progress := b.progress()
	turn(b, agent.Silent)
	wait(t, asked)
	for range 3 {
		turn(b, agent.Replied)
		memory.Compress.Emit(context.Background(), b.Root(), memory.CompressRequest{SessionID: "s", Reason: memory.CompressManual})
		agent.Usage.Emit(context.Background(), b.Root(), agent.TokenUsage{SessionID: "s", UsageRatio: 1})
	}
	memory.Compress.Emit(context.Background(), b.Root(), memory.CompressRequest{SessionID: "t", Reason: "other"})
	wait(t, asked) // another session does not wait
	close(release)
	for _, want := range []memory.CompressPhase{memory.CompressStart, memory.CompressDone} {
		if p := wait(t, progress); p.Phase != want || p.Reason != memory.CompressManual {
			t.Errorf("got %+v", p)
		}
	}
	if len(progress) != 0 || len(m.requests()) != 2 {
		t.Errorf("%d calls, told %+v", len(m.requests()), progress)
	}
}

// TestDeletionEndsARun, since what it counted is not so any more.
func TestDeletionEndsARun(t *testing.T) {
	m, asked, release := held()
	b := plugged(t, m, nil)
	b.say("s", "word", 40)
	progress := b.progress()
	memory.Compress.Emit(context.Background(), b.Root(), memory.CompressRequest{SessionID: "s", Reason: memory.CompressManual})
	wait(t, asked)
	memory.MessagesDeleted.Emit(context.Background(), b.Root(), memory.Deleted{SessionID: "s"})
	close(release)
	wait(t, progress)
	if p := wait(t, progress); p.Phase != memory.CompressError || len(b.live("s")) != 40 {
		t.Errorf("%+v, %d are left", p, len(b.live("s")))
	}
}

func TestClear(t *testing.T) {
	for name, tc := range map[string]struct {
		data   memory.ClearData
		s, u   string
		result int
	}{
		"session":            {memory.ClearData{Scope: memory.ClearSessionScope, SessionID: "s"}, "", "U", 2},
		"all":                {memory.ClearData{Scope: memory.ClearAllScope, SessionID: "s"}, "", "", 2},
		"by type":            {memory.ClearData{Scope: memory.ClearSessionScope, SessionID: "s", Types: []string{source}}, "", "U", 1},
		"another type":       {memory.ClearData{Scope: memory.ClearAllScope, Types: []string{"vector"}}, "S", "U", 0},
		"only messages":      {memory.ClearData{Scope: memory.ClearSessionScope, SessionID: "s", Types: []string{memory.TypeContext}}, "S", "U", 1},
		"no session":         {memory.ClearData{Scope: memory.ClearSessionScope}, "S", "U", 0},
		"session of nothing": {memory.ClearData{Scope: memory.ClearSessionScope, SessionID: "x"}, "S", "U", 2},
	} {
		t.Run(name, func(t *testing.T) {
			b := plugged(t, newModel("S"), nil)
			b.put("s", record{Summary: "S"})
			b.put("u", record{Summary: "U"})
			if err := memory.RunClear(t.Context(), b.Root(), &tc.data); err != nil {
				t.Fatal(err)
			}
			if s, u := b.record("s").Summary, b.record("u").Summary; s != tc.s || u != tc.u || len(tc.data.Results) != tc.result {
				t.Errorf("left %q and %q, results %+v", s, u, tc.data.Results)
			}
			for _, r := range tc.data.Rollbacks {
				if err := r.Undo(t.Context()); err != nil || b.record("s").Summary != "S" {
					if name != "session of nothing" {
						t.Errorf("undo: %v", err)
					}
				}
			}
		})
	}
	for name, broken := range map[string]*fakeMemory{"read": {noMetadata: true}, "write": {noCommit: true}} {
		b := plugged(t, newModel("S"), nil)
		b.put("s", record{Summary: "S"})
		broken.Backend = b.mem
		memory.Service.Provide(b.Root(), memory.Backend(broken), kernel.WithPriority(10))
		d := memory.ClearData{Scope: memory.ClearSessionScope, SessionID: "s", Types: []string{source}}
		if err := memory.RunClear(t.Context(), b.Root(), &d); err != nil || len(d.Results) != 1 || d.Results[0].Success {
			t.Errorf("%s: %v, %+v", name, err, d.Results)
		}
	}
}

// TestClearingEndsARun: no summary of what was cleared comes after it.
func TestClearingEndsARun(t *testing.T) {
	m, asked, release := held()
	b := plugged(t, m, nil)
	b.say("s", "word", 40)
	progress := b.progress()
	memory.Compress.Emit(context.Background(), b.Root(), memory.CompressRequest{SessionID: "s", Reason: memory.CompressManual})
	wait(t, asked)
	cleared := make(chan error, 1)
	memory.Clear.Use(b.Root(), func(ctx context.Context, _ *memory.ClearData, next kernel.Next) error {
		turn(b, agent.Replied) // refused while it is cleared
		return next(ctx)
	})
	go func() {
		cleared <- memory.RunClear(context.Background(), b.Root(), &memory.ClearData{Scope: memory.ClearAllScope})
	}()
	close(release)
	if err := wait(t, cleared); err != nil {
		t.Fatal(err)
	}
	wait(t, progress)
	wait(t, progress)
	if r, live := b.record("s"), b.live("s"); r.Summary != "" || len(live) != 0 {
		t.Errorf("what was cleared came back: record %+v, %d messages", r, len(live))
	}
}

// TestCase4Injection of the summary into the prompt.
func TestCase4Injection(t *testing.T) {
	long := strings.Repeat("a", 20_000)
	for name, tc := range map[string]struct {
		window  int
		caps    []llm.Capability
		session string
		rec     *record
		raw     string
		units   int
		want    string
	}{
		"no session":  {100_000, nil, "", &record{Summary: "x"}, "", 0, ""},
		"no record":   {100_000, nil, "s", nil, "", 0, ""},
		"empty":       {100_000, nil, "s", &record{Summary: " "}, "", 0, ""},
		"nonsense":    {100_000, nil, "s", nil, `"text"`, 0, ""},
		"present":     {100_000, nil, "s", &record{Summary: "about owls"}, "", 0, "about owls"},
		"another's":   {100_000, nil, "t", &record{Summary: "about owls"}, "", 0, ""},
		"cut":         {100_000, nil, "s", &record{Summary: long}, "", 15_000, "a…"},
		"floor":       {4096, nil, "s", &record{Summary: long}, "", 1536, "a…"},
		"no window":   {0, nil, "s", &record{Summary: long}, "", 1536, "a…"},
		"cannot chat": {100_000, []llm.Capability{llm.CapVision}, "s", &record{Summary: long}, "", 1536, "a…"},
	} {
		t.Run(name, func(t *testing.T) {
			m := newModel("S")
			m.window = tc.window
			if tc.caps != nil {
				m.caps = tc.caps
			}
			b := plugged(t, m, nil)
			if tc.rec != nil {
				b.put("s", *tc.rec)
			}
			if tc.raw != "" {
				if err := b.mem.CommitMetadata(t.Context(), []memory.Op{{Namespace: namespace, Key: "s", Data: []byte(tc.raw)}}); err != nil {
					t.Fatal(err)
				}
			}
			all := agent.Prompt.Collect(b.Root())
			if len(all) != 1 || !strings.HasSuffix(all[0].Key, "/memory-summary") || all[0].Spec.Anchor != agent.AnchorContext {
				t.Fatalf("contributions: %+v", all)
			}
			for _, dry := range []bool{false, true} {
				got, err := all[0].Spec.Build(t.Context(), agent.PromptView{SessionID: tc.session, DryRun: dry})
				if err != nil || len(got) > 1 || (len(got) == 1) != (tc.want != "") {
					t.Fatalf("got %d, %v", len(got), err)
				}
				if len(got) == 1 {
					_, text, _ := strings.Cut(got[0], "\n")
					if !strings.HasSuffix(text, tc.want) || tc.units > 0 && len([]rune(text)) != tc.units {
						t.Errorf("got %d: %.80q", len([]rune(text)), text)
					}
				}
			}
		})
	}
}

// TestBadReconfigurationIsRefused, with the field named.
func TestBadReconfigurationIsRefused(t *testing.T) {
	b := plugged(t, newModel("S"), nil)
	cfg := b.App.Config()
	cfg.Plugins = map[string]kernel.PluginConfig{
		Plugin.Name: {Module: Plugin.Name, Config: map[string]any{"summaryModelMode": modeCustom}},
	}
	_, _ = b.App.Apply(context.Background(), cfg)
	if len(b.Logs.Find("config.summaryLLM")) == 0 && !strings.Contains(b.Plugin(Plugin.Name).Error, "config.summaryLLM") {
		t.Errorf("nobody says so:\n%s", b.Logs)
	}
}
