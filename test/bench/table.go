// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// packages are where the benchmarks of the table are.
var packages = []string{"./runtime/kernel", "./runtime/recompute", "./runtime/host"}

// row is one line of the table.
type row struct {
	what      string
	benchmark string // as go test names it, without "Benchmark" and the number of processors
	// target is the most it may take and original what the original system takes for it on such a machine; 0 for none.
	target, original time.Duration
}

var rows = []row{
	{"emit, no listener", "Emit/listeners=0", 0, 81},
	{"emit, 1 listener", "Emit/listeners=1", 0, 175},
	{"emit, 10 listeners", "Emit/listeners=10", 333, 906},
	{"hook, no handler", "Hook/handlers=0", 0, 251},
	{"hook, 10 handlers", "Hook/handlers=10", 333, 1902},
	{"get a service, 1 provider", "GetService/providers=1", 10, 21},
	{"get a service, 5 providers and a preference", "GetService/providers=5", 10, 58},
	{"get a service that is missing", "GetService/providers=0", 10, 15},
	{"collect 50 contributions", "Collect", 0, 0},
	{"plan without a change, 40 plugins", "Plan/nothing_to_do_again/40", 0, 0},
	{"plan without a change, 1,000 plugins", "Plan/nothing_to_do_again/1000", 0, 0},
	{"recompute without a change, 40 plugins", "Recompute/plugins=40", 200 * time.Microsecond, 0},
	{"recompute without a change, 1,000 plugins", "Recompute/plugins=1000", 0, 0},
	{"chain of 200: start", "Chain/converge", 2 * time.Millisecond, 17 * time.Millisecond},
	{"chain of 200: lose the root", "Chain/lose_root", 2 * time.Millisecond, 28600 * time.Microsecond},
	{"chain of 200: root back", "Chain/root_back", 2 * time.Millisecond, 2900 * time.Microsecond},
	{"chain of 200: stop", "Chain/stop", 2 * time.Millisecond, 4500 * time.Microsecond},
	{"shipped set: start", "Boot/start", 300 * time.Millisecond, 0},
	{"shipped set: stop", "Boot/stop", 0, 0},
}

// results holds the measurements of each benchmark.
type results map[string][]measurement

type measurement struct {
	ns     float64
	allocs int
}

var line = regexp.MustCompile(`(?m)^Benchmark(\S+?)(?:-\d+)?\s+\d+\s+([\d.]+) ns/op(?:\s+\d+ B/op\s+(\d+) allocs/op)?`)

// read takes the measurements from the output of go test.
func (r results) read(output string) {
	for _, m := range line.FindAllStringSubmatch(output, -1) {
		ns, err := strconv.ParseFloat(m[2], 64)
		if err != nil {
			continue
		}
		allocs, _ := strconv.Atoi(m[3]) // none without -benchmem
		r[m[1]] = append(r[m[1]], measurement{ns, allocs})
	}
}

// table gives the rows as a table of Markdown and the names of those that missed their target or were not measured.
func (r results) table() (text string, missed []string) {
	var b strings.Builder
	b.WriteString("| what | takes | a second | allocations | target | original | times faster |\n|---|---|---|---|---|---|---|\n")
	for _, row := range rows {
		all := r[row.benchmark]
		if len(all) == 0 {
			missed = append(missed, row.what)
			fmt.Fprintf(&b, "| %s | not measured | | | | | |\n", row.what)
			continue
		}
		m := median(all)
		if row.target > 0 && m.ns > float64(row.target) {
			missed = append(missed, row.what)
		}
		faster := "–"
		if row.original > 0 {
			faster = strconv.FormatFloat(float64(row.original)/m.ns, 'f', 1, 64)
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %d | %s | %s | %s |\n",
			row.what, span(m.ns), rate(m.ns), m.allocs, limit(row.target), limit(row.original), faster)
	}
	return b.String(), missed
}

func median(all []measurement) measurement {
	all = slices.Clone(all)
	slices.SortFunc(all, func(a, b measurement) int {
		if a.ns < b.ns {
			return -1
		}
		return 1
	})
	return all[len(all)/2]
}

func limit(d time.Duration) string {
	if d == 0 {
		return "–"
	}
	return span(float64(d))
}

// span writes a time with three digits.
func span(ns float64) string { return digits(ns, "ns", "µs", "ms", "s") }

// rate writes how often a time fits into a second.
func rate(ns float64) string { return digits(1e9/ns, "", "k", "M", "G") }

func digits(v float64, units ...string) string {
	for v >= 999.5 && len(units) > 1 {
		v, units = v/1000, units[1:]
	}
	places := 0
	switch {
	case v < 9.995:
		places = 2
	case v < 99.95:
		places = 1
	}
	return strings.TrimSpace(strconv.FormatFloat(v, 'f', places, 64) + " " + units[0])
}
