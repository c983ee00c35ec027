// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package catalog is the list of plugin modules that a runtime image ships, as data: names, services, config schemas,
// permissions. It lets the operator and the command-line tools compose and check a bot without having any plugin's code.
//
// The catalog belongs to the image. catalog.json in this package is generated from the shipped modules by
// `aalis catalog -o json`; [Default] returns it. A kernel reports the [Catalog.Hash] of what it really ships, so that a
// mismatch can be told.
//
// The package is pure: standard library and runtime/schema only, no I/O, no state.
package catalog
