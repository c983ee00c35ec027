// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kerneltest

import (
	"testing"

	"go.uber.org/goleak"
)

// NoLeaks fails the test if it ends with goroutines that were not there when NoLeaks was called. Call it first, so that
// it looks after all other cleanups; a test that calls it must not run in parallel with others.
func NoLeaks(tb testing.TB) {
	tb.Helper()
	before := goleak.IgnoreCurrent()
	tb.Cleanup(func() {
		tb.Helper()
		if err := goleak.Find(before); err != nil {
			tb.Errorf("goroutines are left behind: %v", err)
		}
	})
}
