// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kernel

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"
)

// PanicError is what a panic in plugin code becomes.
type PanicError struct {
	// Value is what was passed to panic.
	Value any
	// Stack is the goroutine's stack at that moment.
	Stack []byte
}

// Error names the value without the stack, which belongs in the log.
func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v", e.Value) }

// Unwrap returns the value if it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

func newPanicError(value any) *PanicError { return &PanicError{Value: value, Stack: debug.Stack()} }

// errExited is reported for plugin code that ended its goroutine instead of returning.
var errExited = errors.New("the goroutine was ended by runtime.Goexit")

// errTimeout is the cause of bounded calls that were given up.
var errTimeout = errors.New("gave up waiting")

// safely calls fn and turns a panic into an error.
func safely(fn func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = newPanicError(r)
		}
	}()
	return fn()
}

// background runs fn in a new goroutine and delivers its result once, also if fn panics or ends the goroutine.
func background(fn func() error) <-chan error {
	done := make(chan error, 1)
	go func() {
		err := errExited
		defer func() { done <- err }()
		err = safely(fn)
	}()
	return done
}

// bounded runs fn with a context that ends after limit (0 = never) and gives up waiting then. fn may go on running.
func bounded(limit time.Duration, fn func(ctx context.Context) error) error {
	ctx, cancel := limitContext(limit)
	defer cancel()
	done := background(func() error { return fn(ctx) })
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	select { // both may be ready: a result that is there wins
	case err := <-done:
		return err
	default:
		return errTimeout
	}
}

func limitContext(limit time.Duration) (context.Context, context.CancelFunc) {
	return limitedContext(context.Background(), limit)
}

// limitedContext derives a context that ends after limit, or only with its parent for a limit of 0.
func limitedContext(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	if limit <= 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, limit)
}
