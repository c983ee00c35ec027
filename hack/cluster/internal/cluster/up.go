// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/aalis-dev/aalis-operator/hack/cluster/internal/host"
	"github.com/aalis-dev/aalis-operator/hack/cluster/internal/images"
	"github.com/aalis-dev/aalis-operator/hack/cluster/internal/layout"
	"github.com/aalis-dev/aalis-operator/hack/cluster/internal/render"
	"github.com/aalis-dev/aalis-operator/hack/cluster/internal/tools"
)

const (
	// startTimeout bounds the time that one component takes to serve.
	startTimeout = 2 * time.Minute
	// settleTimeout bounds the time that the objects take to become ready.
	settleTimeout = 4 * time.Minute
	// completeFile is in the state folder once the cluster was up as a whole.
	completeFile = "complete"
	// busyboxAlias is a name of the helper image that does not change.
	busyboxAlias = "aalis.local/busybox:dev"
)

// UpOptions say what kind of cluster Up makes.
type UpOptions struct {
	// Nodes is how many there shall be, 1 to layout.MaxNodes; 0 leaves it at what
	// the cluster has, and makes one in a new cluster.
	Nodes int
}

// Up brings the cluster up, or does what is missing. It returns when pods can
// be scheduled, names resolve and volumes can be claimed.
//
// If that fails and the cluster was never up as a whole, what there is is taken
// down and it is tried once more: there is nothing to lose yet. A cluster that
// was up before is left as it is, because its data is the user's.
func (c *Cluster) Up(ctx context.Context, o UpOptions) error {
	if o.Nodes < 0 || o.Nodes > layout.MaxNodes {
		return fmt.Errorf("--nodes must be between 1 and %d, got %d", layout.MaxNodes, o.Nodes)
	}
	if os.Geteuid() != 0 {
		return errors.New("the cluster changes the machine's network and mounts, so that it has to be run as root; or use a cluster of your own")
	}
	unlock, err := c.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	start := time.Now()
	if missing := host.MissingPackages(host.Packages()); len(missing) > 0 {
		c.Log("installing Debian packages: %s", strings.Join(missing, " "))
		if err := host.InstallPackages(ctx, missing); err != nil {
			return err
		}
	}
	paths, err := c.Builder().Ensure(ctx, tools.Modules())
	if err != nil {
		return err
	}
	set, err := images.Build(ctx, c.Layout, paths)
	if err != nil {
		return err
	}
	changes, err := c.convergeOrStartOver(ctx, o, paths, set)
	if err != nil {
		return err
	}
	if changes == 0 {
		c.Log("the cluster was up already (checked in %s)", time.Since(start).Round(time.Millisecond))
		return nil
	}
	c.Log("the cluster is up after %s", time.Since(start).Round(100*time.Millisecond))
	return nil
}

func (c *Cluster) convergeOrStartOver(ctx context.Context, o UpOptions, paths tools.Paths, set images.Set) (changes int, err error) {
	try := func() (int, error) {
		if err := c.wantNodes(ctx, o.Nodes); err != nil {
			return 0, err
		}
		return c.converge(ctx, paths, set)
	}
	changes, err = try()
	if err == nil || ctx.Err() != nil || c.wasComplete() || errors.Is(err, errConflict) {
		return changes, err
	}
	c.Log("failed: %v", err)
	c.Log("starting over, for this cluster was never up before")
	if err := c.down(ctx, DownOptions{}); err != nil {
		return 0, fmt.Errorf("cleaning up before another try: %w", err)
	}
	return try()
}

func (c *Cluster) wasComplete() bool {
	_, err := os.Stat(filepath.Join(c.State, completeFile))
	return err == nil
}

