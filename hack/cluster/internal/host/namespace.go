// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// Namespace is a network namespace that a file keeps. The zero value is the
// machine's own.
type Namespace struct{ File string }

// run runs a tool in the namespace.
func (n Namespace) run(ctx context.Context, stdin string, argv ...string) (string, error) {
	if n.File != "" {
		argv = append([]string{"nsenter", "--net=" + n.File, "--"}, argv...)
	}
	return run(ctx, stdin, argv...)
}

// has tells whether the namespace has an interface.
func (n Namespace) has(ctx context.Context, name string) bool {
	_, err := n.run(ctx, "", "ip", "link", "show", "dev", name)
	return err == nil
}

// ensure makes the namespace unless its file keeps one already.
func (n Namespace) ensure(ctx context.Context) error {
	points, err := Mounts(n.File)
	if err != nil || slices.Contains(points, n.File) {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(n.File), 0o700); err != nil {
		return fmt.Errorf("making the folder of a network namespace: %w", err)
	}
	if err := os.WriteFile(n.File, nil, 0o600); err != nil {
		return fmt.Errorf("making the file of a network namespace: %w", err)
	}
	_, err = run(ctx, "", "unshare", "--net="+n.File, "true")
	return err
}

// farName is the name of a link's end in a namespace.
const farName = "eth0"

// Link is a pair of interfaces between the machine and a namespace, each of
// which is the other's way to its pods.
type Link struct {
	// Name is the machine's end.
	Name string
	// Near and Far are the addresses of the ends, with the length of their
	// prefix; they differ from the addresses of the nodes, so that what a node
	// says of itself has an address of its own pod range.
	Near, Far string
	// NearVia and FarVia are the same without the prefix.
	NearVia, FarVia string
	// NearNode and FarNode are the addresses that the nodes speak from.
	NearNode, FarNode string
	// FarPods is the pod range behind the link.
	FarPods string
	// FarBridge and FarGateway are the bridge of these pods and its address with
	// the length of the prefix.
	FarBridge, FarGateway string
}

// EnsureNode makes a namespace that is a node's network: the link, the bridge,
// the routes, the settings and the firewall. A second run changes nothing.
func EnsureNode(ctx context.Context, ns Namespace, l Link, clusterCIDR, serviceCIDR string) error {
	if err := ns.ensure(ctx); err != nil {
		return err
	}
	machine := Namespace{}
	if !machine.has(ctx, l.Name) {
		if _, err := run(ctx, "", "ip", "link", "add", l.Name, "type", "veth", "peer", "name", farName, "netns", ns.File); err != nil {
			return err
		}
	}
	for name, value := range required {
		if _, err := ns.run(ctx, value, "tee", settingFile(name)); err != nil {
			return err
		}
	}
	if err := EnsureBridge(ctx, ns, l.FarBridge, l.FarGateway, serviceCIDR); err != nil {
		return err
	}
	for _, step := range []struct {
		in   Namespace
		argv []string
	}{
		{ns, []string{"ip", "link", "set", "dev", "lo", "up"}},
		{ns, []string{"ip", "address", "replace", l.Far, "dev", farName}},
		{ns, []string{"ip", "link", "set", "dev", farName, "up"}},
		{machine, []string{"ip", "address", "replace", l.Near, "dev", l.Name}},
		{machine, []string{"ip", "link", "set", "dev", l.Name, "up"}},
		{machine, []string{"ip", "route", "replace", l.FarPods, "via", l.FarVia, "dev", l.Name, "src", l.NearNode}},
		{ns, []string{"ip", "route", "replace", "default", "via", l.NearVia, "dev", farName, "src", l.FarNode}},
	} {
		if _, err := step.in.run(ctx, "", step.argv...); err != nil {
			return err
		}
	}
	return EnsureFirewall(ctx, ns, clusterCIDR, serviceCIDR)
}

// RemoveLink removes a link; the namespace goes with its last process and mount.
func RemoveLink(ctx context.Context, name string) error {
	if !exists(name) {
		return nil
	}
	if _, err := run(ctx, "", "ip", "link", "delete", "dev", name); err != nil && exists(name) {
		return errors.Join(errors.New("removing the link of a node"), err)
	}
	return nil
}
