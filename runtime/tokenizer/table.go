// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tokenizer

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"

	"github.com/pkoukk/tiktoken-go-loader/assets"
)

// encoding is the name of an encoding, and of the file with its table.
type encoding string

const (
	o200k  encoding = "o200k_base"
	cl100k encoding = "cl100k_base"
)

// tables reads each table once, when it is first asked for. A table never changes afterwards.
var tables = map[encoding]func() (*table, error){
	o200k:  sync.OnceValues(func() (*table, error) { return readTable(o200k, splitO200k) }),
	cl100k: sync.OnceValues(func() (*table, error) { return readTable(cl100k, splitCL100k) }),
}

// splitter gives the end of the piece of a text that begins at a place. Pieces are merged each for itself.
type splitter func(classes *classes, text string, at int) int

// table is an encoding: its tokens by rank and a way to find the rank of a token. The tokens stand one behind the other in
// one string, and a hash table holds their ranks plus one, so that the whole is a few large pieces of memory without
// pointers.
type table struct {
	split   splitter
	classes *classes
	bytes   string
	starts  []uint32 // of each rank in bytes, and the end
	slots   []uint32 // rank + 1 and above it a part of the token's hash, or 0
	pairs   []uint32 // the rank of each two bytes, most of what merging asks for
	mask    uint32
	longest int // token, in bytes
}

// noRank is what is no token. It is over every rank.
const noRank = 1<<32 - 1

func readTable(name encoding, split splitter) (*table, error) {
	raw, err := assets.Assets.ReadFile(string(name) + ".tiktoken")
	if err != nil {
		return nil, fmt.Errorf("reading the token table %s: %w", name, err)
	}
	t := &table{split: split, classes: allClasses()}
	if err := t.fill(raw); err != nil {
		return nil, fmt.Errorf("reading the token table %s: %w", name, err)
	}
	return t, nil
}

// fill reads lines of a token in base64 and its rank. The ranks must be 0, 1, 2, ... in order.
func (t *table) fill(raw []byte) error {
	count := bytes.Count(raw, []byte("\n")) + 1
	size := 1
	for size < 2*count {
		size *= 2
	}
	t.slots, t.mask = make([]uint32, size), uint32(size-1) //nolint:gosec // a table has some 200,000 tokens
	t.starts = make([]uint32, 0, count+1)
	all := make([]byte, 0, len(raw)/2)
	for line := range bytes.Lines(raw) {
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		token, rank, ok := bytes.Cut(line, []byte(" "))
		if n, err := strconv.Atoi(string(rank)); !ok || err != nil || n != len(t.starts) {
			return errors.New("ranks must follow each other from 0")
		}
		t.starts = append(t.starts, uint32(len(all))) //nolint:gosec // see above
		before := len(all)
		var err error
		if all, err = base64.StdEncoding.AppendDecode(all, token); err != nil {
			return fmt.Errorf("token %d: %w", len(t.starts)-1, err)
		}
		t.longest = max(t.longest, len(all)-before)
	}
	t.starts = append(t.starts, uint32(len(all))) //nolint:gosec // see above
	t.bytes = string(all)
	if len(t.starts) > rankMask {
		return fmt.Errorf("there may be at most %d tokens", rankMask-1)
	}
	t.pairs = slices.Repeat([]uint32{noRank}, 1<<16)
	for rank := range uint32(len(t.starts) - 1) { //nolint:gosec // see above
		token := t.token(rank)
		if len(token) == 2 {
			t.pairs[pairOf(token)] = rank
		}
		h := hash(token)
		i := uint32(h) & t.mask //nolint:gosec // the lower half is meant
		for t.slots[i] != 0 {
			i = (i + 1) & t.mask
		}
		t.slots[i] = mark(h) | (rank + 1)
	}
	return nil
}

// rankMask is where a slot holds a rank.
const rankMask = 1<<18 - 1

// mark is the part of a hash that stands in a slot, so that nearly everything that is no token is found out without looking
// at one. It is none of those that choose the slot.
func mark(h uint64) uint32 { return uint32(h>>32) &^ rankMask } //nolint:gosec // the upper half is meant

func pairOf(token string) int { return int(token[0])<<8 | int(token[1]) }

func (t *table) token(rank uint32) string { return t.bytes[t.starts[rank]:t.starts[rank+1]] }

// rank finds a token, or gives noRank.
func (t *table) rank(token string) uint32 {
	if len(token) > t.longest {
		return noRank
	}
	if len(token) == 2 {
		return t.pairs[pairOf(token)]
	}
	h := hash(token)
	for i := uint32(h) & t.mask; ; i = (i + 1) & t.mask { //nolint:gosec // the lower half is meant
		slot := t.slots[i]
		if slot == 0 {
			return noRank
		}
		if slot&^rankMask != mark(h) {
			continue
		}
		if rank := slot&rankMask - 1; t.token(rank) == token {
			return rank
		}
	}
}

// hash mixes a short text, eight bytes at a time.
func hash(s string) uint64 {
	const prime = 0x9E3779B97F4A7C15
	h := uint64(len(s)) * prime
	for len(s) >= 8 {
		h = (h ^ word(s)) * prime
		h ^= h >> 29
		s = s[8:]
	}
	var rest uint64
	switch {
	case len(s) >= 4:
		rest = half(s) | half(s[len(s)-4:])<<32
	case len(s) > 0:
		rest = uint64(s[0]) | uint64(s[len(s)/2])<<8 | uint64(s[len(s)-1])<<16
	}
	h = (h ^ rest) * prime
	return h ^ h>>32
}

func word(s string) uint64 { return half(s) | half(s[4:])<<32 }

func half(s string) uint64 {
	_ = s[3]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24
}
