// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package turnbench

import (
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"
	"time"
)

const (
	pace = 20 * time.Millisecond // between two pieces of a reply
	// most is how much longer than the bare client's the median of the bot's streams may take.
	most = 1.05
)

// TestPacedStreams has many people read replies at the same time that come at the pace of a real model, from the bot and
// from a bare client. Its small size runs with the other tests and looks only for turns that fail; what a machine that is
// busy with other tests says of time means nothing.
func TestPacedStreams(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and runs the server")
	}
	streams, rounds := 30, 1
	bench := os.Getenv("AALIS_BENCH") != ""
	if bench {
		streams, rounds = 300, 3
	}
	server := startServer(t, "--chunk-delay", pace.String())
	b := newBot(t, server)
	b.fill(t, streams)
	bare := newBare(server, b.last(t))
	ours, theirs := make([]time.Duration, 0, rounds*streams), make([]time.Duration, 0, rounds*streams)
	var cpu, bareCPU time.Duration
	for range rounds { // in turns, so that both meet the same machine
		began := cpuTime()
		theirs = append(theirs, paced(streams, func(int) { bare.run(1, 1) })...)
		middle := cpuTime()
		ours = append(ours, paced(streams, func(i int) { b.turn(i, 0) })...)
		cpu, bareCPU = cpu+cpuTime()-middle, bareCPU+middle-began
	}
	if n := b.failed.Load() + bare.failed.Load(); n > 0 {
		t.Errorf("%d turns failed", n)
	}
	slices.Sort(ours)
	slices.Sort(theirs)
	ratio := float64(percentile(ours, 50)) / float64(percentile(theirs, 50))
	fmt.Printf("%d streams of %d chunks, %s a chunk\n%-6s %10s %10s %14s\n", streams, chunks, pace, "", "median", "p95", "CPU ms/stream")
	for _, row := range []struct {
		name string
		took []time.Duration
		cpu  time.Duration
	}{{"bare", theirs, bareCPU}, {"bot", ours, cpu}} {
		fmt.Printf("%-6s %10s %10s %14.2f\n", row.name, percentile(row.took, 50).Round(100*time.Microsecond),
			percentile(row.took, 95).Round(100*time.Microsecond), row.cpu.Seconds()*1000/float64(len(row.took)))
	}
	fmt.Printf("the bot's median is %.1f %% above the bare client's\n", 100*(ratio-1))
	if bench && ratio > most {
		t.Errorf("the bot's median is %.1f %% above the bare client's, want at most %.0f %%", 100*(ratio-1), 100*(most-1))
	}
	if least := (chunks - 1) * pace; percentile(ours, 0) < least {
		t.Errorf("a reply took %s, which is faster than the model speaks: %s", percentile(ours, 0), least)
	}
}

// paced runs one thing many times at once and gives how long each took.
func paced(n int, one func(i int)) []time.Duration {
	took := make([]time.Duration, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			began := time.Now()
			one(i)
			took[i] = time.Since(began)
		})
	}
	wg.Wait()
	return took
}

// percentile of a sorted list.
func percentile(sorted []time.Duration, p int) time.Duration {
	return sorted[min(len(sorted)-1, len(sorted)*p/100)]
}
