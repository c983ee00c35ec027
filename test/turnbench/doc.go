// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package turnbench measures the runtime against the fake model server over loopback, next to a bare client that makes the
// same requests in the same run. Whoever wants the figures runs it by hand:
//
//	AALIS_BENCH=1 go test -v ./test/turnbench
//
// Without that variable only a few paced streams run, to see that none fails. It holds no code that anything else may import.
package turnbench
