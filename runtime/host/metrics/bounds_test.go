// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"

	"github.com/aalis-dev/aalis-operator/runtime/contract/access"
	"github.com/aalis-dev/aalis-operator/runtime/contract/agent"
	"github.com/aalis-dev/aalis-operator/runtime/contract/budget"
	"github.com/aalis-dev/aalis-operator/runtime/contract/gateway"
	"github.com/aalis-dev/aalis-operator/runtime/contract/llm"
	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
	"github.com/aalis-dev/aalis-operator/runtime/contract/tools"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
	"github.com/aalis-dev/aalis-operator/runtime/kerneltest"
	"github.com/aalis-dev/aalis-operator/runtime/recompute"
)

// standings are those of more budgets than there can be.
type standings struct{ budget.Keeper }

func (standings) Standings() []budget.Standing {
	var out []budget.Standing
	for i := range 100 {
		out = append(out, budget.Standing{Name: odd(i), Scope: "User", Unit: []string{"tokens", "USD"}[i%2], Limit: 5_000_000_000, Used: 1_500_000_000, Reserved: 500_000_000})
	}
	return out
}

// odd gives names that break what they can.
func odd(i int) string {
	return []string{
		fmt.Sprint("name-", i), fmt.Sprintf("\"quoted\\ %d\n", i), fmt.Sprintf("群%d🦉", i), fmt.Sprintf("\xff\xfe%d", i),
		fmt.Sprint(strings.Repeat("x", 10_000), i), fmt.Sprintf("{a=%d}", i),
	}[i%6]
}

// flooded are metrics that were told of 10,000 sessions of 1,000 users with 200 tools and whatever names there are.
func flooded(tb testing.TB) *Metrics {
	tb.Helper()
	m := testMetrics()
	causes := append(llm.Causes(), "made up", "")
	verdicts := []llm.Verdict{llm.FrameCounted, llm.FrameTrimmed, llm.FrameMissing, llm.FrameNegative, llm.FrameAbsurd, "made up"}
	phases := []gateway.Phase{gateway.PhaseConfirm, gateway.PhaseCommand, gateway.PhaseFlow, gateway.PhaseTrigger, gateway.PhaseDispatch, "made up"}
	n := 3
	var all list
	for i := range 10_000 {
		j := i / 48 // each name comes with every outcome
		var err error
		switch i % 4 {
		case 1:
			err = &llm.Error{Cause: causes[i/4%len(causes)]}
		case 2:
			err = context.Canceled
		case 3:
			err = context.DeadlineExceeded
		}
		m.calls.done(context.Background(), agent.CallDone{
			SessionID: fmt.Sprint("canary-session-", i), UserID: fmt.Sprint("canary-user-", i%1000), Provider: odd(j % 70), Model: odd(j % 90),
			Persona: odd(j % 110), Platform: odd(j % 130), Usage: llm.Usage{PromptTokens: 1, CompletionTokens: 1, CachedPromptTokens: &n, ReasoningTokens: &n},
			Estimated: i/4%2 == 0, Frame: verdicts[i%len(verdicts)], FirstToken: 1, Price: &llm.Price{Currency: odd(j)}, Err: err,
		})
		m.turns.done(context.Background(), agent.TurnData{Message: message.Incoming{Platform: odd(j)}, Outcome: agent.Outcome([]string{"replied", "silent", "aborted", "error", odd(i)}[i%5])})
		m.turns.tool(tools.Executed{Name: odd(j % 200), End: true, Failed: i%2 == 0, SessionID: fmt.Sprint("canary-session-", i)})
		m.turns.phase(gateway.PhaseDone{Phase: phases[i%len(phases)], SessionID: fmt.Sprint("canary-session-", i)})
		m.turns.fills(agent.TokenUsage{ContextWindow: 10, Breakdown: agent.TokenBreakdown{Injectors: map[string]int{odd(i): 1}}})
		m.decided.done(access.Audit{Kind: odd(i), Outcome: odd(i), Rule: odd(i), UserID: "canary-user"})
		m.Recomputed(kernel.RecomputeInfo{Reason: recompute.Reason{Kind: recompute.ReasonKind(odd(i))}})
		m.ConfigApplied([]Result{Applied, Rejected, FellBack}[i%3], int64(i), time.UnixMilli(0), 0)
		all = append(all, kernel.PluginStatus{ID: odd(i), State: recompute.Active})
	}
	m.plugins.follow(all)
	h := kerneltest.New(tb, kerneltest.WithService[budget.Keeper](budget.Service, standings{}))
	m.budgets.follow(h.Root())
	for i := range 10_000 {
		m.budgets.refused(budget.RefusedError{Budget: odd(i / 4), Reason: []budget.Reason{budget.Spent, budget.NoPrice, budget.NotReady, "made up"}[i%4]})
	}
	return m
}

