// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aalis-dev/aalis-operator/runtime/contract/agent"
	"github.com/aalis-dev/aalis-operator/runtime/contract/llm"
	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
	"github.com/aalis-dev/aalis-operator/runtime/contract/persona"
	"github.com/aalis-dev/aalis-operator/runtime/contract/tools"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
	"github.com/aalis-dev/aalis-operator/runtime/kerneltest"
)

// TestUsageLine is the sample of the architecture, to the letter.
func TestUsageLine(t *testing.T) {
	got := usageLine("WARN", agent.TokenUsage{
		SessionID: "<sessionId>", ContextWindow: 32000, Used: 23104, UsageRatio: 23104.0 / 32000,
		Breakdown: agent.TokenBreakdown{
			System: 6100, Persona: 2300, MemorySummary: 1000, MemoryVector: 800, Skills: 900, SystemOther: 1100,
			History: 8901, ToolResults: 5400, ToolDefs: 2703, ReservedForReply: 4096,
		},
	})
	const want = "[token-usage:WARN] <sessionId> 23104/32000 (72.2%) sys=6100(persona=2300 mem=1800 skills=900 subtask=0 other=1100) hist=8901 tools=5400+2703def reserve=4096"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestUsageLogIsThrottled(t *testing.T) {
	l := newUsageLog()
	var got []string
	for i, ratio := range []float64{0.1, 0.2, 0.5, 0.69, 0.7, 0.85, 2, 0.1, 0, 0, 0, 0, 0} {
		if tag, due := l.next("s", ratio); due {
			got = append(got, fmt.Sprint(i+1, tag))
		}
	}
	want := []string{"1OK", "3INFO", "5WARN", "6CRITICAL", "8OK", "11OK"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("logged (-want +got):\n%s", diff)
	}
	if _, due := l.next("other", 0); !due {
		t.Error("the first report of another session is not logged")
	}
	for i := range 3 * maxUsageSessions {
		l.next(fmt.Sprint(i), 0)
	}
	if n := len(l.young) + len(l.older); n > 2*maxUsageSessions {
		t.Errorf("%d sessions are remembered", n)
	}
}

func TestBreakdown(t *testing.T) {
	of := func(injector string) message.Message { return system(injector, "abcdefg") } // 6 tokens
	shared := of("x/persona")
	shared.Metadata[metaContributions] = map[string]any{"skills": 7, "subtask": 3.5 * 2, "rest": 3, "odd": "x"}
	list := []message.Message{
		of("persona"), of("@aalis/plugin-memory-summary/memory-summary"), of("memory-vector"), of("a/platform-hint"),
		of("skills-discovery"), of("x/skills-activation-2"), of("parent-status"), of("system-other"), of("a/user-profile"),
		of("focus-guidance"), {Role: message.RoleSystem, Content: "abcdefg"}, shared, usr(7), bot1(7), result("1", 7),
		{Role: message.RoleNotice, Content: "abcdefg"},
	}
	got := breakdown(estimating().trim(list, 10000, 0))
	want := agent.TokenBreakdown{
		System: 72, Persona: 13, MemorySummary: 6, MemoryVector: 6, Platform: 6, Skills: 14, Subtask: 8, SystemOther: 19,
		History: 18, ToolResults: 6, Injectors: map[string]int{"user-profile": 6, "focus-guidance": 6},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("breakdown (-want +got):\n%s", diff)
	}
}

// usages collects the reports of a bot.
func usages(b *bot) func() []agent.TokenUsage {
	var mu sync.Mutex
	var got []agent.TokenUsage
	agent.Usage.On(b.Root(), func(_ context.Context, u agent.TokenUsage) error {
		mu.Lock()
		defer mu.Unlock()
		got = append(got, u)
		return nil
	})
	return func() []agent.TokenUsage {
		mu.Lock()
		defer mu.Unlock()
		return got
	}
}

func TestUsageIsToldBeforeEachCall(t *testing.T) {
	model := scripted(asking(naming("1", "f", "{}")), llm.Chunk{ContentDelta: "bad"}, text("good"))
	model.info.ContextLength, model.info.MaxOutputTokens = 100000, 100
	b := newBot(t, model, withConfig(map[string]any{"trimThresholdRatio": 0.5}),
		withTools(func(context.Context, string, map[string]any, tools.CallContext) string { return "ok" }))
	refusing(b, 1, "good", "")
	got := usages(b)
	b.handle(hello())
	if len(got()) != 2 { // not for the retry
		t.Fatalf("told %+v", got())
	}
	u := got()[1]
	if u.SessionID != "s" || u.Platform != "test" || u.ContextWindow != 100000 || u.MaxTokens != 100 || u.TokenBudget != 50000-100-512 {
		t.Errorf("usage %+v", u)
	}
	bd := u.Breakdown
	if bd.ToolResults != 5 || bd.ReservedForReply != 100 || bd.ToolDefs == 0 || bd.System == 0 ||
		u.Used != bd.System+bd.History+bd.ToolResults+bd.ToolDefs || u.UsageRatio != float64(u.Used)/100000 {
		t.Errorf("usage %+v", u)
	}
	if n := len(b.Logs.Find("INFO", "[token-usage:OK] s ")); n != 1 {
		t.Errorf("%d lines in the log:\n%s", n, b.Logs)
	}
}

func TestUsageRequest(t *testing.T) {
	model := saying(text("hi"))
	model.info.ContextLength = 10000
	b := newBot(t, model, withTools(func(context.Context, string, map[string]any, tools.CallContext) string { return "" }),
		kerneltest.WithService[persona.Provider](persona.Service, &fakePersona{system: "You are Owl.", volatile: "V"}))
	b.store.add("s", message.Message{Role: message.RoleUser, Content: "one"}, message.Message{Role: message.RoleSystem, Kind: message.KindEventMarker, Content: "mark"})
	contribute(t, b.Root(), "k", agent.AnchorKnowledge, "known")
	agent.LLMBefore.Use(b.Root(), func(ctx context.Context, d *agent.LLMData, next kernel.Next) error {
		if !d.DryRun || d.UserID != "" || len(d.Messages) != 3 {
			t.Errorf("llm data %+v", d)
		}
		return next(ctx)
	})
	got := usages(b)
	agent.UsageRequest.Emit(t.Context(), b.Root(), "s")
	if len(got()) != 1 || got()[0].Breakdown.History != 5 || got()[0].Breakdown.ToolDefs == 0 || len(model.requests) != 0 {
		t.Errorf("told %+v", got())
	}
	b.off()
	agent.UsageRequest.Emit(t.Context(), b.Root(), "s")
	if len(got()) != 1 || len(b.Logs.Find("DEBUG", "Failed to measure")) != 1 {
		t.Errorf("told %+v:\n%s", got(), b.Logs)
	}
}

func TestAWindowOfZero(t *testing.T) {
	model := scripted(asking(naming("1", "f", "{}")), text("done"))
	model.info.ContextLength = 0
	b := newBot(t, model, withTools(func(context.Context, string, map[string]any, tools.CallContext) string {
		return strings.Repeat("x", 1000)
	}))
	got := usages(b)
	b.handle(hello())
	if u := got()[0]; u.UsageRatio != 0 || u.TokenBudget != smallestBudget || len(b.out) != 1 {
		t.Errorf("usage %+v, sent %v", u, contents(b.out))
	}
	if n := units(b.store.all("s")[2].Content); n < 500 || n > 600 {
		t.Errorf("the result has %d units", n)
	}
}

func TestTextCounts(t *testing.T) {
	c := &exact{}
	shared := newTextCounts()
	list := []message.Message{usr(100), calling("", "1"), usr(100)}
	for range 3 {
		if got := newCounts(c, shared).messages(list); got == 0 {
			t.Fatal("nothing counted")
		}
	}
	if c.calls > 4 { // the long text once, the calls once, and the empty ones are not worth remembering
		for range c.long {
			t.Log("counted a long text")
		}
	}
	if c.long != 2 {
		t.Errorf("long texts were counted %d times, want 2", c.long)
	}
	for i := range 3 * maxTextCounts {
		shared.count(c, fmt.Sprint("a rather long text that is counted ", i))
	}
	if n := len(shared.young) + len(shared.older); n > 2*maxTextCounts {
		t.Errorf("%d texts are remembered", n)
	}
}

// exact counts bytes and how often it is asked.
type exact struct{ calls, long int }

func (*exact) Exact() bool { return true }
func (e *exact) Count(s string) int {
	e.calls++
	if len(s) >= minCached {
		e.long++
	}
	return len(s)
}
