// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aalis-dev/aalis-operator/cmd/kubectl-aalis/cluster"
	"github.com/aalis-dev/aalis-operator/cmd/kubectl-aalis/output"
	"github.com/aalis-dev/aalis-operator/runtime/catalog"
)

// tools are what the commands share.
type tools struct {
	flags   *genericclioptions.ConfigFlags
	streams genericiooptions.IOStreams
	version string
	now     func() time.Time
}

// connect makes a client with the caller's rights and gives the namespace to work in.
func (t tools) connect() (client.Client, string, error) {
	namespace, err := t.namespace()
	if err != nil {
		return nil, "", err
	}
	config, err := t.flags.ToRESTConfig()
	if err != nil {
		return nil, "", fmt.Errorf("reading the kubeconfig: %w", err)
	}
	ctrl.SetLogger(logr.Discard())
	c, err := cluster.NewClient(config)
	return c, namespace, err
}

// live reads a bot of the namespace to work in, with what runs of it.
func (t tools) live(ctx context.Context, name string) (client.Client, cluster.Live, error) {
	c, namespace, err := t.connect()
	if err != nil {
		return nil, cluster.Live{}, err
	}
	live, err := cluster.ReadLive(ctx, c, namespace, name)
	return c, live, err
}

// namespace to work in, also where there is no cluster.
func (t tools) namespace() (string, error) {
	namespace, _, err := t.flags.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return "", fmt.Errorf("reading the kubeconfig: %w", err)
	}
	return namespace, nil
}

// oneBot completes the name of a bot as the only argument.
func (t tools) oneBot(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return completeBots(cmd.Context(), t.flags, prefix), cobra.ShellCompDirectiveNoFileComp
}

// notes tells people what is no result and no error.
func (t tools) notes(notes []string) {
	for _, n := range notes {
		fmt.Fprintln(t.streams.ErrOut, "note:", output.Clean(n))
	}
}

// outputFlag adds --output.
func outputFlag(cmd *cobra.Command, to *string) {
	cmd.Flags().StringVarP(to, "output", "o", "", "json or yaml instead of a text for people")
	complete(cmd, "output", "json", "yaml")
}

// complete lists the values of a flag for the shell.
func complete(cmd *cobra.Command, flag string, values ...string) {
	err := cmd.RegisterFlagCompletionFunc(flag, func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return values, cobra.ShellCompDirectiveNoFileComp
	})
	if err != nil { // the flag does not exist: a mistake in this package
		panic(err)
	}
}

// readCatalog reads a catalog from a file, or gives that of this build.
func readCatalog(path string) (catalog.Catalog, error) {
	if path == "" {
		return catalog.Default()
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return catalog.Catalog{}, fmt.Errorf("reading the catalog: %w", err)
	}
	c, err := catalog.Decode(data)
	if err != nil {
		return c, fmt.Errorf("--catalog %s: %w", path, err)
	}
	return c, nil
}

func catalogFlag(cmd *cobra.Command, to *string) {
	cmd.Flags().StringVar(to, "catalog", "",
		"file with the modules of your own image, as \"aalis catalog -o json\" prints it (default: the modules of this release)")
}

// ExitError is an error with an exit status of its own.
type ExitError struct {
	// Code is the exit status.
	Code int
	// Err is what went wrong; nil says nothing.
	Err error
}

// Error implements error.
func (e *ExitError) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("exit status %d", e.Code)
	}
	return e.Err.Error()
}

// Unwrap gives what went wrong.
func (e *ExitError) Unwrap() error { return e.Err }

// Exit gives the exit status of what Execute returned, and whether there is something to say.
func Exit(err error) (code int, message string) {
	var exit *ExitError
	switch {
	case err == nil, errors.Is(err, context.Canceled):
		return 0, ""
	case errors.As(err, &exit) && exit.Err == nil:
		return exit.Code, ""
	case errors.As(err, &exit):
		return exit.Code, exit.Error()
	}
	return 1, err.Error()
}
