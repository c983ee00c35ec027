// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package kernel is the core of a bot: services, events, hooks, contributions, settings and the life cycle of plugins.
// Everything else a bot does is a plugin.
//
// A plugin is a [Module] whose Apply receives a [Context]. Through typed keys that contract packages declare it
//
//   - provides and looks up services ([Service]),
//   - listens to and emits events ([Event]): every listener is isolated from the others,
//   - registers in and runs hooks ([Hook]): an onion whose order is the order of registration,
//   - contributes to and collects from points ([Point]): the order is a pure function of the keys,
//   - reads and watches top-level settings ([Setting]).
//
// Whatever a plugin registers belongs to its Context and goes when that is torn down, as do its goroutines.
// The [Manager] starts a plugin when every service it requires is there and retires it when one goes; what to retire and
// what to start, in which order, is decided by package recompute alone. [App] ties the parts together, starts, stops and
// applies new configs in place.
//
// The host (package host) makes an App and gives it a config; plugins use contexts and keys; tests use package kerneltest.
//
// The package does no I/O, reads no environment, no clock but the one it is given, and knows nothing of files, clusters,
// chats or models. It never holds a lock while plugin code runs, and a panic in plugin code never ends the process.
package kernel
