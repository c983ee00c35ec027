// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package promptbudget

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/aalis-dev/aalis-operator/runtime/bounded"
	"github.com/aalis-dev/aalis-operator/runtime/contract/access"
	"github.com/aalis-dev/aalis-operator/runtime/contract/agent"
	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
	"github.com/aalis-dev/aalis-operator/runtime/contract/tools"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
	"github.com/aalis-dev/aalis-operator/runtime/kerneltest"
)

// shelf is a registry that keeps the last tool.
type shelf struct{ tool *tools.Tool }

func (s *shelf) Register(_ *kernel.Context, t tools.Tool) func() {
	s.tool = &t
	return func() { s.tool = nil }
}
func (*shelf) RegisterGroup(*kernel.Context, tools.Group) func()                         { return func() {} }
func (*shelf) Definitions([]string) []message.ToolDefinition                             { return nil }
func (*shelf) List() []tools.Info                                                        { return nil }
func (*shelf) Groups() []tools.Group                                                     { return nil }
func (*shelf) SetGuard(access.Guard) func()                                              { return func() {} }
func (*shelf) Execute(context.Context, string, map[string]any, tools.CallContext) string { return "" }

func start(t *testing.T) (*kerneltest.Harness, func(args map[string]any) (map[string]any, error)) {
	t.Helper()
	s := &shelf{}
	h := kerneltest.New(t, kerneltest.WithService[tools.Registry](tools.Service, s), kerneltest.WithPlugin(Plugin, "", nil))
	return h, func(args map[string]any) (map[string]any, error) {
		t.Helper()
		if s.tool == nil {
			t.Fatal("there is no tool")
		}
		text, err := s.tool.Handler(context.Background(), args, tools.CallContext{SessionID: "mine"})
		if err != nil {
			return nil, err
		}
		var out map[string]any
		if err := json.Unmarshal([]byte(text), &out); err != nil {
			t.Fatalf("%v in %s", err, text)
		}
		return out, nil
	}
}

func usage(session string, ratio float64) agent.TokenUsage {
	return agent.TokenUsage{
		SessionID: session, ContextWindow: 32000, MaxTokens: 4096, TokenBudget: 27392, Used: 23104, UsageRatio: ratio,
		Breakdown: agent.TokenBreakdown{
			System: 6100, Persona: 2300, MemorySummary: 1800, Skills: 900, SystemOther: 1100, History: 8901,
			ToolResults: 5400, ToolDefs: 2703, ReservedForReply: 4096, Injectors: map[string]int{"x": 99999},
		},
	}
}

func TestConformance(t *testing.T) {
	kerneltest.Run(t, Plugin, kerneltest.WithService[tools.Registry](tools.Service, &shelf{}))
}

func TestReport(t *testing.T) {
	h, ask := start(t)
	got, err := ask(nil)
	if err != nil || got["noData"] != true || got["sessionId"] != "mine" {
		t.Errorf("before any call: %v, %v", got, err)
	}
	agent.Usage.Emit(context.Background(), h.Root(), usage("mine", 0.722049))
	h.Clock.Advance(1500 * time.Millisecond)
	got, err = ask(map[string]any{"sessionId": ""})
	if err != nil {
		t.Fatal(err)
	}
	breakdown, ok := got["breakdown"].(map[string]any)
	if !ok || breakdown["history"] != 8901.0 {
		t.Errorf("breakdown: %v", got["breakdown"])
	}
	delete(got, "breakdown")
	want := map[string]any{
		"sessionId": "mine", "ageMs": 1500.0, "observedAt": "2026-01-02T03:04:05Z", "tag": "WARN", "used": 23104.0,
		"contextWindow": 32000.0, "usageRatio": 0.722, "maxTokens": 4096.0, "tokenBudget": 27392.0, "advice": adviceTight,
		"top3": []any{
			map[string]any{"name": "history", "tokens": 8901.0}, map[string]any{"name": "toolResults", "tokens": 5400.0},
			map[string]any{"name": "toolDefs", "tokens": 2703.0},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got, _ := ask(map[string]any{"sessionId": "other"}); got["noData"] != true {
		t.Errorf("another session: %v", got)
	}
	if _, err := ask(map[string]any{"sessionId": 1.0}); err == nil || !strings.Contains(err.Error(), "float64") {
		t.Errorf("got %v", err)
	}
	h.Clock.Advance(maxAge)
	if got, _ := ask(nil); got["noData"] != true {
		t.Errorf("after six hours: %v", got)
	}
}

func TestThresholds(t *testing.T) {
	for _, tc := range []struct {
		ratio       float64
		tag, advice string
	}{
		{0, "OK", adviceFine}, {0.4999, "OK", adviceFine}, {0.5, "INFO", adviceFine}, {0.6999, "INFO", adviceFine},
		{0.7, "WARN", adviceTight}, {0.8499, "WARN", adviceTight}, {0.85, "CRITICAL", adviceFull}, {3, "CRITICAL", adviceFull},
	} {
		if tag(tc.ratio) != tc.tag || advice(tc.ratio) != tc.advice {
			t.Errorf("%v: got %s, %s", tc.ratio, tag(tc.ratio), advice(tc.ratio))
		}
	}
	for in, want := range map[float64]float64{0.12345: 0.1235, math.Inf(1): 0, 1: 1} {
		if got := rounded(in); got != want {
			t.Errorf("%v: got %v", in, got)
		}
	}
	if rounded(math.NaN()) != 0 {
		t.Error("NaN is in no JSON")
	}
	if got := top(agent.TokenBreakdown{History: 1}); len(got) != 1 {
		t.Errorf("empty parts are named: %v", got)
	}
}

func TestSessionsAreBounded(t *testing.T) {
	clock := kerneltest.NewClock()
	b := &book{now: clock.Now, last: bounded.New[string, observation](maxSessions, maxAge, clock.Now)}
	for i := range 10 * maxSessions {
		b.note(usage(fmt.Sprint(i), 0.1))
	}
	if b.last.Len() != maxSessions {
		t.Errorf("%d sessions are kept", b.last.Len())
	}
}
