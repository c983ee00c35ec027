// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package access

import "sync/atomic"

// Slot holds the guard of a registry. The zero value holds none. Its methods may be called concurrently.
type Slot struct{ held atomic.Pointer[Guard] }

// Set installs a guard, or none if it is nil, and tells whether it took the place of another. off takes it out unless
// another one was installed since.
func (s *Slot) Set(g Guard) (off func(), replaced bool) {
	if g == nil {
		s.held.Store(nil)
		return func() {}, false
	}
	before := s.held.Swap(&g)
	return func() { s.held.CompareAndSwap(&g, nil) }, before != nil
}

// Guard gives the one that is installed, or nil.
func (s *Slot) Guard() Guard {
	if g := s.held.Load(); g != nil {
		return *g
	}
	return nil
}
