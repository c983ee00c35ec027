// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package usage sums up what bots say they used, by whatever is asked for, now and over time. It is pure, and works on the books that
// the command reads from the bots.
package usage

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aalis-dev/aalis-operator/runtime/money"
	"github.com/aalis-dev/aalis-operator/runtime/usagebook"
)

// Dimensions are what sums can be made by, in the order of the columns.
func Dimensions() []string { return []string{"namespace", "agent", "persona", "provider", "model"} }

// Options of a summary.
type Options struct {
	// Since is how far back to look: full hours for up to two days, full days beyond.
	Since time.Duration
	// By are dimensions.
	By []string
	// Over is hour or day for a line of each, or empty for one sum.
	Over usagebook.Span
}

// longest is how far back a book goes.
const longest = usagebook.Days * 24 * time.Hour

// Check says what is wrong with the options, by the names of the flags.
func (o Options) Check() error {
	for _, by := range o.By {
		if !slices.Contains(Dimensions(), by) {
			return fmt.Errorf("--by must be of %s, got %q", strings.Join(Dimensions(), ", "), by)
		}
	}
	switch {
	case o.Since <= 0 || o.Since > longest:
		return fmt.Errorf("--since must be longer than 0 and at most %d days, got %s", usagebook.Days, o.Since)
	case o.Over != "" && o.Over != usagebook.Hour && o.Over != usagebook.Day:
		return fmt.Errorf("--over must be hour or day, got %q", o.Over)
	case o.Over == usagebook.Hour && o.Since > usagebook.Hours*time.Hour:
		return fmt.Errorf("--over hour goes back %d hours, --since %s is more", usagebook.Hours, o.Since)
	}
	return nil
}

// Line is a sum. Fields that it is not by are empty.
type Line struct {
	// Start of the hour or day, if it is over time.
	Start     *time.Time `json:"start,omitempty"`
	Namespace string     `json:"namespace,omitempty"`
	Agent     string     `json:"agent,omitempty"`
	Persona   string     `json:"persona,omitempty"`
	Provider  string     `json:"provider,omitempty"`
	Model     string     `json:"model,omitempty"`

	Calls      int64 `json:"calls"`
	Prompt     int64 `json:"prompt"`
	Cached     int64 `json:"cached"`
	Completion int64 `json:"completion"`
	Reasoning  int64 `json:"reasoning"`
	// Estimated are the tokens that no provider counted.
	Estimated int64 `json:"estimated"`
	// Costs by currency, as decimal numbers.
	Costs map[string]string `json:"costs,omitempty"`
}

type group struct {
	start                                      int64
	namespace, agent, persona, provider, model string
}

// Sum makes the lines, by time and then by the dimensions.
func Sum(books []usagebook.Report, now time.Time, o Options) []Line {
	sums := map[group]*usagebook.Row{}
	span, length := usagebook.Hour, time.Hour
	if o.Since > usagebook.Hours*time.Hour || o.Over == usagebook.Day {
		span, length = usagebook.Day, 24*time.Hour
	}
	from := now.Add(-o.Since).Truncate(length)
	for _, b := range books {
		pages := b.Hours
		if span == usagebook.Day {
			pages = b.Days
		}
		for _, p := range pages {
			if time.Unix(p.Start, 0).Before(from) {
				continue
			}
			for _, r := range p.Rows {
				g := groupOf(o, b, p, r)
				if sums[g] == nil {
					sums[g] = &usagebook.Row{}
				}
				sums[g].Add(r)
			}
		}
	}
	out := make([]Line, 0, len(sums))
	for _, g := range slices.SortedFunc(maps.Keys(sums), compare) {
		out = append(out, lineOf(g, sums[g], o.Over != ""))
	}
	return out
}

func groupOf(o Options, b usagebook.Report, p usagebook.Page, r usagebook.Row) group {
	var g group
	if o.Over != "" {
		g.start = p.Start
	}
	for _, by := range o.By {
		switch by {
		case "namespace":
			g.namespace = b.Namespace
		case "agent":
			g.agent = b.Agent
		case "persona":
			g.persona = r.Persona
		case "provider":
			g.provider = r.Provider
		case "model":
			g.model = r.Model
		}
	}
	return g
}

func compare(a, b group) int {
	return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.namespace, b.namespace), cmp.Compare(a.agent, b.agent),
		cmp.Compare(a.persona, b.persona), cmp.Compare(a.provider, b.provider), cmp.Compare(a.model, b.model))
}

func lineOf(g group, r *usagebook.Row, overTime bool) Line {
	l := Line{
		Namespace: g.namespace, Agent: g.agent, Persona: g.persona, Provider: g.provider, Model: g.model,
		Calls: r.Calls, Prompt: r.Prompt, Cached: r.Cached, Completion: r.Completion, Reasoning: r.Reasoning, Estimated: r.Estimated,
	}
	if overTime {
		start := time.Unix(g.start, 0).UTC()
		l.Start = &start
	}
	for currency, n := range r.Costs {
		if l.Costs == nil {
			l.Costs = map[string]string{}
		}
		l.Costs[currency] = money.Format(n)
	}
	return l
}

// Table gives the lines as a table for people.
func Table(lines []Line, o Options) (header []string, rows [][]string) {
	if o.Over != "" {
		header = append(header, strings.ToUpper(string(o.Over))+" (UTC)")
	}
	for _, d := range Dimensions() {
		if slices.Contains(o.By, d) {
			header = append(header, strings.ToUpper(d))
		}
	}
	header = append(header, "CALLS", "PROMPT", "CACHED", "COMPLETION", "REASONING", "ESTIMATED", "COST")
	for _, l := range lines {
		var row []string
		if l.Start != nil {
			layout := "2006-01-02"
			if o.Over == usagebook.Hour {
				layout += " 15:04"
			}
			row = append(row, l.Start.Format(layout))
		}
		for i, text := range []string{l.Namespace, l.Agent, l.Persona, l.Provider, l.Model} {
			if slices.Contains(o.By, Dimensions()[i]) {
				row = append(row, text)
			}
		}
		for _, n := range []int64{l.Calls, l.Prompt, l.Cached, l.Completion, l.Reasoning, l.Estimated} {
			row = append(row, strconv.FormatInt(n, 10))
		}
		var costs []string
		for _, currency := range slices.Sorted(maps.Keys(l.Costs)) {
			costs = append(costs, l.Costs[currency]+" "+currency)
		}
		rows = append(rows, append(row, strings.Join(costs, ", ")))
	}
	return header, rows
}
