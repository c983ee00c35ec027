// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/aalis-dev/aalis-operator/hack/cluster/internal/host"
	"github.com/aalis-dev/aalis-operator/hack/cluster/internal/layout"
)

// errConflict marks errors that another try would not heal.
var errConflict = errors.New("the machine is in use otherwise")

// prepareHost makes the folders and changes the machine for the cluster.
func (c *Cluster) prepareHost(ctx context.Context) error {
	if err := c.checkOwner(); err != nil {
		return fmt.Errorf("%w: %w", errConflict, err)
	}
	if err := host.CheckAddresses([]string{layout.ClusterCIDR, layout.ServiceCIDR}, c.interfaces()); err != nil {
		return fmt.Errorf("%w: %w", errConflict, err)
	}
	chains, err := host.Chains(ctx)
	if err != nil {
		return err
	}
	baseline, known := c.readBaseline()
	if !known && len(host.OwnChains(chains)) == 0 {
		if hasKube(chains) {
			return fmt.Errorf("%w: its firewall has chains of another Kubernetes (KUBE-*); use that cluster, or remove it first", errConflict)
		}
		baseline.Chains = chains
	}
	if err := c.makeFolders(); err != nil {
		return err
	}
	if err := writeIfChanged(nodesFile(c.Layout), fmt.Appendln(nil, len(c.Nodes)), 0o644); err != nil {
		return err
	}
	host.LoadModules(ctx)
	if !known {
		baseline.Settings = host.ReadSettings()
		if err := c.writeBaseline(baseline); err != nil {
			return err
		}
	}
	if err := host.EnsureSettings(); err != nil {
		return err
	}
	if err := host.EnsureBridge(ctx, host.Namespace{}, c.Main().Bridge, c.Main().Gateway, layout.ServiceCIDR); err != nil {
		return err
	}
	if err := host.EnsureFirewall(ctx, host.Namespace{}, layout.ClusterCIDR, layout.ServiceCIDR); err != nil {
		return err
	}
	for _, n := range c.Nodes {
		if err := c.prepareNode(ctx, n); err != nil {
			return fmt.Errorf("preparing node %s: %w", n.Name, err)
		}
	}
	return nil
}

// prepareNode makes the parent of the node's cgroups and, unless it has the
// machine's, its network.
func (c *Cluster) prepareNode(ctx context.Context, n layout.Node) error {
	if err := host.EnsureCgroups(n.CgroupRoot); err != nil {
		return err
	}
	if n.Link == nil {
		return nil
	}
	l := n.Link
	return host.EnsureNode(ctx, host.Namespace{File: l.Namespace}, host.Link{
		Name:     l.Name,
		Near:     fmt.Sprintf("%s/%d", l.Near, l.Prefix),
		Far:      fmt.Sprintf("%s/%d", l.Far, l.Prefix),
		NearVia:  l.Near,
		FarVia:   l.Far,
		NearNode: c.Main().Address, FarNode: n.Address,
		FarPods:   n.PodCIDR,
		FarBridge: n.Bridge, FarGateway: n.Gateway,
	}, layout.ClusterCIDR, layout.ServiceCIDR)
}

// interfaces are the names of the cluster's interfaces on the machine, of all
// nodes that it may have.
func (c *Cluster) interfaces() []string {
	var out []string
	for _, n := range c.WithNodes(layout.MaxNodes).Nodes {
		if n.Link == nil {
			out = append(out, n.Bridge)
		} else {
			out = append(out, n.Link.Name)
		}
	}
	return out
}

func hasKube(chains []string) bool {
	for _, chain := range chains {
		if strings.Contains(chain, "/KUBE-") {
			return true
		}
	}
	return false
}

// killStrays ends processes that carry the cluster's mark but are neither a
// recorded component nor what containerd keeps running: what a killed run has
// started without having had the time to write it down.
func (c *Cluster) killStrays(ctx context.Context) error {
	running, err := c.procs.Find()
	if err != nil {
		return err
	}
	known := map[int]bool{}
	for _, name := range c.componentNames() {
		if r, ok := c.procs.Running(name); ok {
			known[r.PID] = true
		}
	}
	for _, r := range running {
		if known[r.PID] || strings.HasPrefix(r.Name, "containerd-shim") || !isComponent(r.Name) {
			continue
		}
		c.Log("ending %s (process %d), which an interrupted run left", r.Name, r.PID)
		if err := c.procs.Kill(ctx, r, stopGrace); err != nil {
			return err
		}
	}
	return nil
}

// programs are the programs of all components; the names of the first node's are the same.
var programs = []string{
	compEtcd, compContainerd, compAPIServer, compController, compScheduler, compKubelet, compProxy, compRouter,
}

// nodePrograms are those that each node has, in the order in which they are to be stopped.
var nodePrograms = []string{compRouter, compProxy, compKubelet, compContainerd}

// componentNames are the names of all components.
func (c *Cluster) componentNames() []string {
	out := slices.Clone(programs)
	for _, n := range c.Nodes[1:] {
		for _, kind := range nodePrograms {
			out = append(out, n.Component(kind))
		}
	}
	return out
}

// isComponent compares with the kernel's name of a process, which is cut to 15
// bytes.
func isComponent(comm string) bool {
	for _, name := range programs {
		if len(name) > 15 {
			name = name[:15]
		}
		if comm == name {
			return true
		}
	}
	return false
}
