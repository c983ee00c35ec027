// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package kernelconfig is the composed config of one bot: what the operator makes from the declared objects
// and what a kernel runs. Both sides, and the command-line tools, share this one type, its bytes and its hash.
//
// The package is pure: it imports nothing but the standard library, does no I/O and reads no clock.
package kernelconfig
