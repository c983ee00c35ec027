// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package turnbench measures the runtime against the fake model server over loopback, next to a bare client that makes the
// same requests in the same run. Whoever wants the figures runs it by hand:
//
//	AALIS_BENCH=1 go test -run TestBenchTable -v ./test/turnbench
//
// Its tests do nothing without that variable. It holds no code that anything else may import.
package turnbench
