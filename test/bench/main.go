// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command bench runs the kernel's benchmarks and prints them as one table next to the targets and to what the original
// system takes for the same.
//
//	go run ./test/bench [--count 5] [--check]
//
// With --check it fails if a target is missed, which means something only on a machine with nothing else to do. It needs
// the go command and changes nothing.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
)

func main() {
	if err := run(context.Background(), os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(stderr)
	count := flags.Int("count", 5, "how often each benchmark runs; the table has the medians")
	check := flags.Bool("check", false, "fail if a target is missed")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *count < 1 || flags.NArg() > 0 {
		return fmt.Errorf("usage: bench [--count N] [--check], N at least 1, got %v", args)
	}
	results := results{}
	for _, pkg := range packages {
		out, err := goTest(ctx, pkg, *count)
		if err != nil {
			return err
		}
		results.read(out)
	}
	table, missed := results.table()
	fmt.Fprint(stdout, table)
	if *check && len(missed) > 0 {
		return fmt.Errorf("missed: %v", missed)
	}
	return nil
}

func goTest(ctx context.Context, pkg string, count int) (string, error) {
	cmd := exec.CommandContext(ctx, "go", "test", "-run", "^$", "-bench", ".", "-benchmem", "-benchtime", "300ms",
		"-count", strconv.Itoa(count), pkg)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("running the benchmarks of %s: %w\n%s", pkg, err, out)
	}
	return string(out), nil
}
