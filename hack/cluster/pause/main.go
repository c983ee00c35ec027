// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command pause holds a pod's namespaces open: it waits for SIGTERM or SIGINT,
// and reaps orphans when it is process 1 of a shared process namespace.
// hack/cluster packs it into the sandbox image of the development cluster.
package main

import (
	"errors"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGCHLD)
	for s := range signals {
		if s != syscall.SIGCHLD {
			return
		}
		reap()
	}
}

// reap collects every child that has ended; signals may have been merged.
func reap() {
	for {
		pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if err != nil || pid <= 0 {
			return
		}
	}
}
