// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kernel

import (
	"context"
	"sync"
)

// Own has a withdrawal happen once: when off is called or when the context is torn down, whichever comes first. A
// registry withdraws so what it holds on behalf of the context. The label names it in the log; OnDispose says what a
// withdrawal must not do.
func (c *Context) Own(label string, withdraw func()) (off func()) {
	once := sync.OnceFunc(withdraw)
	forget := c.OnDispose(label, func(context.Context) error {
		once()
		return nil
	})
	return func() {
		once()
		forget()
	}
}
