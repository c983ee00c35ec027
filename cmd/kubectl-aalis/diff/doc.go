// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package diff says what applying declared objects would do to bots: which ones change, whether each takes the change over
// while it runs or needs a new pod, which of its plugins are touched, and how the texts of its personas and its config
// differ. It composes and plans with the very code of the operator.
//
// It is pure: it never talks to a cluster and never sees the value of a Secret.
package diff
