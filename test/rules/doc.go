// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rules holds the conventions of this repository as functions from files to findings, and the tests that apply
// them to the whole tree. CONTRIBUTING.md says what each convention is for.
//
// Only its own tests call it. It reads files and never runs or changes anything; what golangci-lint already checks is
// not checked again, except the import table, which the linter knows only in part.
package rules
