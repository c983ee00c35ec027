// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"hash/maphash"
	"sync"

	"github.com/aalis-dev/aalis-operator/runtime/contract/tokens"
)

// maxTextCounts bounds each of the two generations of a textCounts; an entry takes about 50 bytes.
const maxTextCounts = 16384

// textCounts remembers between turns what exact counters have counted, because they are slow and the same history comes
// back with every turn. It keeps no text, only its hash and length, and forgets what was not asked for during a whole
// generation.
type textCounts struct {
	seed maphash.Seed

	mu           sync.Mutex
	young, older map[textKey]int
}

// textKey stands for a text of one counter.
type textKey struct {
	counter tokens.Counter
	exact   bool
	hash    uint64
	length  int
}

func newTextCounts() *textCounts {
	return &textCounts{seed: maphash.MakeSeed(), young: map[textKey]int{}}
}

func (t *textCounts) count(counter tokens.Counter, s string) int {
	key := textKey{counter, counter.Exact(), maphash.String(t.seed, s), len(s)}
	if n, ok := t.get(key); ok {
		return n
	}
	n := counter.Count(s)
	t.put(key, n)
	return n
}

func (t *textCounts) get(key textKey) (int, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if n, ok := t.young[key]; ok {
		return n, true
	}
	n, ok := t.older[key]
	if ok {
		t.add(key, n)
	}
	return n, ok
}

func (t *textCounts) put(key textKey, n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.add(key, n)
}

func (t *textCounts) add(key textKey, n int) {
	if len(t.young) >= maxTextCounts {
		t.older, t.young = t.young, map[textKey]int{}
	}
	t.young[key] = n
}
