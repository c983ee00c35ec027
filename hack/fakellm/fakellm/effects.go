// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package fakellm

import (
	"hash/maphash"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// effects is what the faults that hit one request add up to. A later fault replaces the effect of an earlier one of the
// same sort; of those that replace the answer the first counts.
type effects struct {
	names       []string // for the ledger: the fault's id if it has one, and its kind
	headerDelay time.Duration
	chunkDelay  time.Duration
	byteDelay   time.Duration
	hang        bool
	failure     *apiError
	cut         Kind // reset, stall, truncate, error-frame or ""
	cutAfter    int
	cutError    string
	malformed   bool
	malformedAt int
	noDone      bool
	noUsage     bool
	empty       bool
}

func (e *effects) add(f Fault) {
	name := string(f.Kind)
	if f.ID != "" {
		name = f.ID + ":" + name
	}
	e.names = append(e.names, name)
	switch f.Kind {
	case KindHeaderDelay:
		e.headerDelay = time.Duration(f.Delay)
	case KindChunkDelay:
		e.chunkDelay = time.Duration(f.Delay)
	case KindSlowBody:
		e.byteDelay = time.Duration(f.Delay)
	case KindHang:
		e.hang = true
	case KindReset, KindStall, KindTruncate, KindErrorFrame:
		e.cut, e.cutAfter, e.cutError = f.Kind, deref(f.Chunks), f.Message
	case KindMalformed:
		e.malformed, e.malformedAt = true, deref(f.Chunks)
	case KindNoDone:
		e.noDone = true
	case KindNoUsage:
		e.noUsage = true
	case KindEmpty:
		e.empty = true
	default:
		if e.failure == nil {
			e.failure = f.failure()
		}
	}
}

// errorFrame is the object of an error-frame fault.
func (e *effects) errorFrame() *apiError {
	err := &apiError{status: http.StatusInternalServerError, kind: typeServer, message: e.cutError}
	if err.message == "" {
		err.message = "this answer failed on purpose (fault error-frame)"
	}
	return err
}

// target is what faults are matched against.
type target struct {
	api, model, base, keyHash, text string
}

func (f Fault) matches(t target) bool {
	return (f.API == "*" || f.API == t.api) &&
		(f.Model == "" || f.Model == t.model || f.Model == t.base) &&
		(f.KeyHash == "" || f.KeyHash == t.keyHash) &&
		strings.Contains(t.text, f.Match)
}

// hits reports whether the request that comes after `seen` matching ones is hit.
func (f Fault) hits(seen int) bool {
	return seen >= f.Skip && (f.Count == 0 || seen < f.Skip+f.Count)
}

// FaultState is a fault of the admin API with how often it was met.
type FaultState struct {
	Fault
	// Matched counts the requests that matched, those that were let pass included.
	Matched int `json:"matched"`
	// Hits counts the requests that were hit.
	Hits int `json:"hits"`
}

// faultBook keeps the admin faults and counts the matches of all count-limited faults.
type faultBook struct {
	seed maphash.Seed

	mu       sync.Mutex
	next     int
	faults   []*FaultState
	counters *lru[uint64, int] // of faults in model ids and texts
}

func newFaultBook() *faultBook {
	return &faultBook{seed: maphash.MakeSeed(), counters: newLRU[uint64, int](maxCounters)}
}

// add stores normalised faults and returns them with their ids; it stores none when there would be too many.
func (b *faultBook) add(faults []Fault) ([]Fault, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.faults)+len(faults) > maxFaults {
		return nil, false
	}
	out := make([]Fault, len(faults))
	for i, f := range faults {
		b.next++
		f.ID = "f" + strconv.Itoa(b.next)
		b.faults = append(b.faults, &FaultState{Fault: f})
		out[i] = f
	}
	return out, true
}

func (b *faultBook) list() []FaultState {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := make([]FaultState, len(b.faults))
	for i, f := range b.faults {
		out[i] = *f
	}
	return out
}

// remove deletes one fault and reports whether it was there.
func (b *faultBook) remove(id string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	before := len(b.faults)
	b.faults = slices.DeleteFunc(b.faults, func(f *FaultState) bool { return f.ID == id })
	return len(b.faults) < before
}

// clear deletes every fault and forgets the counters of directives.
func (b *faultBook) clear() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.faults = nil
	b.counters.clear()
}

// effects returns what hits a request: admin faults, then those of its model id, then those of its text.
func (b *faultBook) effects(t target, inModel, inText []Fault) effects {
	var e effects
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, f := range b.faults {
		if !f.matches(t) {
			continue
		}
		f.Matched++
		if f.hits(f.Matched - 1) {
			f.Hits++
			e.add(f.Fault)
		}
	}
	modelTarget := t
	modelTarget.text = "" // faults in a model id count over all texts
	for i, f := range inModel {
		if f.hits(b.seen(modelTarget, "model", i, f)) {
			e.add(f)
		}
	}
	for i, f := range inText {
		if f.hits(b.seen(t, "text", i, f)) {
			e.add(f)
		}
	}
	return e
}

// seen returns how many equal requests met this directive before and counts this one. The lock must be held.
func (b *faultBook) seen(t target, source string, index int, f Fault) int {
	if f.Skip == 0 && f.Count == 0 {
		return 0
	}
	var h maphash.Hash
	h.SetSeed(b.seed)
	for _, s := range []string{t.api, t.model, t.keyHash, source, strconv.Itoa(index), t.text} {
		_, _ = h.WriteString(s)
		_ = h.WriteByte(0)
	}
	key := h.Sum64()
	n, _ := b.counters.get(key)
	b.counters.put(key, n+1)
	return n
}
