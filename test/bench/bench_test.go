// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"strings"
	"testing"
	"time"
)

const output = `goos: linux
BenchmarkEmit/listeners=10-2         	 7503216	        83.05 ns/op	       0 B/op	       0 allocs/op
BenchmarkEmit/listeners=10-2         	 7503216	        90.05 ns/op	       0 B/op	       0 allocs/op
BenchmarkEmit/listeners=10-2         	 7503216	        10.05 ns/op	       0 B/op	       0 allocs/op
BenchmarkHook/handlers=10-2         	 7503216	        400 ns/op
BenchmarkChain/converge         	     364	   1556692 ns/op	  813529 B/op	    6411 allocs/op
PASS
`

func TestTable(t *testing.T) {
	r := results{}
	r.read(output)
	table, missed := r.table()
	for _, want := range []string{
		"| emit, 10 listeners | 83.0 ns | 12.0 M | 0 | 333 ns | 906 ns | 10.9 |\n",
		"| hook, 10 handlers | 400 ns | 2.50 M | 0 | 333 ns | 1.90 µs | 4.8 |\n",
		"| chain of 200: start | 1.56 ms | 642 | 6411 | 2.00 ms | 17.0 ms | 10.9 |\n",
		"| shipped set: start | not measured | | | | | |\n",
	} {
		if !strings.Contains(table, want) {
			t.Errorf("the table lacks %s:\n%s", want, table)
		}
	}
	if len(missed) != len(rows)-2 {
		t.Errorf("missed %v", missed)
	}
}

func TestDigits(t *testing.T) {
	for ns, want := range map[float64]string{0.5: "0.50 ns", 9.999: "10.0 ns", 999.6: "1.00 µs", 3e12: "3000 s"} {
		if got := span(ns); got != want {
			t.Errorf("%v: got %s, want %s", ns, got, want)
		}
	}
	if got := limit(0 * time.Second); got != "–" {
		t.Errorf("no limit is %s", got)
	}
}

// TestRows checks that every benchmark of the table is one that a package still has, by its function.
func TestRows(t *testing.T) {
	var sources strings.Builder
	for _, name := range []string{"kernel/bench_test.go", "recompute/bench_test.go", "host/boot_bench_test.go"} {
		data, err := os.ReadFile("../../runtime/" + name)
		if err != nil {
			t.Fatal(err)
		}
		sources.Write(data)
	}
	for _, r := range rows {
		function, _, _ := strings.Cut(r.benchmark, "/")
		if !strings.Contains(sources.String(), "func Benchmark"+function+"(") {
			t.Errorf("%s: there is no Benchmark%s", r.what, function)
		}
	}
}

func TestUsage(t *testing.T) {
	for _, args := range [][]string{{"--count", "0"}, {"x"}, {"--nope"}} {
		var out strings.Builder
		if err := run(t.Context(), args, &out, &out); err == nil {
			t.Errorf("%v was accepted", args)
		}
	}
}
