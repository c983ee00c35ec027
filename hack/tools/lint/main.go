// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command lint is golangci-lint with the Kubernetes API linter linked in, so that one pinned module gives both.
package main

import (
	"fmt"
	"os"

	"github.com/golangci/golangci-lint/v2/pkg/commands"
	"github.com/golangci/golangci-lint/v2/pkg/exitcodes"

	_ "sigs.k8s.io/kube-api-linter"
)

func main() {
	info := commands.BuildInfo{GoVersion: "unknown", Version: "v2 with kube-api-linter", Commit: "unknown", Date: "unknown"}
	if err := commands.Execute(info); err != nil {
		fmt.Fprintf(os.Stderr, "lint failed: %v\n", err)
		os.Exit(exitcodes.Failure)
	}
}