// TestBounds: whatever a pod is told, it serves at most MaxSeries series of its own, no name in them is long, and nobody's
// session or user is among them. The bound is no idle one: the flood comes near it.
func TestBounds(t *testing.T) {
	m := flooded(t)
	families, err := m.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	series := 0
	for _, f := range families {
		if !strings.HasPrefix(f.GetName(), "aalis_") {
			continue
		}
		for _, one := range f.GetMetric() {
			series += weight(f, one)
			for _, l := range one.GetLabel() {
				if v := l.GetValue(); len([]rune(v)) > maxCharacters || strings.Contains(v, "canary") {
					t.Errorf("%s: %s=%.200q", f.GetName(), l.GetName(), v)
				}
			}
		}
	}
	t.Logf("%d series, at most %d", series, MaxSeries)
	if series > MaxSeries || series < MaxSeries*8/10 {
		t.Errorf("%d series, want at most %d and not far below", series, MaxSeries)
	}
	documented, err := os.ReadFile("../../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("at most %d series", MaxSeries); !strings.Contains(string(documented), want) {
		t.Errorf("docs/metrics.md does not say %q", want)
	}
}

func weight(f *dto.MetricFamily, m *dto.Metric) int {
	if f.GetType() != dto.MetricType_HISTOGRAM {
		return 1
	}
	return len(m.GetHistogram().GetBucket()) + maxBeside
}

// TestOtherIsCounted: what is beyond a bound is not lost.
func TestOtherIsCounted(t *testing.T) {
	m := testMetrics()
	for i := range 200 {
		m.calls.done(context.Background(), agent.CallDone{Model: fmt.Sprint("model-", i), Usage: llm.Usage{PromptTokens: 1}})
	}
	m.calls.done(context.Background(), agent.CallDone{Model: "model-3", Usage: llm.Usage{PromptTokens: 1}})
	text := scrape(t, m)
	for _, want := range []string{
		`model="other",namespace="team-a",persona="other",platform="other",provider="other",type="prompt"} 136`,
		`model="model-3",namespace="team-a",persona="",platform="",provider="",type="prompt"} 2`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%s is missing", want)
		}
	}
}

var tableRow = regexp.MustCompile("(?m)^\\| `(aalis_[a-z_]+)` \\| (counter|gauge|histogram) \\|([^|]*)\\|")

// TestDocs: docs/metrics.md lists every metric of a bot with its type and labels, and no other.
func TestDocs(t *testing.T) {
	page, err := os.ReadFile("../../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	bots, _, ok := strings.Cut(string(page), "\n## The operator")
	if !ok {
		t.Fatal("the page has no part about the operator")
	}
	documented := map[string]string{}
	for _, row := range tableRow.FindAllStringSubmatch(bots, -1) {
		documented[row[1]] = row[2] + ": " + strings.NewReplacer("`", "", " ", "").Replace(row[3])
	}
	families, err := flooded(t).registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if !strings.HasPrefix(f.GetName(), "aalis_") {
			continue
		}
		var labels []string
		for _, l := range f.GetMetric()[0].GetLabel() {
			if l.GetName() != "agent" && l.GetName() != "namespace" {
				labels = append(labels, l.GetName())
			}
		}
		got := strings.Split(strings.TrimPrefix(documented[f.GetName()], strings.ToLower(f.GetType().String())+": "), ",")
		if got[0] == "" {
			got = nil
		}
		slices.Sort(got)
		if documented[f.GetName()] == "" || !slices.Equal(got, labels) {
			t.Errorf("%s is a %s with the labels %q, documented as %q", f.GetName(), f.GetType(), labels, documented[f.GetName()])
		}
		delete(documented, f.GetName())
	}
	for name := range documented {
		t.Errorf("%s is documented and not there", name)
	}
}

// BenchmarkScrape is one scrape of a pod that serves as much as it ever does.
func BenchmarkScrape(b *testing.B) {
	handler := flooded(b).Handler()
	req := httptest.NewRequest("GET", "/metrics", nil)
	b.ReportAllocs()
	for b.Loop() {
		handler.ServeHTTP(httptest.NewRecorder(), req)
	}
}
