// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package fakellm

import (
	"encoding/binary"
	"hash/maphash"
	"sync"
)

// prefixCache models a provider's prompt cache: it remembers every prefix, in whole elements, of the prompts it saw.
// Prefixes are remembered as chained 64-bit hashes, so memory is bounded by the entry count whatever the prompts' size.
type prefixCache struct {
	seed maphash.Seed

	mu   sync.Mutex
	seen *lru[uint64, struct{}]
}

func newPrefixCache(limit int) *prefixCache {
	return &prefixCache{seed: maphash.MakeSeed(), seen: newLRU[uint64, struct{}](limit)}
}

// observe returns how many leading elements of the prompt equal those of an earlier prompt of the same scope, then
// remembers this prompt.
func (c *prefixCache) observe(scope string, elements [][]byte) int {
	chain := c.chain(scope, elements)
	c.mu.Lock()
	defer c.mu.Unlock()
	common := 0
	for common < len(chain) && c.seen.has(chain[common]) {
		common++
	}
	// Longest first, so that the shortest prefix, which all others need, is the last to be forgotten.
	for i := len(chain) - 1; i >= 0; i-- {
		c.seen.put(chain[i], struct{}{})
	}
	return common
}

// chain returns for each i the hash of scope and elements[0..i].
func (c *prefixCache) chain(scope string, elements [][]byte) []uint64 {
	out := make([]uint64, len(elements))
	var h maphash.Hash
	h.SetSeed(c.seed)
	_, _ = h.WriteString(scope)
	prev := h.Sum64()
	var link [16]byte
	for i, e := range elements {
		binary.LittleEndian.PutUint64(link[:8], prev)
		binary.LittleEndian.PutUint64(link[8:], uint64(len(e)))
		h.Reset()
		_, _ = h.Write(link[:])
		_, _ = h.Write(e)
		prev = h.Sum64()
		out[i] = prev
	}
	return out
}

func (c *prefixCache) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen.clear()
}
