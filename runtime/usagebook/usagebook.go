// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package usagebook sums what calls of models take, by hour and by day, persona and model. It is pure data: no clock, no store. The
// plugin usage keeps a book in a bot, kubectl aalis usage reads it.
package usagebook

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"time"
)

// The bounds of a book.
const (
	// Hours and Days are how many pages are kept of each.
	Hours = 48
	Days  = 400
	// MaxRows of a page. What is beyond is summed as Other.
	MaxRows = 64
	// Other stands for the names of what is beyond a bound.
	Other   = "other"
	maxName = 256 // characters of a name
)

// Row is what was used of a model for a persona. Costs are by currency, in billionths of its unit.
type Row struct {
	Persona  string `json:"persona,omitempty"`
	Provider string `json:"provider"`
	Model    string `json:"model"`

	Calls      int64 `json:"calls"`
	Prompt     int64 `json:"prompt"`
	Cached     int64 `json:"cached,omitempty"`
	Completion int64 `json:"completion"`
	Reasoning  int64 `json:"reasoning,omitempty"`
	// Estimated are the tokens of prompts and replies that no provider counted.
	Estimated int64            `json:"estimated,omitempty"`
	Costs     map[string]int64 `json:"costs,omitempty"`
}

type key struct{ persona, provider, model string }

func (r *Row) key() key { return key{r.Persona, r.Provider, r.Model} }

// Add sums a row up into this one, whose names stay.
func (r *Row) Add(o Row) {
	for _, part := range [...]struct {
		to *int64
		n  int64
	}{
		{&r.Calls, o.Calls}, {&r.Prompt, o.Prompt}, {&r.Cached, o.Cached}, {&r.Completion, o.Completion}, {&r.Reasoning, o.Reasoning},
		{&r.Estimated, o.Estimated},
	} {
		*part.to = add(*part.to, part.n)
	}
	for currency, n := range o.Costs {
		if r.Costs == nil {
			r.Costs = map[string]int64{}
		}
		r.Costs[currency] = add(r.Costs[currency], n)
	}
}

// add sums amounts of at least 0 and stays at the largest number.
func add(a, b int64) int64 {
	if b <= 0 {
		return a
	}
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// Page is what was used in an hour or a day of UTC.
type Page struct {
	// Start in seconds since the epoch.
	Start int64 `json:"start"`
	// Rows sorted by persona, provider and model.
	Rows []Row `json:"rows"`
}

// Add sums a row up on the page. What would be one row too many goes to Other.
func (p *Page) Add(r Row) {
	r.Persona, r.Provider, r.Model = cut(r.Persona), cut(r.Provider), cut(r.Model)
	i, found := p.find(r.key())
	if !found && len(p.Rows) >= MaxRows-1 {
		r.Persona, r.Provider, r.Model = Other, Other, Other
		i, found = p.find(r.key())
	}
	if !found {
		p.Rows = slices.Insert(p.Rows, i, Row{Persona: r.Persona, Provider: r.Provider, Model: r.Model})
	}
	p.Rows[i].Add(r)
}

func (p *Page) find(k key) (int, bool) {
	return slices.BinarySearchFunc(p.Rows, k, func(r Row, k key) int {
		return cmp.Or(cmp.Compare(r.Persona, k.persona), cmp.Compare(r.Provider, k.provider), cmp.Compare(r.Model, k.model))
	})
}

// clone copies a page, so that one may be read while the other grows.
func (p Page) clone() Page {
	p.Rows = slices.Clone(p.Rows)
	for i := range p.Rows {
		p.Rows[i].Costs = maps.Clone(p.Rows[i].Costs)
	}
	return p
}

func cut(s string) string {
	n := 0
	for i := range s {
		if n++; n > maxName {
			return s[:i]
		}
	}
	return s
}

// Span is the length of pages.
type Span string

// The spans.
const (
	Hour Span = "hour"
	Day  Span = "day"
)

func (s Span) length() int64 {
	if s == Hour {
		return 3600
	}
	return 86400
}

func (s Span) most() int {
	if s == Hour {
		return Hours
	}
	return Days
}

// start is the page that a moment is on.
func (s Span) start(at time.Time) int64 {
	n := at.Unix()
	if into := n % s.length(); into >= 0 {
		return n - into
	}
	return n - n%s.length() - s.length()
}

// Address names a page.
type Address struct {
	Span  Span
	Start int64
}

// Book holds the pages of a bot. Its methods may not be called concurrently.
type Book struct{ pages map[Address]*Page }

// New makes an empty book.
func New() *Book { return &Book{pages: map[Address]*Page{}} }

// Restore puts a page back that was stored; on one that is there already it is summed up.
func (b *Book) Restore(a Address, p Page) {
	for _, r := range p.Rows {
		b.page(a).Add(r)
	}
}

func (b *Book) page(a Address) *Page {
	p := b.pages[a]
	if p == nil {
		p = &Page{Start: a.Start}
		b.pages[a] = p
	}
	return p
}

// Add writes down what a call took, and gives the pages that changed, and those that are too old to be kept.
func (b *Book) Add(at time.Time, r Row) (changed, gone []Address) {
	for _, span := range []Span{Hour, Day} {
		a := Address{span, span.start(at)}
		b.page(a).Add(r)
		changed = append(changed, a)
		oldest := a.Start - int64(span.most()-1)*span.length()
		for old := range b.pages {
			if old.Span == span && old.Start < oldest {
				delete(b.pages, old)
				gone = append(gone, old)
			}
		}
	}
	return changed, gone
}

// Page copies a page; false if it is not there.
func (b *Book) Page(a Address) (Page, bool) {
	p := b.pages[a]
	if p == nil {
		return Page{}, false
	}
	return p.clone(), true
}

// Report is a book as it is read.
type Report struct {
	// Agent and Namespace of the bot.
	Agent     string `json:"agent"`
	Namespace string `json:"namespace,omitempty"`
	// Hours and Days, the oldest first. The days hold what the hours hold, and more.
	Hours []Page `json:"hours"`
	Days  []Page `json:"days"`
}

// Report copies all pages.
func (b *Book) Report() Report {
	var out Report
	for a, p := range b.pages {
		if a.Span == Hour {
			out.Hours = append(out.Hours, p.clone())
		} else {
			out.Days = append(out.Days, p.clone())
		}
	}
	byStart := func(a, b Page) int { return cmp.Compare(a.Start, b.Start) }
	slices.SortFunc(out.Hours, byStart)
	slices.SortFunc(out.Days, byStart)
	return out
}
