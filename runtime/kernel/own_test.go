// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kernel_test

import (
	"testing"

	"github.com/aalis-dev/aalis-operator/runtime/kerneltest"
)

func TestOwnWithdrawsOnce(t *testing.T) {
	for name, early := range map[string]bool{"when told to": true, "at teardown": false} {
		t.Run(name, func(t *testing.T) {
			k := kerneltest.New(t).Root()
			n := 0
			off := k.Own("x", func() { n++ })
			if early {
				off()
				off()
				if n != 1 {
					t.Errorf("withdrew %d times by itself", n)
				}
			}
			if err := k.Dispose(t.Context()); err != nil {
				t.Fatal(err)
			}
			off()
			if n != 1 {
				t.Errorf("withdrew %d times, want once", n)
			}
		})
	}
}
