// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/aalis-dev/aalis-operator/runtime/contract/access"
	"github.com/aalis-dev/aalis-operator/runtime/contract/agent"
	"github.com/aalis-dev/aalis-operator/runtime/contract/gateway"
	"github.com/aalis-dev/aalis-operator/runtime/contract/llm"
	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
	"github.com/aalis-dev/aalis-operator/runtime/contract/tools"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
	"github.com/aalis-dev/aalis-operator/runtime/recompute"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func testMetrics() *Metrics {
	return New(Options{Agent: "hello", Namespace: "team-a", Version: "v1", CatalogHash: "abc"})
}

func scrape(t *testing.T, m *Metrics) string {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	body, err := io.ReadAll(w.Result().Body)
	if err != nil || w.Code != http.StatusOK {
		t.Fatalf("got %d, %v", w.Code, err)
	}
	return string(body)
}

func testApp(t *testing.T, m *Metrics) *kernel.App {
	t.Helper()
	echo := kernel.Module{Name: "@aalis/plugin-echo", Apply: func(*kernel.Context, map[string]any) error { return nil }}
	app, err := kernel.New(kernel.Options{
		Modules: []kernel.Module{echo}, Now: time.Now,
		Config: kernel.Config{Plugins: map[string]kernel.PluginConfig{
			echo.Name: {}, // active
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	m.Attach(app.Root())
	if err := app.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = app.Stop(context.Background()) })
	return app
}

// TestExposition pins every metric of ours: name, help, type, labels and values.
func TestExposition(t *testing.T) {
	m := testMetrics()
	k := testApp(t, m).Root()
	cached, reasoning := 4, 2
	ctx := t.Context()
	agent.LLMCall.Emit(ctx, k, agent.CallDone{
		Provider: "@aalis/plugin-llm-openai:main", Model: "gpt-4o-mini", Persona: "night-owl", Platform: "openai",
		Usage: llm.Usage{PromptTokens: 10, CompletionTokens: 5, CachedPromptTokens: &cached, ReasoningTokens: &reasoning}, Frame: llm.FrameTrimmed,
		Duration: 700 * time.Millisecond, FirstToken: 80 * time.Millisecond,
	})
	agent.LLMCall.Emit(ctx, k, agent.CallDone{
		Provider: "p", Model: "m", Persona: "night-owl", Platform: "openai", Estimated: true, Usage: llm.Usage{PromptTokens: 3},
		Duration: time.Second, Err: errors.New("boom"),
	})
	agent.LLMCall.Emit(ctx, k, agent.CallDone{
		Purpose: agent.PurposeEmbedding, Provider: "@aalis/plugin-embedding-openai:vectors", Model: "small", Usage: llm.Usage{PromptTokens: 1_000_000},
		Price: &llm.Price{Currency: "USD", Prompt: 20_000_001}, Frame: llm.FrameCounted, Duration: time.Second,
	})
	agent.Usage.Emit(ctx, k, agent.TokenUsage{ContextWindow: 1000, UsageRatio: 0.25, Breakdown: agent.TokenBreakdown{
		System: 100, Persona: 60, Skills: 40, History: 100, ToolResults: 30, ToolDefs: 20, ReservedForReply: 200,
	}})
	for _, end := range []bool{false, true} {
		tools.Execute.Emit(ctx, k, tools.Executed{Name: "web_search", End: end, Failed: end, Duration: time.Second})
	}
	gateway.Done.Emit(ctx, k, gateway.PhaseDone{Phase: gateway.PhaseCommand, Duration: time.Millisecond})
	gateway.Done.Emit(ctx, k, gateway.PhaseDone{Phase: gateway.PhaseDispatch, Duration: time.Second})
	access.Decided.Emit(ctx, k, access.Audit{Kind: "tool", Outcome: "deny", Rule: "risk"})
	turn := agent.TurnData{Message: message.Incoming{Platform: "openai"}, Outcome: agent.Replied, Duration: time.Second}
	if _, err := agent.TurnAfter.Run(ctx, k, &turn, nil); err != nil {
		t.Fatal(err)
	}
	m.Recomputed(kernel.RecomputeInfo{Reason: recompute.Reason{Kind: recompute.ServiceUp}, Rounds: 2})
	m.ConfigApplied(Applied, 7, time.UnixMilli(1700000000500), 30*time.Millisecond)
	m.ConfigApplied(Rejected, 8, time.UnixMilli(1800000000000), -time.Second)

	var ours []string
	for line := range strings.Lines(scrape(t, m)) {
		if strings.Contains(line, "aalis_") && !strings.Contains(line, "_bucket{") {
			ours = append(ours, line)
		}
	}
	got := strings.ReplaceAll(strings.Join(ours, ""), goVersion(t, ours), "GO")
	golden := "testdata/exposition.txt"
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func goVersion(t *testing.T, lines []string) string {
	t.Helper()
	i := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, "aalis_build_info{") })
	_, rest, _ := strings.Cut(lines[i], "go_version=\"")
	version, _, _ := strings.Cut(rest, "\"")
	return version
}

func TestStandardCollectors(t *testing.T) {
	text := scrape(t, testMetrics())
	for _, name := range []string{"go_goroutines", "process_resident_memory_bytes", "process_start_time_seconds"} {
		if !strings.Contains(text, "\n"+name+" ") {
			t.Errorf("%s is missing", name)
		}
	}
}

func TestOutcomes(t *testing.T) {
	for want, err := range map[string]error{
		"success": nil, "canceled": fmt.Errorf("x: %w", context.Canceled), "timeout": fmt.Errorf("x: %w", context.DeadlineExceeded),
		"error": errors.New("x"),
	} {
		if got := outcome(err); got != want {
			t.Errorf("%v: got %s, want %s", err, got, want)
		}
	}
	for want, err := range map[string]error{
		"canceled": fmt.Errorf("%w: %w", context.Canceled, errors.New("the turn was aborted")),
		"timeout":  fmt.Errorf("x: %w", &llm.Error{Cause: llm.Timeout}), "error": &llm.Error{Cause: llm.RateLimited},
	} {
		if got := outcome(err); got != want {
			t.Errorf("%v: got %s, want %s", err, got, want)
		}
	}
	m := testMetrics()
	m.turns.done(context.Background(), agent.TurnData{Outcome: "made up"})
	if !strings.Contains(scrape(t, m), `outcome="other"`) {
		t.Error("an unknown outcome made a label of its own")
	}
}

func TestCut(t *testing.T) {
	for in, want := range map[string]string{
		"": "", "abc": "abc", strings.Repeat("好", 128): strings.Repeat("好", 128), strings.Repeat("好", 129): strings.Repeat("好", 128),
		strings.Repeat("a", 127) + "\U0001F600": strings.Repeat("a", 127), "a\xff": "a\uFFFD",
	} {
		if got := cut(in); got != want {
			t.Errorf("%q: got %q", in, got)
		}
	}
}

type list []kernel.PluginStatus

func (l list) Status() []kernel.PluginStatus { return l }

func TestPluginsAreBounded(t *testing.T) {
	m := testMetrics()
	if strings.Contains(scrape(t, m), "aalis_plugin_state{") {
		t.Error("plugins without a kernel")
	}
	var l list
	for i := range 300 {
		l = append(l, kernel.PluginStatus{ID: fmt.Sprint("p", i/2), State: recompute.Active})
	}
	m.plugins.follow(l)
	if n := strings.Count(scrape(t, m), "aalis_plugin_state{"); n != maxPlugins {
		t.Errorf("got %d series", n)
	}
}
