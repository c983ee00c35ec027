// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command docsgen writes the reference documents: the API from the CRDs, the modules from the catalog, kubectl
// aalis from its commands. See the package
// gen next to it.
//
// It is run by make generate. It holds no logic of its own.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/aalis-dev/aalis-operator/cmd/kubectl-aalis/command"
	"github.com/aalis-dev/aalis-operator/hack/docsgen/gen"
	"github.com/aalis-dev/aalis-operator/runtime/catalog"
)

func main() {
	err := run(os.Args[1:], os.Stderr)
	if err != nil {
		fmt.Fprintln(os.Stderr, "docsgen:", err)
		os.Exit(1)
	}
}

func run(args []string, stderr io.Writer) error {
	flags := flag.NewFlagSet("docsgen", flag.ContinueOnError)
	flags.SetOutput(stderr)
	crdDir := flags.String("crds", "config/crd/bases", "directory of the CRDs")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() != 1 {
		return fmt.Errorf("must be given one directory, got %d arguments", flags.NArg())
	}
	crds, err := gen.LoadCRDs(*crdDir)
	if err != nil {
		return err
	}
	api, err := gen.API(crds)
	if err != nil {
		return err
	}
	modules, err := catalog.Default()
	if err != nil {
		return err
	}
	commands := command.New(genericiooptions.NewTestIOStreamsDiscard(), "VERSION")
	return write(flags.Arg(0), map[string]string{
		"api.md": api, "modules.md": gen.Modules(modules), "kubectl-aalis.md": gen.Commands(commands),
	})
}

func write(dir string, files map[string]string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("making the directory: %w", err)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return fmt.Errorf("writing: %w", err)
		}
	}
	return nil
}
