// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package toolsearch

import (
	"slices"

	"github.com/aalis-dev/aalis-operator/runtime/bounded"
	"github.com/aalis-dev/aalis-operator/runtime/contract/memory"
)

const (
	// maxSessions bounds of how many sessions it is remembered what they found.
	maxSessions = 500
	// maxFound bounds what a session remembers where the config sets no bound.
	maxFound = 10_000
)

// discoveries remembers which tools each session has found, those found last at the end.
type discoveries struct {
	bySession *bounded.Map[string, []string]
}

func newDiscoveries() *discoveries {
	return &discoveries{bySession: bounded.New[string, []string](maxSessions, 0, nil)}
}

// absorb adds what a request shows to have been found, and gives all that the session keeps.
func (d *discoveries) absorb(session string, names []string, keep int) []string {
	return d.bySession.Update(session, func(present []string, _ bool) []string {
		return merged(present, names, keep)
	})
}

// look is absorb that remembers nothing.
func (d *discoveries) look(session string, names []string, keep int) []string {
	present, _ := d.bySession.Get(session)
	return merged(present, names, keep)
}

// forget drops what a clearing of the memory covers, whatever its types.
func (d *discoveries) forget(c *memory.ClearData) {
	if c.Scope == memory.ClearAllScope {
		d.bySession.Clear()
		return
	}
	d.bySession.Delete(c.SessionID)
}

// merged moves names to the end of a list in their order and keeps the last of it. It changes neither.
func merged(present, names []string, keep int) []string {
	if keep <= 0 || keep > maxFound {
		keep = maxFound
	}
	moved := make(map[string]bool, len(names))
	for _, n := range names {
		moved[n] = true
	}
	out := make([]string, 0, len(present)+len(names))
	for _, n := range present {
		if !moved[n] {
			out = append(out, n)
		}
	}
	out = append(out, latest(names)...)
	return slices.Clone(out[max(0, len(out)-keep):])
}

// latest keeps the last of each name.
func latest(names []string) []string {
	seen := make(map[string]bool, len(names))
	var out []string
	for _, n := range slices.Backward(names) {
		if !seen[n] {
			seen[n] = true
			out = append(out, n)
		}
	}
	slices.Reverse(out)
	return out
}
