// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package report is what a host says of its kernel: which revision runs, which was refused, what each plugin does. It is
// data only; package host fills it and whoever acknowledges, such as package kube, sends it on.
package report

import (
	"time"
	"unicode/utf16"
)

// Snapshot is the state of one kernel at one moment. Two Snapshots of an unchanged kernel are equal.
type Snapshot struct {
	// Applied is the revision that runs; nil while none does.
	Applied *Applied
	// Rejected is the newest revision that was refused, if it is newer than the one that runs.
	Rejected *Rejected
	// Model is the entry id of the model that answers by default.
	Model string
	// ModelMessage says why there is none.
	ModelMessage string
	// Plugins sorted by ID.
	Plugins []Plugin
	// Recompute is the last run of the state machine that changed something; nil before the first.
	Recompute *Recompute
	// Budgets sorted by Name.
	Budgets []Budget
}

// Budget is how a budget stands, roughly: a report is not made anew for every call of a model.
type Budget struct {
	Name, Scope, Unit string
	// Limit as people write it, in Unit.
	Limit string
	// Percent that is used, rounded down to tens.
	Percent int
	// Exhausted tells that calls are refused until Until.
	Exhausted bool
	Until     time.Time
}

// Applied is a revision that runs.
type Applied struct {
	Revision string
	Sequence int64
	// At is when it had been applied.
	At time.Time
}

// Rejected is a revision that was refused.
type Rejected struct {
	Revision string
	Sequence int64
	// Message says why, in whole sentences or lines.
	Message string
}

// Plugin is what one plugin does.
type Plugin struct {
	ID    string
	State string
	// Message says what a pending plugin waits for, or why one is in error.
	Message string
}

// Recompute is one run of the state machine.
type Recompute struct {
	Reason  string
	Service string
	Rounds  int
	At      time.Time
}

// Cut shortens a text to at most limit characters, counted in UTF-16 code units, and never inside a character. A text
// that was cut ends with an ellipsis, which counts.
func Cut(text string, limit int) string {
	units, end := 0, 0
	for i, r := range text {
		n := max(1, utf16.RuneLen(r))
		if units+n > limit {
			return text[:end] + ellipsis(limit)
		}
		units += n
		if units <= limit-1 {
			end = i + len(string(r))
		}
	}
	return text
}

func ellipsis(limit int) string {
	if limit < 1 {
		return ""
	}
	return "…"
}
