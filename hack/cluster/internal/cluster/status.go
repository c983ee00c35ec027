// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/aalis-dev/aalis-operator/hack/cluster/internal/layout"
	"github.com/aalis-dev/aalis-operator/hack/cluster/internal/tools"
)

// ErrNotHealthy is returned by Status when something is missing.
var ErrNotHealthy = errors.New("the cluster is not healthy")

// Status writes a table of the processes and of what the cluster offers. It
// returns ErrNotHealthy, also wrapped, when a part is missing.
func (c *Cluster) Status(ctx context.Context, out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	healthy := true
	_, _ = fmt.Fprintln(w, "PART\tSTATE\tPID\tMEMORY") // errors show at Flush
	var total int64
	for _, comp := range c.components(tools.Paths{}) {
		state, pid, memory := "stopped", "", ""
		if r, ok := c.procs.Running(comp.Name); ok {
			rss := c.procs.RSS(r)
			total += rss
			state, pid, memory = "serves", fmt.Sprint(r.PID), fmt.Sprintf("%d MiB", rss>>20)
			if comp.ready != nil && comp.ready(ctx) != nil {
				state = "does not serve"
			}
		}
		healthy = healthy && state == "serves"
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", comp.Name, state, pid, memory)
	}
	_, _ = fmt.Fprintf(w, "all processes\t\t\t%d MiB\n", total>>20)
	type part struct {
		name  string
		check func(context.Context) error
	}
	var parts []part
	for _, n := range c.Nodes {
		parts = append(parts, part{"node " + n.Name, c.nodeReady(n)})
	}
	for _, part := range append(parts, []part{
		{"name service " + layout.DNSIP, c.dnsReady},
		{"default StorageClass", c.storageReady},
		{"volume provisioner", c.deploymentAvailable("local-path-storage", "local-path-provisioner")},
	}...) {
		state := "ready"
		if err := part.check(ctx); err != nil {
			state, healthy = "not ready", false
		}
		_, _ = fmt.Fprintf(w, "%s\t%s\t\t\n", part.name, state)
	}
	if err := w.Flush(); err != nil {
		return fmt.Errorf("writing the status: %w", err)
	}
	if !healthy {
		return ErrNotHealthy
	}
	return nil
}

// StopComponent stops one process and leaves the rest running, for tests of
// what happens when a part fails.
func (c *Cluster) StopComponent(ctx context.Context, name string) error {
	if err := c.checkComponent(name); err != nil {
		return err
	}
	if _, ok := c.procs.Running(name); !ok {
		c.Log("%s does not run", name)
		return nil
	}
	return c.procs.Stop(ctx, name, stopGrace)
}

// StartComponent starts one process that was stopped and waits until it serves.
func (c *Cluster) StartComponent(ctx context.Context, name string) error {
	if err := c.checkComponent(name); err != nil {
		return err
	}
	if !c.wasComplete() {
		return errors.New("the cluster is not up; bring it up first")
	}
	paths, err := c.Builder().Ensure(ctx, tools.Modules())
	if err != nil {
		return err
	}
	for _, comp := range c.components(paths) {
		if comp.Name == name {
			_, err := c.ensureAll(ctx, comp)
			return err
		}
	}
	return nil
}

func (c *Cluster) checkComponent(name string) error {
	for _, known := range c.componentNames() {
		if name == known {
			return nil
		}
	}
	return fmt.Errorf("no component %q; the components are %v", name, c.componentNames())
}
