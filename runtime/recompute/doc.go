// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package recompute is the planner of plugin life cycles: a pure function from the plugin entries, the services that are
// available now and the reason of the change to what must be retired (consumers first), what may be activated (providers
// first) and what waits, and for want of what.
//
// The kernel in a pod calls [Plan] once a round and carries it out. The operator, kubectl plugin and local runner call
// [Predict] to say beforehand where such rounds would end. Because both sides run this code, the controller's view of a
// bot and the bot's own behaviour cannot drift apart, and a wait is explained in the same words everywhere.
//
// The package never does I/O, never reads a clock, starts no goroutine, keeps no state and never modifies its arguments.
// Equal input gives equal output: every list follows registration order or the names' order, never map order.
package recompute
