// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command cluster runs a real Kubernetes of one or two nodes on a bare Linux machine
// that has no container engine, for the demo, for tests and for CI. See
// README.md beside this file. It is a tool of this repository and never part of
// a release.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/aalis-dev/aalis-operator/hack/cluster/internal/cluster"
	"github.com/aalis-dev/aalis-operator/hack/cluster/internal/host"
	"github.com/aalis-dev/aalis-operator/hack/cluster/internal/layout"
	"github.com/aalis-dev/aalis-operator/hack/cluster/internal/tools"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := root().ExecuteContext(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
}

func root() *cobra.Command {
	cmd := &cobra.Command{
		Use:           "cluster",
		Short:         "A real Kubernetes on a bare machine",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	var dir string
	cmd.PersistentFlags().StringVar(&dir, "dir", "", "folder of everything that belongs to the cluster (default $AALIS_CLUSTER_DIR, else below $XDG_STATE_HOME or ~/.local/state)")
	open := func() (*cluster.Cluster, error) { return openCluster(dir) }
	cmd.AddCommand(up(open), down(open), status(open), load(open), kubeconfig(open), binaries(open), packages(), component(open))
	return cmd
}

// opener finds the cluster when a command runs, after the flags are known.
type opener func() (*cluster.Cluster, error)

func openCluster(dir string) (*cluster.Cluster, error) {
	repo, err := findRepo()
	if err != nil {
		return nil, err
	}
	if dir == "" {
		dir = os.Getenv("AALIS_CLUSTER_DIR")
	}
	l, err := layout.New(repo, layout.Env{
		ClusterDir: dir,
		CacheHome:  os.Getenv("XDG_CACHE_HOME"),
		StateHome:  os.Getenv("XDG_STATE_HOME"),
		Home:       os.Getenv("HOME"),
	})
	if err != nil {
		return nil, err
	}
	start := time.Now()
	log := func(format string, args ...any) {
		fmt.Fprintf(os.Stderr, "[%6.1fs] %s\n", time.Since(start).Seconds(), fmt.Sprintf(format, args...))
	}
	return cluster.New(l, log), nil
}

// findRepo looks for this repository's root upwards from the working folder.
func findRepo() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("finding the working folder: %w", err)
	}
	for at := dir; ; at = filepath.Dir(at) {
		if _, err := os.Stat(filepath.Join(at, "hack", "tools", "kubernetes", "go.mod")); err == nil {
			return at, nil
		}
		if at == filepath.Dir(at) {
			return "", fmt.Errorf("%s is not inside the source tree of the operator", dir)
		}
	}
}

func up(open opener) *cobra.Command {
	var o cluster.UpOptions
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Bring the cluster up, or what is missing of it, and print the path of its kubeconfig",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := open()
			if err != nil {
				return err
			}
			if err := c.Up(cmd.Context(), o); err != nil {
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), c.Kubeconfig())
			return err
		},
	}
	cmd.Flags().IntVar(&o.Nodes, "nodes", 0, "how many nodes there shall be, 1 or 2 (default what the cluster has, 1 for a new one)")
	return cmd
}

func down(open opener) *cobra.Command {
	var o cluster.DownOptions
	cmd := &cobra.Command{
		Use:   "down",
		Short: "Take the cluster down and remove everything it has left on the machine, its data too",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := open()
			if err != nil {
				return err
			}
			return c.Down(cmd.Context(), o)
		},
	}
	cmd.Flags().BoolVar(&o.KeepLogs, "keep-logs", false, "leave the folder of logs")
	return cmd
}

func status(open opener) *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Show the cluster's processes and parts; fails unless all are ready",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := open()
			if err != nil {
				return err
			}
			return c.Status(cmd.Context(), cmd.OutOrStdout())
		},
	}
}

func load(open opener) *cobra.Command {
	return &cobra.Command{
		Use:   "load IMAGE.tar...",
		Short: "Import image tarballs, so that pods can use them without a registry",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := open()
			if err != nil {
				return err
			}
			return c.Load(cmd.Context(), args)
		},
	}
}

func kubeconfig(open opener) *cobra.Command {
	return &cobra.Command{
		Use:   "kubeconfig",
		Short: "Print the path of the administrator's kubeconfig",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := open()
			if err != nil {
				return err
			}
			if _, err := os.Stat(c.Kubeconfig()); err != nil {
				return fmt.Errorf("there is no cluster: %w", err)
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), c.Kubeconfig())
			return err
		},
	}
}

func binaries(open opener) *cobra.Command {
	var only string
	cmd := &cobra.Command{
		Use:   "binaries",
		Short: "Build the cluster's binaries into the cache and print where they are",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if only != "" && only != "envtest" {
				return fmt.Errorf("--only %q: want envtest", only)
			}
			c, err := open()
			if err != nil {
				return err
			}
			if only == "envtest" {
				return printEnvtest(cmd, c)
			}
			paths, err := c.Builder().Ensure(cmd.Context(), tools.Modules())
			if err != nil {
				return err
			}
			for _, m := range tools.Modules() {
				for _, b := range m.Binaries {
					if _, err := fmt.Fprintln(cmd.OutOrStdout(), paths[b.Name]); err != nil {
						return err
					}
				}
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&only, "only", "", "envtest: only etcd, kube-apiserver and kubectl, in one folder for KUBEBUILDER_ASSETS")
	return cmd
}

func printEnvtest(cmd *cobra.Command, c *cluster.Cluster) error {
	paths, err := c.Builder().Ensure(cmd.Context(), tools.Envtest())
	if err != nil {
		return err
	}
	dir, err := c.Builder().LinkEnvtest(paths)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(cmd.OutOrStdout(), dir)
	return err
}

func packages() *cobra.Command {
	return &cobra.Command{
		Use:   "packages [NAME...]",
		Short: "Install the Debian packages that the cluster needs, or those that are named, where missing",
		RunE: func(cmd *cobra.Command, args []string) error {
			missing := host.MissingPackages(host.Packages())
			if len(args) > 0 {
				missing = host.NotInstalled(cmd.Context(), args)
			}
			if len(missing) == 0 {
				return nil
			}
			fmt.Fprintln(os.Stderr, "installing", strings.Join(missing, " "))
			return host.InstallPackages(cmd.Context(), missing)
		},
	}
}

func component(open opener) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "component",
		Short: "Stop or start one process of the running cluster, for tests of failures",
	}
	for _, verb := range []struct {
		name, short string
		run         func(*cluster.Cluster, context.Context, string) error
	}{
		{"stop", "Stop one process and leave the rest running", (*cluster.Cluster).StopComponent},
		{"start", "Start a stopped process and wait until it serves", (*cluster.Cluster).StartComponent},
	} {
		cmd.AddCommand(&cobra.Command{
			Use:   verb.name + " NAME",
			Short: verb.short,
			Args:  cobra.ExactArgs(1),
			RunE: func(cmd *cobra.Command, args []string) error {
				c, err := open()
				if err != nil {
					return err
				}
				return verb.run(c, cmd.Context(), args[0])
			},
		})
	}
	return cmd
}
