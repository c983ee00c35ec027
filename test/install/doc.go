// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package install tests the ways in which the operator is installed: what the Helm chart renders with its switches, that
// kustomize builds the same, which rights the operator and people get, and what happens to bots at an upgrade. It has
// only tests, needs no cluster, and builds the pinned Helm and kustomize the first time.
package install
