// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package kerneltest helps to test what runs on the kernel: a harness that makes an App and stops it at the end of the
// test, a clock that moves when told, a log that can be searched, leak checks, and a conformance run that every plugin
// folder calls on its module ([Run]).
//
// Only tests import it. It never waits by sleeping and starts nothing that outlives the test.
package kerneltest
