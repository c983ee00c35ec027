// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package usagebook

import (
	"fmt"
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var noon = time.Date(2026, 5, 1, 12, 30, 0, 0, time.UTC)

func TestBook(t *testing.T) {
	t.Parallel()
	b := New()
	row := Row{Persona: "owl", Provider: "p", Model: "m", Calls: 1, Prompt: 10, Completion: 5, Costs: map[string]int64{"USD": 7}}
	b.Add(noon, row)
	b.Add(noon.Add(10*time.Minute), row)
	b.Add(noon.Add(time.Hour), Row{Provider: "p", Model: "m", Calls: 1, Prompt: 1})
	r := b.Report()
	if len(r.Hours) != 2 || len(r.Days) != 1 || len(r.Days[0].Rows) != 2 || r.Hours[0].Start != noon.Truncate(time.Hour).Unix() {
		t.Fatalf("%+v", r)
	}
	if got := r.Hours[0].Rows[0]; got.Calls != 2 || got.Prompt != 20 || got.Costs["USD"] != 14 {
		t.Errorf("%+v", got)
	}
	r.Hours[0].Rows[0].Costs["USD"] = 0
	if got := b.Report().Hours[0].Rows[0].Costs["USD"]; got != 14 {
		t.Error("a report is not a copy")
	}
	again := New()
	for _, p := range r.Days {
		again.Restore(Address{Day, p.Start}, p)
	}
	if got := again.Report(); len(got.Days) != 1 || got.Days[0].Rows[1].Prompt != 20 {
		t.Errorf("restored %+v", got)
	}
	if got := New().Report(); got.Hours != nil || got.Days != nil {
		t.Errorf("%+v", got)
	}
}

// TestBounds: a book stays small whatever it is told, loses nothing but age, and no number turns over.
func TestBounds(t *testing.T) {
	t.Parallel()
	b := New()
	var removed int
	for i := range 100 * 24 {
		_, gone := b.Add(noon.Add(time.Duration(i)*time.Hour), Row{Provider: "p", Model: fmt.Sprint("m", i%200), Calls: 1, Prompt: math.MaxInt64 / 2})
		removed += len(gone)
	}
	r := b.Report()
	if len(r.Hours) != Hours || len(r.Days) != 101 || removed != 100*24-Hours {
		t.Errorf("%d hours, %d days, %d removed", len(r.Hours), len(r.Days), removed)
	}
	p := Page{}
	var calls int64
	for i := range 500 {
		p.Add(Row{Model: fmt.Sprint(i), Calls: 1, Completion: math.MaxInt64})
	}
	for _, row := range p.Rows {
		calls += row.Calls
		if row.Completion < 0 {
			t.Errorf("%+v", row)
		}
	}
	if len(p.Rows) != MaxRows || calls != 500 {
		t.Errorf("%d rows, %d calls", len(p.Rows), calls)
	}
}

// TestSums: whatever the order and the moments, hours and days sum up to what was added.
func TestSums(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		b, want := New(), int64(0)
		for range rapid.IntRange(1, 50).Draw(t, "calls") {
			n := rapid.Int64Range(-5, 1000).Draw(t, "tokens")
			b.Add(noon.Add(time.Duration(rapid.Int64Range(0, 47*3600).Draw(t, "after"))*time.Second).Truncate(time.Second),
				Row{Model: rapid.SampledFrom([]string{"a", "b", "你好"}).Draw(t, "model"), Prompt: n})
			want += max(0, n)
		}
		var days int64
		for _, p := range b.Report().Days {
			for _, r := range p.Rows {
				days += r.Prompt
			}
		}
		if days != want {
			t.Fatalf("%d, want %d", days, want)
		}
	})
}
