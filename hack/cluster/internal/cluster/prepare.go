// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
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
	var bridges []string
	for _, n := range c.Nodes {
		bridges = append(bridges, n.Bridge)
	}
	if err := host.CheckAddresses([]string{layout.ClusterCIDR, layout.ServiceCIDR}, bridges); err != nil {
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
	for _, n := range c.Nodes {
		if err := host.EnsureBridge(ctx, n.Bridge, n.Gateway, layout.ServiceCIDR); err != nil {
			return err
		}
	}
	if err := host.EnsureFirewall(ctx, layout.ClusterCIDR, layout.ServiceCIDR); err != nil {
		return err
	}
	return host.EnsureCgroups(layout.CgroupRoot)
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
	for _, name := range componentNames {
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

// componentNames are the names of all components.
var componentNames = []string{
	compEtcd, compContainerd, compAPIServer, compController, compScheduler, compKubelet, compProxy, compRouter,
}

// isComponent compares with the kernel's name of a process, which is cut to 15
// bytes.
func isComponent(comm string) bool {
	for _, name := range componentNames {
		if len(name) > 15 {
			name = name[:15]
		}
		if comm == name {
			return true
		}
	}
	return false
}
