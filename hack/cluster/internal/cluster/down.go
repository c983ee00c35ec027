// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/aalis-dev/aalis-operator/hack/cluster/internal/host"
	"github.com/aalis-dev/aalis-operator/hack/cluster/internal/layout"
	"github.com/aalis-dev/aalis-operator/hack/cluster/internal/proc"
)

const (
	// stopGrace is what a component is given between SIGTERM and SIGKILL.
	stopGrace = 5 * time.Second
	// podGrace is what pods are given to end.
	podGrace = 10 * time.Second
	// podsTimeout bounds the graceful end of all pods together.
	podsTimeout = 30 * time.Second
	// cgroupTimeout bounds the wait for emptied cgroups.
	cgroupTimeout = 5 * time.Second
)

// DownOptions say what Down spares.
type DownOptions struct {
	// KeepLogs leaves the folder of logs.
	KeepLogs bool
}

// Down ends the pods, then everything else, and removes the cluster's data and
// its traces on the machine. It works from any state, also twice, and returns
// an error that lists what could not be removed.
func (c *Cluster) Down(ctx context.Context, o DownOptions) error {
	if os.Geteuid() != 0 {
		return errors.New("the cluster was started by root, so that only root can take it down")
	}
	unlock, err := c.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if err := c.checkOwner(); err != nil {
		return err
	}
	start := time.Now()
	if err := c.down(ctx, o); err != nil {
		return err
	}
	c.Log("the cluster is down after %s and has left nothing behind", time.Since(start).Round(100*time.Millisecond))
	return nil
}

// down goes on when a step fails, so that one obstacle leaves as little as
// possible; what counts in the end is what is left.
func (c *Cluster) down(ctx context.Context, o DownOptions) error {
	c.Layout = c.WithNodes(layout.MaxNodes) // whatever the cluster is thought to have
	var errs []error
	try := func(what string, err error) {
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", what, err))
		}
	}
	before, touched, err := c.firewallBefore(ctx)
	try("reading the firewall", err)
	c.endPods(ctx)
	var first, last []string
	for _, n := range c.Nodes {
		first = append(first, n.Component(compRouter), n.Component(compProxy), n.Component(compKubelet))
		last = append(last, n.Component(compContainerd))
	}
	for _, name := range append(first, compController, compScheduler) {
		try("stopping "+name, c.procs.Stop(ctx, name, stopGrace))
	}
	sockets := shimSockets(c.Nodes)
	try("ending the pods' processes", c.killPodProcesses(ctx, layout.CgroupRoot, c.Nodes))
	for _, name := range append(last, compAPIServer, compEtcd) {
		try("stopping "+name, c.procs.Stop(ctx, name, stopGrace))
	}
	try("ending what is left", c.killMarked(ctx))
	try("unmounting", host.Unmount(c.State, c.Run))
	try("changing the machine back", c.restoreHost(ctx, before, touched))
	try("removing files", c.removeFiles(sockets, o))

	left, err := c.leftovers(ctx, before, touched, o)
	try("looking for what is left", err)
	if len(left) > 0 {
		errs = append(errs, fmt.Errorf("left behind:\n  %s", strings.Join(left, "\n  ")))
	}
	return errors.Join(errs...)
}

// endPods ends all pods the regular way, so that their programs can finish and
// the network plugins give back what they took. Nothing may start them anew
// meanwhile. Without an API server or a kubelet there is no regular way.
func (c *Cluster) endPods(ctx context.Context) {
	for _, name := range []string{compAPIServer, compKubelet, compContainerd, compEtcd} {
		if _, ok := c.procs.Running(name); !ok {
			return
		}
	}
	if c.apiReady(ctx) != nil {
		return
	}
	for _, name := range []string{compController, compScheduler} {
		if err := c.procs.Stop(ctx, name, stopGrace); err != nil {
			c.Log("stopping %s: %v", name, err)
			return
		}
	}
	start := time.Now()
	ctx, cancel := context.WithTimeout(ctx, podsTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, c.kubectl(), "--kubeconfig", c.Kubeconfig(), "delete", "pods", "--all", "--all-namespaces",
		fmt.Sprintf("--grace-period=%d", int(podGrace.Seconds())), "--timeout="+podsTimeout.String())
	cmd.Env = append(os.Environ(), "HOME="+c.State)
	if out, err := cmd.CombinedOutput(); err != nil {
		c.Log("not all pods ended by themselves in %s: %s", podsTimeout, lastLine(string(out)))
		return
	}
	c.Log("pods ended after %s", time.Since(start).Round(10*time.Millisecond))
}

