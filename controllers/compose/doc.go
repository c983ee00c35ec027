// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package compose makes one kernel config from an AgentInstance, the objects it refers to, the objects that select it and
// the catalog of shipped modules. It is a pure function: the same objects, in any order, give the same bytes.
//
// The controller, `kubectl aalis render` and `diff`, and `aalis run` call it, so that the YAML of a cluster means the same
// on a laptop and a mistake reads the same in a condition and in a terminal. What admission cannot tell, it tells; and it
// does not rely on admission, since local manifests have seen none.
//
// It never talks to a cluster, reads no clock and never modifies its input.
package compose
