// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package check reads Kubernetes manifests and reports everything in them that an API server would refuse or silently
// drop, as far as that can be told without one.
//
// Objects of the built-in groups that this project uses are decoded strictly: an unknown, misspelt or doubled field is
// an error. Custom objects are checked as an API server does it: against the structural schema of their CRD, its
// defaults, list keys and CEL rules. CRDs themselves are validated whole, with the cost estimate of their rules. Kinds
// of the Prometheus operator are looked at only from outside, and an unknown kind is an error.
//
// It is called by the command manifestcheck. It never talks to a cluster and never changes a file. It does not run
// the hand-written validation of built-in kinds, which only an API server has.
package check
