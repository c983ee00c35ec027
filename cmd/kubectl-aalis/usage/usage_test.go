// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package usage

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/aalis-dev/aalis-operator/runtime/usagebook"
)

var now = time.Date(2026, 5, 3, 12, 30, 0, 0, time.UTC)

func books() []usagebook.Report {
	a, b := usagebook.New(), usagebook.New()
	row := func(persona, model string, n int64) usagebook.Row {
		return usagebook.Row{Persona: persona, Provider: "p", Model: model, Calls: 1, Prompt: n, Completion: 1, Costs: map[string]int64{"USD": n * 1_000_000}}
	}
	a.Add(now.Add(-72*time.Hour), row("owl", "big", 1000))
	a.Add(now.Add(-2*time.Hour), row("owl", "big", 100))
	a.Add(now, row("owl", "small", 10))
	b.Add(now, row("fox", "small", 1))
	ra, rb := a.Report(), b.Report()
	ra.Agent, ra.Namespace, rb.Agent, rb.Namespace = "hello", "team-a", "other", "team-b"
	return []usagebook.Report{rb, ra}
}

func TestSum(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		o    Options
		want []string
	}{
		"by agent and model": {Options{Since: 24 * time.Hour, By: []string{"agent", "model"}}, []string{
			"AGENT MODEL CALLS PROMPT CACHED COMPLETION REASONING ESTIMATED COST", "hello big 1 100 0 1 0 0 0.10 USD", "hello small 1 10 0 1 0 0 0.01 USD", "other small 1 1 0 1 0 0 0.001 USD",
		}},
		"one sum": {Options{Since: 400 * 24 * time.Hour}, []string{"CALLS PROMPT CACHED COMPLETION REASONING ESTIMATED COST", "4 1111 0 4 0 0 1.111 USD"}},
		"by namespace over days": {Options{Since: 96 * time.Hour, By: []string{"namespace"}, Over: usagebook.Day}, []string{
			"DAY (UTC) NAMESPACE CALLS PROMPT CACHED COMPLETION REASONING ESTIMATED COST", "2026-04-30 team-a 1 1000 0 1 0 0 1.00 USD", "2026-05-03 team-a 2 110 0 2 0 0 0.11 USD", "2026-05-03 team-b 1 1 0 1 0 0 0.001 USD",
		}},
		"the last hour, over hours": {Options{Since: time.Minute, By: []string{"persona"}, Over: usagebook.Hour}, []string{
			"HOUR (UTC) PERSONA CALLS PROMPT CACHED COMPLETION REASONING ESTIMATED COST", "2026-05-03 12:00 fox 1 1 0 1 0 0 0.001 USD", "2026-05-03 12:00 owl 1 10 0 1 0 0 0.01 USD",
		}},
	} {
		if err := c.o.Check(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		header, rows := Table(Sum(books(), now, c.o), c.o)
		got := []string{strings.Join(header, " ")}
		for _, r := range rows {
			got = append(got, strings.Join(r, " "))
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s:\n%s", name, d)
		}
	}
	if lines := Sum(nil, now, Options{Since: time.Hour}); len(lines) != 0 {
		t.Errorf("%+v", lines)
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	for why, o := range map[string]Options{
		"--by must be of":    {Since: time.Hour, By: []string{"user"}},
		"--since must be":    {},
		"at most 400 days":   {Since: 401 * 24 * time.Hour},
		"--over must be":     {Since: time.Hour, Over: "week"},
		"goes back 48 hours": {Since: 72 * time.Hour, Over: usagebook.Hour},
	} {
		if err := o.Check(); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%+v: %v, want %q", o, err, why)
		}
	}
}
