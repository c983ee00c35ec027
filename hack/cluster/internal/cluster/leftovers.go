// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/aalis-dev/aalis-operator/hack/cluster/internal/host"
	"github.com/aalis-dev/aalis-operator/hack/cluster/internal/layout"
)

// Places where the kubelet, containerd and the CNI library write whatever their
// settings say.
const (
	podLogLinks   = "/var/log/containers"
	devicePlugins = "/var/lib/kubelet/device-plugins"
	cniCache      = "/var/lib/cni/results"
	shimSocketDir = "/run/containerd/s"
)

// removeStrayFiles removes the cluster's files in those places, and then the
// places themselves when they are empty.
func (c *Cluster) removeStrayFiles() error {
	files, err := c.strayFiles()
	errs := []error{err}
	for _, file := range files {
		if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	for _, dir := range []string{
		podLogLinks, devicePlugins, filepath.Dir(devicePlugins), cniCache, filepath.Dir(cniCache),
		shimSocketDir, filepath.Dir(shimSocketDir),
	} {
		_ = os.Remove(dir) // fails unless it is empty, as it should
	}
	return errors.Join(errs...)
}

// strayFiles returns the cluster's files outside its folders.
func (c *Cluster) strayFiles() ([]string, error) {
	var out []string
	links, err := filepath.Glob(filepath.Join(podLogLinks, "*.log"))
	if err != nil {
		return nil, err
	}
	for _, link := range links {
		if target, err := os.Readlink(link); err == nil && strings.HasPrefix(target, c.State+"/") {
			out = append(out, link)
		}
	}
	results, err := filepath.Glob(filepath.Join(cniCache, "*"))
	if err != nil {
		return nil, err
	}
	for _, file := range results {
		// Whatever the network's name, a pod's namespace is in the cluster's folder.
		if data, err := os.ReadFile(file); err == nil && strings.Contains(string(data), c.Run+"/") {
			out = append(out, file)
		}
	}
	out = append(out, deadSockets(shimSocketDir, time.Now().Add(-socketAge))...)
	// The kubelet's own socket and checkpoint; another kubelet would still use
	// them, which is what a process with that file open would tell. Plugins'
	// sockets are not the cluster's.
	for _, name := range []string{"kubelet.sock", "kubelet_internal_checkpoint"} {
		file := filepath.Join(devicePlugins, name)
		if _, err := os.Stat(file); err == nil && !socketServed(filepath.Join(devicePlugins, "kubelet.sock")) {
			out = append(out, file)
		}
	}
	return out, nil
}

// socketAge is how old a socket must be before it can be called dead: its owner
// may not listen yet.
const socketAge = time.Minute

// deadSockets returns the sockets of a folder that nobody serves, made before a
// point in time: those of shims that were killed. Whose they were cannot be told
// any more, and they are of no use to anybody.
func deadSockets(dir string, before time.Time) []string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var out []string
	for _, e := range entries {
		file := filepath.Join(dir, e.Name())
		info, err := e.Info()
		if err == nil && e.Type() == fs.ModeSocket && info.ModTime().Before(before) && !socketServed(file) {
			out = append(out, file)
		}
	}
	return out
}

// socketServed tells whether somebody accepts connections on a socket.
func socketServed(file string) bool {
	conn, err := net.Dial("unix", file)
	if err != nil {
		return false
	}
	_ = conn.Close()
	return true
}

// leftovers looks at the machine and lists every trace of the cluster, one line
// each. It does not rely on what Down thinks it has done.
func (c *Cluster) leftovers(ctx context.Context, before baseline, touched bool, o DownOptions) ([]string, error) {
	var left []string
	var errs []error
	add := func(kind string, names []string, err error) {
		errs = append(errs, err)
		for _, name := range names {
			left = append(left, kind+" "+name)
		}
	}
	processes, err := c.leftProcesses()
	add("process", processes, err)
	mounts, err := host.Mounts(c.State, c.Run)
	add("mount", mounts, err)
	for _, name := range c.interfaces() {
		if _, err := net.InterfaceByName(name); err == nil {
			add("interface", []string{name}, nil)
		}
	}
	cgroups, err := host.Cgroups(layout.CgroupRoot)
	add("cgroup", cgroups, err)
	files, err := c.strayFiles()
	add("file", files, err)
	for _, dir := range []string{c.Run, c.State} {
		if _, err := os.Lstat(dir); err == nil && (dir != c.State || !o.KeepLogs) {
			add("folder", []string{dir}, nil)
		}
	}
	if touched {
		chains, err := host.Chains(ctx)
		add("firewall chain", slices.DeleteFunc(chains, func(chain string) bool { return slices.Contains(before.Chains, chain) }), err)
		sets, err := host.AddressSets(ctx)
		add("address set", sets, err)
	}
	return left, errors.Join(errs...)
}

func (c *Cluster) leftProcesses() ([]string, error) {
	marked, err := c.procs.Find()
	if err != nil {
		return nil, err
	}
	var out []string
	for _, r := range marked {
		out = append(out, fmt.Sprintf("%d (%s)", r.PID, r.Name))
	}
	pids, err := host.CgroupProcesses(layout.CgroupRoot)
	for _, pid := range pids {
		out = append(out, fmt.Sprintf("%d (in a pod's cgroup)", pid))
	}
	return out, err
}
