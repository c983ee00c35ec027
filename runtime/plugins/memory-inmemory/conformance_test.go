// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package memoryinmemory

import (
	"testing"

	"github.com/aalis-dev/aalis-operator/runtime/contract/memory"
	"github.com/aalis-dev/aalis-operator/runtime/contract/memory/memorytest"
)

func TestBackend(t *testing.T) {
	memorytest.Run(t, func(t *testing.T) (one, other memory.Backend) {
		t.Helper()
		_, one = start(t, nil)
		_, other = start(t, nil)
		return one, other
	})
}
