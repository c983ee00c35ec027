// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tokenizer

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/aalis-dev/aalis-operator/runtime/contract/tokens"
)

// Spawn starts a function in a goroutine that its owner waits for, such as kernel.Context.Go.
type Spawn func(label string, fn func(ctx context.Context))

// Pool has a counter for each encoding. Its methods may be called concurrently.
type Pool struct {
	counters map[encoding]*counter
}

// NewPool makes the counters of one owner. failed is told, at most once for each encoding, why a table cannot be read.
func NewPool(spawn Spawn, failed func(error)) *Pool {
	p := &Pool{counters: make(map[encoding]*counter, len(tables))}
	for enc := range tables {
		p.counters[enc] = &counter{encoding: enc, spawn: spawn, failed: failed}
	}
	return p
}

// Counter implements tokens.Source: it knows the models of OpenAI by their names, with or without a vendor before a slash.
func (p *Pool) Counter(modelID string) (tokens.Counter, bool) {
	enc, ok := encodingOf(modelID)
	if !ok {
		return nil, false
	}
	return p.counters[enc], true
}

// families are the beginnings of model names by encoding; the first that fits counts.
var families = []struct {
	prefix string
	encoding
}{
	{"gpt-4o", o200k}, {"gpt-4.1", o200k}, {"gpt-4.5", o200k}, {"chatgpt-4o", o200k}, {"gpt-5", o200k}, {"gpt-oss", o200k},
	{"o1", o200k}, {"o3", o200k}, {"o4-mini", o200k},
	{"gpt-4", cl100k}, {"gpt-3.5-turbo", cl100k}, {"gpt-35-turbo", cl100k}, {"text-embedding-3", cl100k},
	{"text-embedding-ada-002", cl100k},
}

func encodingOf(modelID string) (encoding, bool) {
	name := strings.ToLower(modelID[strings.LastIndexByte(modelID, '/')+1:])
	for _, f := range families {
		rest, ok := strings.CutPrefix(name, f.prefix)
		if ok && (rest == "" || strings.ContainsRune("-.:@", rune(rest[0]))) {
			return f.encoding, true
		}
	}
	return "", false
}

// counter counts in one encoding, or estimates while its table is not there.
type counter struct {
	encoding encoding
	spawn    Spawn
	failed   func(error)
	once     sync.Once
	table    atomic.Pointer[table]
}

// Exact implements tokens.Counter.
func (c *counter) Exact() bool { return c.table.Load() != nil }

// Count implements tokens.Counter.
func (c *counter) Count(text string) int {
	if t := c.table.Load(); t != nil {
		return t.count(text)
	}
	c.once.Do(func() { c.spawn("token table", c.load) })
	return tokens.Estimate.Count(text)
}

func (c *counter) load(context.Context) {
	t, err := tables[c.encoding]()
	if err != nil {
		c.failed(err)
		return
	}
	c.table.Store(t)
}

var (
	_ tokens.Source  = (*Pool)(nil)
	_ tokens.Counter = (*counter)(nil)
)
