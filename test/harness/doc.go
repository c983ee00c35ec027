// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package harness drives a real cluster for the demo and for the end-to-end tests: it runs kubectl, waits for bots,
// talks to them as a person would, and measures how long a change takes to be live. It asserts nothing itself.
package harness
