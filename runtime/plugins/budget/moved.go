// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"time"

	"github.com/aalis-dev/aalis-operator/runtime/budget"
	contract "github.com/aalis-dev/aalis-operator/runtime/contract/budget"
)

// shown is what was told of a limit in a window.
type shown struct {
	until     time.Time
	tenths    int64 // of the limit, by whoever used most
	exhausted bool
}

// moved notes that an account of a limit has changed, and tells whether that is worth telling: what reads it writes to the API
// server. It is called with the lock held.
func (b *keeper) moved(limit budget.Limit, key budget.Key, now time.Time) bool {
	s := b.ledger.Look(limit, key.Subject, now)
	was, tenths := b.shown[limit.Name], min(10, s.Percent()/10)
	if !was.until.Equal(s.End) {
		was = shown{until: s.End, tenths: -1}
	}
	if tenths <= was.tenths {
		return false
	}
	was.tenths = tenths
	b.shown[limit.Name] = was
	return true
}

// exhaust notes that a limit has refused a call, and tells whether that is new.
func (b *keeper) exhaust(r contract.RefusedError) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	was := b.shown[r.Budget]
	if was.exhausted && was.until.Equal(r.Until) {
		return false
	}
	if !was.until.Equal(r.Until) {
		was = shown{until: r.Until, tenths: -1}
	}
	was.exhausted = true
	b.shown[r.Budget] = was
	return true
}
