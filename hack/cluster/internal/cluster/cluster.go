// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cluster brings a single-node Kubernetes up on a machine without a
// container engine, says how it is, and takes it down so that nothing is left.
//
// Up is convergent: it looks at every part and starts what is missing or has
// other settings than wanted, so that a second run, and one after a killed run
// or a crash, end in the same state with the cluster's data kept. Down works
// from any state. The command hack/cluster is the only caller.
package cluster

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/aalis-dev/aalis-operator/hack/cluster/internal/images"
	"github.com/aalis-dev/aalis-operator/hack/cluster/internal/layout"
	"github.com/aalis-dev/aalis-operator/hack/cluster/internal/proc"
	"github.com/aalis-dev/aalis-operator/hack/cluster/internal/tools"
)

// Cluster is the machine's one cluster.
type Cluster struct {
	layout.Layout
	// Log receives one line a step.
	Log func(format string, args ...any)

	procs proc.Manager
}

// mark is what every process of the cluster has in its environment.
const mark = "AALIS_CLUSTER_PROCESS=1"

// New returns the cluster of a layout. It changes nothing.
func New(l layout.Layout, log func(format string, args ...any)) *Cluster {
	l = l.WithNodes(savedNodes(l))
	return &Cluster{Layout: l, Log: log, procs: proc.Manager{Pids: l.Pids(), Logs: l.Logs(), Mark: mark}}
}

// Builder returns the builder of the cluster's binaries.
func (c *Cluster) Builder() *tools.Builder {
	return &tools.Builder{Repo: c.Repo, Bin: c.Bin(), Log: c.Log}
}

// ctr returns the client of a node's containerd.
func ctr(n layout.Node) images.Ctr { return images.Ctr{Socket: n.Socket()} }

// kubectl is a link to the kubectl that the cluster was brought up with.
func (c *Cluster) kubectl() string { return filepath.Join(c.State, "kubectl") }

// Load imports image tarballs into the containerd of every node.
func (c *Cluster) Load(ctx context.Context, files []string) error {
	for _, file := range files {
		start := time.Now()
		for _, n := range c.Nodes {
			if err := ctr(n).Import(ctx, file); err != nil {
				return fmt.Errorf("loading %s into %s: %w", file, n.Name, err)
			}
		}
		c.Log("loaded %s in %s", file, time.Since(start).Round(time.Millisecond))
	}
	return nil
}

// lockName is an abstract socket: it is the machine's, it needs no file, and
// the kernel drops it with the process that holds it.
const lockName = "@aalis-operator-cluster"

// lock makes sure that one command at a time changes the machine.
func (c *Cluster) lock(ctx context.Context) (unlock func(), err error) {
	poll := time.NewTicker(200 * time.Millisecond)
	defer poll.Stop()
	for told := false; ; {
		var config net.ListenConfig
		l, err := config.Listen(ctx, "unix", lockName)
		if err == nil {
			return func() { _ = l.Close() }, nil
		}
		if !errors.Is(err, syscall.EADDRINUSE) {
			return nil, fmt.Errorf("taking the cluster's lock: %w", err)
		}
		if !told {
			c.Log("waiting for another command that changes the cluster")
			told = true
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("waiting for another command that changes the cluster: %w", ctx.Err())
		case <-poll.C:
		}
	}
}

// ownerFile tells which state folder the running cluster belongs to.
func (c *Cluster) ownerFile() string { return filepath.Join(c.Run, "state") }

// Owner returns the state folder of the machine's cluster, "" when none is
// known. It is only known until the machine restarts.
func Owner(run string) string {
	data, err := os.ReadFile(filepath.Join(run, "state"))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}

// checkOwner refuses to change a cluster that has another state folder.
func (c *Cluster) checkOwner() error {
	owner := Owner(c.Run)
	if owner == "" || owner == c.State {
		return nil
	}
	running, err := c.procs.Find()
	if err != nil {
		return err
	}
	if len(running) == 0 {
		return nil
	}
	return fmt.Errorf("a cluster with the folder %s runs on this machine; take it down first (AALIS_CLUSTER_DIR=%s)", owner, owner)
}

// makeFolders makes the folders and marks the state folder.
func (c *Cluster) makeFolders() error {
	if err := os.MkdirAll(c.State, 0o755); err != nil {
		return fmt.Errorf("making the cluster folder: %w", err)
	}
	if err := writeIfChanged(filepath.Join(c.State, layout.Marker), []byte("This folder is removed by: go run ./hack/cluster down\n"), 0o644); err != nil {
		return err
	}
	folders := []string{c.PKI(), c.Config(), c.Logs(), c.Pids(), c.Run, filepath.Join(c.State, "etcd")}
	for _, n := range c.Nodes {
		folders = append(folders, n.Dir, n.Config(), n.RunDir)
	}
	for _, dir := range folders {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return fmt.Errorf("making the cluster's folders: %w", err)
		}
	}
	// Pods reach their volumes through these.
	if err := os.MkdirAll(c.Volumes(), 0o755); err != nil {
		return fmt.Errorf("making the folder of volumes: %w", err)
	}
	return writeIfChanged(c.ownerFile(), []byte(c.State+"\n"), 0o644)
}

// writeIfChanged replaces a file as a whole when its content differs.
func writeIfChanged(file string, data []byte, mode fs.FileMode) error {
	if now, err := os.ReadFile(file); err == nil && string(now) == string(data) {
		return nil
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("reading %s: %w", file, err)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return fmt.Errorf("making the folder of %s: %w", file, err)
	}
	tmp := file + ".tmp"
	if err := os.WriteFile(tmp, data, mode); err != nil {
		return fmt.Errorf("writing %s: %w", file, err)
	}
	if err := os.Rename(tmp, file); err != nil {
		return fmt.Errorf("putting %s in place: %w", file, err)
	}
	return nil
}

// relink makes a symbolic link point to a target.
func relink(target, link string) error {
	if now, err := os.Readlink(link); err == nil && now == target {
		return nil
	}
	if err := os.Remove(link); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("replacing %s: %w", link, err)
	}
	if err := os.Symlink(target, link); err != nil {
		return fmt.Errorf("linking %s: %w", link, err)
	}
	return nil
}
