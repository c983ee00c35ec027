// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package fakellm

import (
	"cmp"
	"encoding/json"
	"slices"
	"sync"
	"time"
)

// The APIs that the ledger and faults tell apart.
const (
	apiChat       = "chat"
	apiEmbeddings = "embeddings"
	apiModels     = "models"
)

// Outcome says how a request ended.
type Outcome string

// The outcomes of a request.
const (
	OutcomeRunning   Outcome = "running"   // not settled yet
	OutcomeComplete  Outcome = "complete"  // the whole answer was handed to the connection
	OutcomeError     Outcome = "error"     // an error object was sent instead of an answer
	OutcomeCanceled  Outcome = "canceled"  // the client went away, or did not read
	OutcomeReset     Outcome = "reset"     // cut by a reset fault
	OutcomeStalled   Outcome = "stalled"   // cut by a stall or hang fault
	OutcomeTruncated Outcome = "truncated" // cut by a truncate or error-frame fault
)

// Entry is one request in the ledger.
type Entry struct {
	// ID grows by one a request.
	ID uint64 `json:"id"`
	// Time is when the request arrived.
	Time time.Time `json:"time"`
	// DurationMS is how long the handler ran, in milliseconds; 0 until it ended.
	DurationMS int64 `json:"durationMs"`
	// API is "chat", "embeddings" or "models".
	API string `json:"api"`
	// Path is the request path as sent.
	Path string `json:"path"`
	// Model is the model id as sent; empty when the body was not understood.
	Model string `json:"model,omitempty"`
	// KeyHash is HashKey of the bearer token.
	KeyHash string `json:"keyHash"`
	// Stream is whether the request asked for a stream.
	Stream bool `json:"stream"`
	// Status is the HTTP status; 0 until there is one.
	Status int `json:"status"`
	// Outcome says how the request ended.
	Outcome Outcome `json:"outcome"`
	// Error is the error object's message when Outcome is "error".
	Error string `json:"error,omitempty"`
	// Faults lists the faults that hit the request: the kind, after the id of a fault of the admin API.
	Faults []string `json:"faults,omitempty"`
	// Chunks counts the text, reasoning and tool call frames streamed.
	Chunks int `json:"chunks"`
	// CachedMessages is how many leading elements of the prompt (the tools count as one) an earlier prompt had as well.
	CachedMessages int `json:"cachedMessages"`
	// Billed is what the request was billed.
	Billed Usage `json:"billed"`
	// Body is the request body as sent.
	Body Body `json:"body,omitempty"`
}

// Body is a request body. It is written as the JSON it holds, or as a string when it is not valid JSON.
type Body []byte

// MarshalJSON implements json.Marshaler.
func (b Body) MarshalJSON() ([]byte, error) {
	if json.Valid(b) {
		return b, nil
	}
	return json.Marshal(string(b))
}

// Totals sums what one model billed one key.
type Totals struct {
	Model   string `json:"model"`
	KeyHash string `json:"keyHash"`
	// Requests counts accepted requests: authorised, well formed and of a known model.
	Requests int `json:"requests"`
	// Errors counts those of them that ended with an error object.
	Errors int `json:"errors"`
	Usage
}

type totalsKey struct{ model, keyHash string }

// otherTotals collects what comes after maxUsagePairs different pairs of model and key.
const otherTotals = "(other)"

// ledger remembers the last requests and sums what was billed.
type ledger struct {
	maxEntries, maxBytes int

	mu      sync.Mutex
	next    uint64
	bytes   int
	entries []*Entry
	totals  map[totalsKey]*Totals
}

func newLedger(maxEntries, maxBytes int) *ledger {
	return &ledger{maxEntries: maxEntries, maxBytes: maxBytes, totals: map[totalsKey]*Totals{}}
}

// add appends e, gives it its id and forgets the oldest entry when there are too many.
func (l *ledger) add(e *Entry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.next++
	e.ID = l.next
	l.entries = append(l.entries, e)
	l.trim()
}

// setBody stores the body of e and forgets the oldest entries when the bodies are too long together.
func (l *ledger) setBody(e *Entry, body []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	// An entry that was reset or forgotten meanwhile no longer counts.
	if _, held := slices.BinarySearchFunc(l.entries, e.ID, compareID); held {
		e.Body = body
		l.bytes += len(body)
		l.trim()
	}
}

func compareID(e *Entry, id uint64) int { return cmp.Compare(e.ID, id) }

func (l *ledger) trim() {
	for len(l.entries) > l.maxEntries || l.bytes > l.maxBytes && len(l.entries) > 0 {
		l.bytes -= len(l.entries[0].Body)
		l.entries[0] = nil
		l.entries = l.entries[1:]
	}
}

// update changes e under the lock.
func (l *ledger) update(e *Entry, change func(*Entry)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	change(e)
}

// settlement is how a request ended.
type settlement struct {
	outcome  Outcome
	bill     Usage
	chunks   int
	accepted bool // authorised, well formed and of a known model
}

// settle ends e once: it sets what end says and, for an accepted request, adds to the totals.
func (l *ledger) settle(e *Entry, end settlement) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e.Outcome != OutcomeRunning {
		return
	}
	e.Outcome, e.Billed, e.Chunks = end.outcome, end.bill, end.chunks
	if !end.accepted {
		return
	}
	t := l.total(totalsKey{model: e.Model, keyHash: e.KeyHash})
	t.Requests++
	if end.outcome == OutcomeError {
		t.Errors++
	}
	t.add(end.bill)
}

func (u *Usage) add(v Usage) {
	u.PromptTokens += v.PromptTokens
	u.CachedTokens += v.CachedTokens
	u.CompletionTokens += v.CompletionTokens
	u.ReasoningTokens += v.ReasoningTokens
}

func (l *ledger) total(key totalsKey) *Totals {
	t, ok := l.totals[key]
	if !ok && len(l.totals) >= maxUsagePairs {
		key = totalsKey{model: otherTotals, keyHash: otherTotals}
		t, ok = l.totals[key]
	}
	if !ok {
		t = &Totals{Model: key.model, KeyHash: key.keyHash}
		l.totals[key] = t
	}
	return t
}

// list returns copies of the entries that keep accepts, oldest first.
func (l *ledger) list(keep func(*Entry) bool) []Entry {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := []Entry{}
	for _, e := range l.entries {
		if keep(e) {
			out = append(out, *e)
		}
	}
	return out
}

// sums returns the totals sorted by model and key.
func (l *ledger) sums() []Totals {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := make([]Totals, 0, len(l.totals))
	for _, t := range l.totals {
		out = append(out, *t)
	}
	slices.SortFunc(out, func(a, b Totals) int {
		return cmp.Or(cmp.Compare(a.Model, b.Model), cmp.Compare(a.KeyHash, b.KeyHash))
	})
	return out
}

// reset forgets every entry and total. Ids go on growing.
func (l *ledger) reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entries, l.bytes = nil, 0
	clear(l.totals)
}
