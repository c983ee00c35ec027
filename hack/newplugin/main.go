// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command newplugin starts a new plugin: it writes runtime/plugins/NAME with a module that builds and conforms, and says
// what else there is to do. See the package scaffold next to it.
//
//	go run ./hack/newplugin NAME
//
// It holds no logic of its own, and never changes a file that is there.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/aalis-dev/aalis-operator/hack/newplugin/scaffold"
)

func main() {
	if err := run(os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "newplugin:", err)
		os.Exit(1)
	}
}

func run(args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("newplugin", flag.ContinueOnError)
	flags.SetOutput(stderr)
	root := flags.String("root", ".", "root of the repository")
	flags.Usage = func() {
		fmt.Fprintln(stderr, "usage: go run ./hack/newplugin [--root DIR] NAME")
		flags.PrintDefaults()
	}
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() != 1 {
		return fmt.Errorf("must be given the short name of one plugin, got %d arguments", flags.NArg())
	}
	if _, err := os.Stat(filepath.Join(*root, "runtime", "host", "plugins.go")); err != nil {
		return fmt.Errorf("--root must be the root of the repository: %w", err)
	}
	p, err := scaffold.New(flags.Arg(0))
	if err != nil {
		return err
	}
	if err := p.Write(filepath.Join(*root, "runtime", "plugins")); err != nil {
		return err
	}
	fmt.Fprint(stdout, p.Next())
	return nil
}