func lastLine(s string) string {
	s = strings.TrimSpace(s)
	return s[strings.LastIndexByte(s, '\n')+1:]
}

// shims returns the running shims of the cluster's containerd: their command
// line names its socket.
func (c *Cluster) shims(nodes []layout.Node) ([]proc.Record, error) {
	var found []proc.Record
	for _, n := range nodes {
		some, err := c.procs.FindArgument(n.Socket())
		if err != nil {
			return nil, err
		}
		for _, r := range some {
			if strings.HasPrefix(r.Name, "containerd-shim") {
				found = append(found, r)
			}
		}
	}
	return found, nil
}

// killPodProcesses ends the shims first, which would report the end of their
// containers, and then every process in the pods' cgroups.
func (c *Cluster) killPodProcesses(ctx context.Context, cgroupRoot string, nodes []layout.Node) error {
	shims, err := c.shims(nodes)
	if err != nil {
		return err
	}
	var errs []error
	for _, r := range shims {
		errs = append(errs, c.procs.Kill(ctx, r, 0))
	}
	pids, err := host.CgroupProcesses(cgroupRoot)
	if err != nil {
		return errors.Join(append(errs, err)...)
	}
	for _, pid := range pids {
		if r, ok := c.procs.Describe(pid); ok {
			errs = append(errs, c.procs.Kill(ctx, r, 0))
		}
	}
	return errors.Join(errs...)
}

// killMarked ends every process that carries the cluster's mark.
func (c *Cluster) killMarked(ctx context.Context) error {
	marked, err := c.procs.Find()
	if err != nil {
		return err
	}
	var errs []error
	for _, r := range marked {
		errs = append(errs, c.procs.Kill(ctx, r, stopGrace))
	}
	return errors.Join(errs...)
}

// firewallBefore returns what the machine was like before, and whether the
// firewall has been changed since: either that was noted down in this boot, or a
// chain of the cluster's own tells. The chains of others are only touched then.
func (c *Cluster) firewallBefore(ctx context.Context) (before baseline, touched bool, err error) {
	before, known := c.readBaseline()
	if len(host.MissingPackages(host.Packages())) > 0 {
		return before, false, nil // without the tools nothing can have been changed
	}
	chains, err := host.Chains(ctx)
	return before, known || len(host.OwnChains(chains)) > 0, err
}

// restoreHost takes the network, the firewall, the cgroups and the settings
// back.
func (c *Cluster) restoreHost(ctx context.Context, before baseline, touched bool) error {
	var errs []error
	if touched {
		errs = append(errs, host.CleanFirewall(ctx, before.Chains), host.RemoveAddressSets(ctx))
	}
	for _, n := range c.Nodes {
		if n.Link == nil {
			errs = append(errs, host.RemoveBridge(ctx, n.Bridge))
		} else {
			errs = append(errs, host.RemoveLink(ctx, n.Link.Name))
		}
	}
	errs = append(errs, host.RemoveCgroups(layout.CgroupRoot, cgroupTimeout), before.Settings.Restore())
	return errors.Join(errs...)
}

// shimSockets returns the sockets of the shims, which are outside the cluster's
// folders because containerd has no setting for it.
func shimSockets(nodes []layout.Node) []string {
	var out []string
	for _, n := range nodes {
		files, err := filepath.Glob(filepath.Join(n.RunDir, "containerd", "io.containerd.runtime.v2.task", "*", "*", "address"))
		if err != nil {
			continue
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if socket, ok := strings.CutPrefix(strings.TrimSpace(string(data)), "unix://"); err == nil && ok {
				out = append(out, socket)
			}
		}
	}
	return out
}

// removeFiles removes the cluster's folders and what its programs leave in
// places that cannot be chosen.
func (c *Cluster) removeFiles(sockets []string, o DownOptions) error {
	var errs []error
	for _, socket := range sockets {
		if err := os.Remove(socket); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(append(errs, c.removeStrayFiles(), c.removeFolders(o))...)
}

// removeFolders removes the cluster's own folders.
func (c *Cluster) removeFolders(o DownOptions) error {
	errs := []error{os.RemoveAll(c.Run)}
	if !o.KeepLogs {
		return errors.Join(append(errs, os.RemoveAll(c.State))...)
	}
	entries, err := os.ReadDir(c.State)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		errs = append(errs, err)
	}
	for _, e := range entries {
		file := filepath.Join(c.State, e.Name())
		if file != c.Logs() && e.Name() != layout.Marker {
			errs = append(errs, os.RemoveAll(file))
		}
	}
	return errors.Join(errs...)
}
