// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/aalis-dev/aalis-operator/hack/cluster/internal/host"
	"github.com/aalis-dev/aalis-operator/hack/cluster/internal/layout"
)

// nodesFile tells in the state folder how many nodes the cluster has.
func nodesFile(l layout.Layout) string { return filepath.Join(l.State, "nodes") }

// savedNodes is how many nodes the cluster has, 1 when nothing tells.
func savedNodes(l layout.Layout) int {
	data, err := os.ReadFile(nodesFile(l))
	if err != nil {
		return 1
	}
	count, err := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil {
		return 1
	}
	return count
}

// wantNodes makes count the number of nodes, removing those that are too many;
// 0 changes nothing.
func (c *Cluster) wantNodes(ctx context.Context, count int) error {
	if count == 0 {
		count = savedNodes(c.Layout)
	}
	if err := c.checkOwner(); err != nil {
		return fmt.Errorf("%w: %w", errConflict, err)
	}
	for _, n := range c.WithNodes(layout.MaxNodes).Nodes[count:] {
		if _, err := os.Stat(n.Dir); err != nil {
			continue // it never was
		}
		if err := c.removeNode(ctx, n); err != nil {
			return fmt.Errorf("removing node %s: %w", n.Name, err)
		}
		c.Log("removed node %s", n.Name)
	}
	c.Layout = c.WithNodes(count)
	return nil
}

// removeNode ends a node's pods, so that others take their place, and then all
// that is of the node. Volumes that are bound to it are lost to their pods.
func (c *Cluster) removeNode(ctx context.Context, n layout.Node) error {
	if _, ok := c.procs.Running(compAPIServer); ok && c.apiReady(ctx) == nil {
		if err := c.retire(ctx, n); err != nil {
			return err
		}
	}
	var errs []error
	for _, kind := range nodePrograms {
		if kind == compContainerd {
			errs = append(errs, c.killPodProcesses(ctx, n.CgroupRoot, []layout.Node{n}))
		}
		errs = append(errs, c.procs.Stop(ctx, n.Component(kind), stopGrace))
	}
	sockets := shimSockets([]layout.Node{n})
	errs = append(errs, host.Unmount(n.Dir, n.RunDir), host.RemoveLink(ctx, n.Link.Name), host.RemoveCgroups(n.CgroupRoot, cgroupTimeout))
	for _, path := range append(sockets, n.Dir, n.RunDir) {
		errs = append(errs, os.RemoveAll(path))
	}
	return errors.Join(errs...)
}

// retire takes a node out of the cluster's API: nothing new comes to it, its
// pods end, and its object goes.
func (c *Cluster) retire(ctx context.Context, n layout.Node) error {
	if _, err := c.api(ctx, "/api/v1/nodes/"+n.Name); err != nil {
		return nil //nolint:nilerr // a node that the API does not know has no pods
	}
	if err := c.runKubectl(ctx, "cordon", n.Name); err != nil {
		return err
	}
	grace := strconv.Itoa(int(podGrace.Seconds()))
	end := []string{"delete", "pods", "--all-namespaces", "--field-selector=spec.nodeName=" + n.Name}
	_, alive := c.procs.Running(n.Component(compKubelet))
	if err := c.runKubectl(ctx, append(end, "--grace-period="+grace, "--wait="+strconv.FormatBool(alive), "--timeout="+podsTimeout.String())...); err != nil {
		c.Log("not all pods of %s ended by themselves: %v", n.Name, err)
	}
	if err := c.runKubectl(ctx, append(end, "--force", "--grace-period=0")...); err != nil {
		return err
	}
	return c.runKubectl(ctx, "delete", "node", n.Name, "--ignore-not-found")
}

// rejoin lets pods come to nodes that an interrupted removal has closed.
func (c *Cluster) rejoin(ctx context.Context) error {
	for _, n := range c.Nodes[1:] {
		body, err := c.api(ctx, "/api/v1/nodes/"+n.Name)
		if err != nil {
			return err
		}
		var node struct {
			Spec struct {
				Unschedulable bool `json:"unschedulable"`
			} `json:"spec"`
		}
		if err := json.Unmarshal(body, &node); err != nil {
			return fmt.Errorf("reading node %s: %w", n.Name, err)
		}
		if node.Spec.Unschedulable {
			if err := c.runKubectl(ctx, "uncordon", n.Name); err != nil {
				return err
			}
		}
	}
	return nil
}

// runKubectl runs kubectl as the administrator.
func (c *Cluster) runKubectl(ctx context.Context, args ...string) error {
	cmd := exec.CommandContext(ctx, c.kubectl(), append([]string{"--kubeconfig", c.Kubeconfig()}, args...)...)
	cmd.Env = append(os.Environ(), "HOME="+c.State) // kubectl's caches go with the cluster
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("kubectl %s: %w: %s", args[0], err, lastLine(string(out)))
	}
	return nil
}
