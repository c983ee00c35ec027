// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command kubectl-aalis is the kubectl plugin of Aalis Operator: kubectl aalis COMMAND.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/aalis-dev/aalis-operator/cmd/kubectl-aalis/command"
)

// version is set by the build.
var version = "dev"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	streams := genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr}
	err := command.New(streams, version).ExecuteContext(ctx)
	stop()
	code, message := command.Exit(err)
	if message != "" {
		fmt.Fprintln(os.Stderr, "error:", message)
	}
	os.Exit(code)
}