// converge returns how much it had to change: processes started, objects applied.
func (c *Cluster) converge(ctx context.Context, paths tools.Paths, set images.Set) (changes int, err error) {
	if err := c.prepareHost(ctx); err != nil {
		return 0, err
	}
	if err := c.ensureCredentials(); err != nil {
		return 0, err
	}
	input, err := c.writeConfig(set)
	if err != nil {
		return 0, err
	}
	if err := relink(paths["kubectl"], c.kubectl()); err != nil {
		return 0, err
	}
	if err := c.killStrays(ctx); err != nil {
		return 0, err
	}
	changes, err = c.startAll(ctx, paths, set)
	if err != nil {
		return changes, err
	}
	applied, err := c.applyManifests(ctx, input)
	if err != nil {
		return changes, err
	}
	if applied {
		changes++
	}
	wait, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if err := waitFor(wait, nil, c.nodesRegistered); err != nil {
		return changes, fmt.Errorf("waiting for the nodes to register: %w", err)
	}
	// It reads the node and may do so only since the manifests are there.
	for _, n := range c.Nodes {
		more, err := c.ensureAll(ctx, c.router(paths, n))
		changes += more
		if err != nil {
			return changes, err
		}
	}
	if err := c.rejoin(ctx); err != nil {
		return changes, err
	}
	if err := c.settle(ctx); err != nil {
		return changes, err
	}
	return changes, writeIfChanged(filepath.Join(c.State, completeFile), []byte("up\n"), 0o644)
}

// writeConfig writes the configuration of every node. It returns what the main
// node's is made of, and with it the cluster's own objects.
func (c *Cluster) writeConfig(set images.Set) (render.Input, error) {
	resolv, err := os.ReadFile("/etc/resolv.conf")
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return render.Input{}, fmt.Errorf("reading the machine's name servers: %w", err)
	}
	input := render.Input{Layout: c.Layout, Images: set.Names, Nameservers: render.Nameservers(string(resolv))}
	for _, input.Node = range c.Nodes {
		files, err := render.Files(input)
		if err != nil {
			return input, err
		}
		for name, text := range files {
			if err := writeIfChanged(name, text, 0o644); err != nil {
				return input, err
			}
		}
	}
	input.Node = c.Main()
	return input, nil
}

// startAll starts the components: etcd and the API server beside containerd and
// its images, then what needs both.
func (c *Cluster) startAll(ctx context.Context, paths tools.Paths, set images.Set) (started int, err error) {
	byName := map[string]component{}
	for _, comp := range c.components(paths) {
		byName[comp.Name] = comp
	}
	var store, runtime, rest int
	group, groupCtx := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		store, err = c.ensureAll(groupCtx, byName[compEtcd], byName[compAPIServer])
		return err
	})
	group.Go(func() (err error) {
		for _, n := range c.Nodes {
			did, err := c.ensureAll(groupCtx, byName[n.Component(compContainerd)])
			runtime += did
			if err != nil {
				return err
			}
			if err := importImages(groupCtx, n, set); err != nil {
				return err
			}
		}
		return nil
	})
	if err := group.Wait(); err != nil {
		return store + runtime, err
	}
	last := []component{byName[compController], byName[compScheduler]}
	for _, n := range c.Nodes {
		last = append(last, byName[n.Component(compKubelet)], byName[n.Component(compProxy)])
	}
	rest, err = c.ensureAll(ctx, last...)
	return store + runtime + rest, err
}

// ensureAll starts components one after the other and waits for each to serve.
func (c *Cluster) ensureAll(ctx context.Context, all ...component) (started int, err error) {
	for _, comp := range all {
		did, ended, err := c.procs.Ensure(ctx, comp.Spec)
		if err != nil {
			return started, err
		}
		if did {
			started++
		}
		begin := time.Now()
		if comp.ready != nil {
			wait, cancel := context.WithTimeout(ctx, startTimeout)
			err = waitFor(wait, ended, comp.ready)
			cancel()
		}
		if err != nil {
			return started, fmt.Errorf("starting %s: %w\n%s", comp.Name, err, c.logTail(comp.Name))
		}
		if did {
			c.Log("%s serves after %s", comp.Name, time.Since(begin).Round(10*time.Millisecond))
		}
	}
	return started, nil
}

func importImages(ctx context.Context, n layout.Node, set images.Set) error {
	ctr := ctr(n)
	if err := ctr.ImportMissing(ctx, set.All); err != nil {
		return err
	}
	return ctr.Tag(ctx, set.Names.Busybox, busyboxAlias)
}

// logTail returns the end of a component's log for an error message.
func (c *Cluster) logTail(name string) string {
	data, err := os.ReadFile(c.procs.LogFile(name))
	if err != nil {
		return ""
	}
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	if len(lines) > 15 {
		lines = lines[len(lines)-15:]
	}
	return fmt.Sprintf("the end of %s:\n%s", c.procs.LogFile(name), strings.Join(lines, "\n"))
}
