// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/aalis-dev/aalis-operator/api/v1alpha1"
	"github.com/aalis-dev/aalis-operator/test/harness"
)

// quietPanels show nothing while all is well.
var quietPanels = []string{
	"Bots that are not Ready", "Failures by cause", "Passes put off", "Bots that refuse or lag", "Messages that ended before the turn",
	"Decisions of weight", "Part that bots counted themselves",
}

// TestMonitoring: a real Prometheus and Alertmanager scrape a real bot and the operator. A model that asks for a tool for ever
// raises its alert; an edit of the budget stops it inside the turn, the person is told, and that raises the budget's alert; the
// dashboards have data.
func TestMonitoring(t *testing.T) {
	ctx, ns := newNamespace(t)
	withModel(ctx, t, ns)
	b := newBot(ns, "hello")
	b.model = "gpt-4o-mini@header-delay:delay=500ms"
	b.llmConfig = `{baseUrl: "http://fakellm.` + ns + `.svc:8080", customModels: "` + b.model + `", modelCapabilities: "` + b.model +
		`: chat, streaming, tool_calling", prices: "` + b.model + `: USD prompt=0.15 completion=0.60"}`
	b.plugins = "  - {name: prompt-budget, module: prompt-budget}\n" // which offers a tool
	b.agentConfig = "{maxToolIterations: 1000}"
	b.more = "  budgets:\n  - {name: month, per: Month, tokens: 1000000000}\n"
	must(t, cluster.Apply(ctx, ns, b.all()))
	_, err := cluster.Until(ctx, ns, b.name, harness.IsReady)
	must(t, err)
	prom, err := cluster.StartPrometheus(t, "../../config/monitoring/rules.yaml", []harness.Scrape{
		{Job: "bots", Path: "/api/v1/namespaces/" + ns + "/pods/aalis-hello-0:9090/proxy/metrics"},
		{Job: "aalis-operator-metrics", Path: "/api/v1/namespaces/" + operatorNamespace + "/services/aalis-operator-metrics:8080/proxy/metrics", Labels: map[string]string{"namespace": operatorNamespace}},
	})
	if errors.Is(err, harness.ErrNoPrometheus) {
		t.Skip(err)
	}
	must(t, err)
	_, err = cluster.Ask(ctx, ns, b.name, "before", "hello", io.Discard)
	must(t, err)

	looping, stop := context.WithCancel(ctx)
	defer stop()
	told := make(chan string, 1)
	go func() {
		answer, err := cluster.Ask(looping, ns, b.name, "loop", `#toolloop prompt_budget_info {}`, io.Discard)
		told <- fmt.Sprint(answer, err)
	}()
	alert := func(name string) {
		t.Helper()
		began := time.Now()
		eventually(ctx, t, "the alert "+name, 3*time.Minute, func(ctx context.Context) (bool, string) {
			names, err := prom.Alerts(ctx, map[string]string{"namespace": ns, "agent": b.name})
			return slices.Contains(names, name), fmt.Sprint(names, err)
		})
		t.Logf("%s reached the Alertmanager after %s", name, time.Since(began).Round(time.Second))
	}
	alert("AalisRunawayToolLoop")
	select {
	case got := <-told:
		t.Fatalf("the loop ended by itself: %s", got)
	default:
	}
	b.more = "  budgets:\n  - {name: month, per: Month, tokens: 1000}\n"
	must(t, cluster.Apply(ctx, ns, b.instanceYAML()))
	select {
	case got := <-told:
		if !strings.Contains(got, "used up what I may spend") {
			t.Errorf("told %q", got)
		}
	case <-ctx.Done():
		t.Fatal("the budget did not stop the loop")
	}
	alert("AalisBudgetExhausted")
	_, err = cluster.Until(ctx, ns, b.name, func(in *v1alpha1.AgentInstance) bool {
		return meta.IsStatusConditionTrue(in.Status.Conditions, v1alpha1.ConditionBudgetExhausted) && harness.IsReady(in)
	})
	must(t, err)
	dashboardsHaveData(ctx, t, prom)
	names, err := prom.Alerts(ctx, nil)
	must(t, err)
	for _, unwanted := range []string{"AalisAgentNotReady", "AalisPluginInError", "AalisConfigRejected", "AalisModelErrors", "AalisOperatorAbsent"} {
		if slices.Contains(names, unwanted) {
			t.Errorf("%s fires too", unwanted)
		}
	}
	if in, err := cluster.Bot(ctx, ns, b.name); err != nil || in.Status.State != v1alpha1.StateActive {
		t.Errorf("the bot is %+v, %v", in.Status, err)
	}
}

// dashboardsHaveData asks every query of every dashboard.
func dashboardsHaveData(ctx context.Context, t *testing.T, prom *harness.Prometheus) {
	t.Helper()
	files, err := filepath.Glob("../../config/monitoring/dashboards/*.json")
	must(t, err)
	fill := strings.NewReplacer("$__rate_interval", "5m", "$namespace", ".*", "$agent", ".*")
	asked := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		must(t, err)
		var d struct {
			Panels []struct {
				Title   string `json:"title"`
				Targets []struct {
					Expr string `json:"expr"`
				} `json:"targets"`
			} `json:"panels"`
		}
		must(t, json.Unmarshal(text, &d))
		for _, p := range d.Panels {
			for _, target := range p.Targets {
				asked++
				n, err := prom.Query(ctx, fill.Replace(target.Expr))
				if err != nil || n == 0 && !slices.Contains(quietPanels, p.Title) {
					t.Errorf("%s: %q has %d series, %v: %s", filepath.Base(file), p.Title, n, err, target.Expr)
				}
			}
		}
	}
	t.Logf("%d queries of %d dashboards were asked", asked, len(files))
}
