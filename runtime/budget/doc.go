// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package budget is the arithmetic of limits on what a bot spends: windows of time, what was used in them, what calls that go
// on may still take, and which steps that calls for. It is pure: no clock, no store, no lock. The operator checks declared
// budgets with it, the plugin of the same name keeps them with it.
package budget
