// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command manifestcheck checks YAML manifests strictly and without a cluster: fields that no kind has, values that the
// CRDs' schemas and rules refuse, CRDs that an API server would refuse. See the package check next to it.
//
// It is run by hack/chart-lint.sh on what the chart renders and on the samples. It holds no logic of its own.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/aalis-dev/aalis-operator/hack/manifestcheck/check"
)

func main() {
	os.Exit(run(context.Background(), os.Args[1:], os.Stdout, os.Stderr))
}

// run checks the files that args name and returns the exit code: 0 when all is well, 1 when an object is bad, 2 when
// the command line is.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("manifestcheck", flag.ContinueOnError)
	flags.SetOutput(stderr)
	crds := flags.String("crds", "config/crd/bases", "directory of the CRDs that custom objects are checked against")
	flags.Usage = func() {
		fmt.Fprintln(stderr, "usage: manifestcheck [--crds DIR] FILE...")
		flags.PrintDefaults()
	}
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if flags.NArg() == 0 {
		flags.Usage()
		return 2
	}
	checker, err := check.New(ctx, *crds)
	if err != nil {
		fmt.Fprintln(stderr, "manifestcheck:", err)
		return 1
	}
	code := 0
	for _, file := range flags.Args() {
		data, err := os.ReadFile(file)
		if err != nil {
			fmt.Fprintln(stderr, "manifestcheck:", err)
			code = 1
			continue
		}
		count, problems := checker.File(ctx, data)
		for _, p := range problems {
			fmt.Fprintf(stderr, "%s: %s\n", file, p)
			code = 1
		}
		if len(problems) == 0 {
			fmt.Fprintf(stdout, "%s: %d objects ok\n", file, count)
		}
	}
	return code
}
