// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tools

import (
	"context"
	"sync"

	"github.com/aalis-dev/aalis-operator/runtime/kernel"
)

// owned has a withdrawal happen once: when the returned function is called or when the context is torn down.
func owned(k *kernel.Context, label string, withdraw func()) (off func()) {
	once := sync.OnceFunc(withdraw)
	forget := k.OnDispose(label, func(context.Context) error {
		once()
		return nil
	})
	return func() {
		once()
		forget()
	}
}
