// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// The exit codes of the process.
const (
	// ExitOK: ended as asked.
	ExitOK = 0
	// ExitFailure: something went wrong.
	ExitFailure = 1
	// ExitUsage: the command line or the declaration is wrong; nothing was started.
	ExitUsage = 2
	// exitSignal is added to the number of the signal that ended the process at once.
	exitSignal = 128
)

// UntilSignal gives a context that ends with SIGINT or SIGTERM, after which the host drains. A second signal calls exit
// with 128 and the signal's number at once. Stop lets go of the signals.
func UntilSignal(ctx context.Context, exit func(code int)) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for n := 0; ; n++ {
			select {
			case <-done:
				return
			case s := <-signals:
				cancel()
				if number, ok := s.(syscall.Signal); ok && n > 0 {
					exit(exitSignal + int(number))
					return
				}
			}
		}
	}()
	return ctx, sync.OnceFunc(func() {
		signal.Stop(signals)
		close(done)
		<-ended
		cancel()
	})
}
