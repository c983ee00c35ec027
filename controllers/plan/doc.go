// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package plan says what a composed config will do before anybody runs it: which plugins will be active and what the
// others wait for ([Predict], with the very planner of the kernel), and whether going from one config to another is a
// reload in the running kernel or needs a new pod ([Diff]).
//
// The controller and the command-line tools call it. It is pure: it never talks to a cluster, reads no clock and never
// modifies its input.
package plan
